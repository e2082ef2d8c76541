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
