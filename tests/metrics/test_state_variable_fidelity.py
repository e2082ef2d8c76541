"""state_variable_fidelity: short samples and their scores."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.metrics import parse_settings
from pantrace.metrics.state_variable_fidelity import state_variable_fidelity
from pantrace.model import Case, Sample, Score, Step, Trajectory


def scored(sample: Sample, **settings: Any) -> Score:
    return state_variable_fidelity.score(sample, parse_settings(state_variable_fidelity, settings))


def sample(expected: Any, actual: Any) -> Sample:
    return Sample(id="x", case=Case(expected_state=expected), trajectory=Trajectory(state=actual))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Sample(id="x", case=Case(expected_state={"a": 1})), "has not been run"),
        (sample(None, {"a": 1}), "no state is expected"),
        (Sample(id="x", trajectory=Trajectory(state={}), expected=Trajectory()), "no state is expected"),
        (sample({}, {"a": 1}), "names no key"),
        (sample({"a": 1}, None), "has no state"),
    ],
)
def test_not_applicable(given: Sample, reason: str) -> None:
    score = scored(given)
    assert (score.status, score.value) == ("not_applicable", None)
    assert reason in (score.explanation or "")


@pytest.mark.parametrize(
    ("expected", "actual", "settings", "value"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, {}, 1.0),
        ({"a": 1, "b": 2}, {"a": 1}, {}, 0.5),
        ({"a": 1}, {}, {}, 0.0),
        ({"a": 1}, {"a": True}, {}, 0.0),
        ({"a": None}, {"a": None}, {}, 1.0),
        ({"a": None}, {}, {}, 0.0),
        ({"a": "Paris"}, {"a": " paris"}, {"normalise": True}, 1.0),
        ({"a": 10, "b": "x"}, {"a": 10.4, "b": "y"}, {"keys": {"a": {"tolerance": 0.05}}}, 0.5),
        ({"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}, {}, 0.0),
        ({"a": {"x": {"z": 1}}}, {"a": {"x": {"z": 1, "w": 0}, "y": 2}}, {"mode": "superset"}, 1.0),
        ({"a": ["x", "y"]}, {"a": "y"}, {"keys": {"a": {"mode": "allowed"}}}, 1.0),
        ({"a": "anything"}, {"a": 5}, {"mode": "present"}, 1.0),
        ({"a": 1, "b": 2}, {"b": 2}, {"ignore": ["a"]}, 1.0),
    ],
)
def test_values(expected: Any, actual: Any, settings: dict[str, Any], value: float) -> None:
    assert scored(sample(expected, actual), **settings).value == value


def test_missing_keys_stand_apart() -> None:
    score = scored(sample({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 9, "z": 0}))
    assert score.value == pytest.approx(1 / 3)
    assert score.values | score.details == {
        "fidelity": pytest.approx(1 / 3),
        "expected_keys": 3,
        "equal": ["a"],
        "different": ["b"],
        "missing": ["c"],
        "fidelity_of_present": 0.5,
        "unexpected_keys": 1,
        "state_from": "trajectory",
    }


def test_the_expected_trajectory_speaks_where_the_case_is_silent() -> None:
    given = Sample(id="x", trajectory=Trajectory(state={"a": 2}), expected=Trajectory(state={"a": 1}))
    assert scored(given).value == 0.0


def test_changes_add_up_to_a_state_and_show_where_it_went_wrong() -> None:
    steps = (
        Step(id="s1", role="agent", state_delta={"a": 1, "b": 1}),
        Step(id="s2", role="agent", state_delta={"b": 5}),
    )
    score = scored(Sample(id="x", case=Case(expected_state={"a": 1, "b": 2}), trajectory=Trajectory(steps=steps)))
    assert (score.value, score.evidence, score.details["state_from"]) == (0.5, ("s2",), "steps")
