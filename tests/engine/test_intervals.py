from __future__ import annotations

from typing import Any

import pytest

from pantrace.engine.intervals import with_intervals
from pantrace.model import Aggregate, Score


def episode(**counts: Any) -> Score:
    return Score(name="gui", value=1.0, details={"steps": 5, "type_matches": 4, "correct_steps": 3, **counts})


def test_what_has_no_value_or_one_episode_has_no_interval() -> None:
    found = [Aggregate(name="click_hit_rate", value=None), Aggregate(name="action_type_accuracy", value=0.8, n=5)]
    assert [each.low for each in with_intervals(found, [episode()])] == [None, None]


@pytest.mark.parametrize("episodes", [2, 3, 10])
@pytest.mark.parametrize("name", ["mean_episode_progress", "mean_episode_step_score", "action_type_accuracy"])
def test_shares_stay_between_0_and_1(name: str, episodes: int) -> None:
    """A t interval of two shares, 1/5 and 1, ends at 0.6 -+ 12.7 * 0.4: at -4.5 and 5.7."""
    counts = {"type_matches": 1, "correct_steps": 1}
    scores = [episode(**counts), *(episode(**dict.fromkeys(counts, 5)) for _ in range(episodes - 1))]
    (found,) = with_intervals([Aggregate(name=name, value=0.6)], scores)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < 0.6
    assert 0.6 < found.high <= 1


def test_episodes_that_are_all_perfect_leave_room_for_doubt() -> None:
    scores = [episode(type_matches=5) for _ in range(10)]
    found = with_intervals(
        [Aggregate(name=name, value=1.0) for name in ("mean_episode_progress", "action_type_accuracy")], scores
    )
    # Ten episodes, however many steps: Wilson of 10 in 10 begins at 10 / (10 + 1.96^2) = 0.7225.
    assert [(each.low, each.high) for each in found] == [(pytest.approx(0.722467, abs=1e-6), 1.0)] * 2


def test_shares_of_steps_are_clustered_in_episodes_and_shares_of_episodes_are_wilsons() -> None:
    scores = [episode(type_matches=n % 6) for n in range(20)]
    found = with_intervals(
        [
            Aggregate(name="action_type_accuracy", value=0.5, n=100),
            Aggregate(name="episode_success_rate", value=0.25, n=20),
            Aggregate(name="mean_episode_progress", value=0.49),
            Aggregate(name="num_steps", value=100),
        ],
        scores,
    )
    by_name = {each.name: (each.low, each.high) for each in found}
    low, high = by_name["action_type_accuracy"]
    assert low is not None
    assert high is not None
    assert 0.3 < low < 0.48 < 0.5 < high < 0.7
    assert by_name["episode_success_rate"] == (pytest.approx(0.111862, abs=1e-5), pytest.approx(0.468701, abs=1e-5))
    assert by_name["mean_episode_progress"][0] is not None
    assert by_name["num_steps"] == (None, None)
