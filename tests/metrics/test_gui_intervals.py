"""Intervals of GUI metrics over many episodes: steps of one episode belong together."""

from __future__ import annotations

import pytest

from pantrace.metrics.gui.measures import values_of
from pantrace.metrics.gui.metrics import metrics
from pantrace.metrics.gui.outcome import Episode
from pantrace.model import Aggregate, Score


def episode(*, matches: int = 4, correct: int = 3, success: bool = False) -> Score:
    counts = dict.fromkeys(("click_hits", "click_total", "clicks", "bbox_hits", "bbox_total", "element_hits"), 0)
    counts |= dict.fromkeys(("element_total", "missing_predictions", "extra_predictions", "unparsed", "off_screen"), 0)
    found = Episode(
        profile="strict",
        dsl_mode="coord",
        steps=5,
        type_matches=matches,
        correct_steps=correct,
        content_matches=correct,
        success=success,
        coord_errors=[],
        milestones=None,
        state_success=None,
        by_action_type={},
        **counts,
    )
    return Score(
        name="gui", value=correct / 5, values=values_of(found), details={"by_action_type": {}, "profile": "strict"}
    )


def by_name(scores: list[Score]) -> dict[str, Aggregate]:
    return {each.name: each for each in metrics(scores)}


def test_what_has_no_value_or_one_episode_has_no_interval() -> None:
    found = by_name([episode()])
    assert (found["click_hit_rate"].value, found["click_hit_rate"].low) == (None, None)
    assert (found["action_type_accuracy"].value, found["action_type_accuracy"].low) == (0.8, None)


@pytest.mark.parametrize("episodes", [2, 3, 10])
@pytest.mark.parametrize("name", ["mean_episode_progress", "mean_episode_step_score", "action_type_accuracy"])
def test_shares_stay_between_0_and_1(name: str, episodes: int) -> None:
    """A t interval of two shares, 1/5 and 1, ends at 0.6 -+ 12.7 * 0.4: at -4.5 and 5.7."""
    scores = [episode(matches=1, correct=1), *(episode(matches=5, correct=5) for _ in range(episodes - 1))]
    found = by_name(scores)[name]
    assert found.low is not None and found.high is not None and isinstance(found.value, float)
    assert 0 <= found.low < found.value < found.high <= 1


def test_episodes_that_are_all_perfect_leave_room_for_doubt() -> None:
    found = by_name([episode(matches=5) for _ in range(10)])
    # Ten episodes, however many steps: Wilson of 10 in 10 begins at 10 / (10 + 1.96^2) = 0.7225.
    for name in ("mean_episode_progress", "action_type_accuracy"):
        assert (found[name].low, found[name].high) == (pytest.approx(0.722467, abs=1e-6), 1.0)


def test_shares_of_steps_are_clustered_in_episodes_and_shares_of_episodes_are_wilsons() -> None:
    found = by_name([episode(matches=n % 6, success=n < 5) for n in range(20)])
    accuracy = found["action_type_accuracy"]
    assert accuracy.low is not None and accuracy.high is not None
    assert 0.3 < accuracy.low < 0.47 < accuracy.high < 0.7
    success = found["episode_success_rate"]
    assert (success.low, success.high) == (pytest.approx(0.111862, abs=1e-5), pytest.approx(0.468701, abs=1e-5))
    assert found["mean_episode_progress"].low is not None
    assert (found["num_steps"].low, found["num_steps"].high) == (None, None)
