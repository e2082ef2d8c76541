"""state_variable_fidelity: whether the final state has the expected values."""

from __future__ import annotations

from typing import Any, Literal

from pantrace.matching.values import Likeness, alike
from pantrace.model import Measure, Record, Sample, Trajectory

from .metric import Found, Measurement, NotApplicable, metric


class KeyRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the value under one key is compared."""

    mode: Literal["exact", "superset", "allowed", "present"] = "exact"
    """exact: the same; superset: an object that has at least what is expected; allowed: one of the expected list;
    present: the key is there, whatever its value."""
    normalise: bool = False
    tolerance: float = 0.0


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How states are compared."""

    mode: Literal["exact", "superset", "allowed", "present"] = "exact"
    """How values are compared: exact, superset (an object that has at least what is expected), allowed (one of the
    expected list), present (whatever the value)."""
    normalise: bool = False
    """Ignore case and white space in texts."""
    tolerance: float = 0.0
    """How far two numbers may differ, absolutely or relative to the larger one."""
    keys: dict[str, KeyRule] = {}
    """Different rules for single keys."""
    ignore: tuple[str, ...] = ()
    """Expected keys that are not compared."""

    def __post_init__(self) -> None:
        for tolerance in (self.tolerance, *(rule.tolerance for rule in self.keys.values())):
            # Raises if the tolerance is wrong: once, not for every sample.
            Likeness(tolerance=tolerance)

    def of(self, key: str) -> KeyRule:
        """The rule for a key."""
        default = KeyRule(mode=self.mode, normalise=self.normalise, tolerance=self.tolerance)
        return self.keys.get(key, default)


@metric(
    settings=Settings,
    per_turn=False,
    measures=(
        Measure(
            name="fidelity", unit="share", better="higher", high=1.0, headline=True, what="expected keys that agree"
        ),
        Measure(
            name="fidelity_of_present",
            unit="share",
            better="higher",
            high=1.0,
            what="the same, of the keys that are present",
        ),
        Measure(name="expected_keys", unit="count", what="keys that are expected"),
        Measure(name="unexpected_keys", unit="count", what="keys that are not expected"),
    ),
)
def state_variable_fidelity(sample: Sample, settings: Settings) -> Found:
    """Share of the expected state variables that the final state has.

    Formula: keys with an agreeing value / expected keys. A missing key does not agree; the details list equal,
    different and missing keys separately, and fidelity_of_present leaves out the missing ones. Unexpected keys do not
    count. The expectation is the case's expected state, else the expected trajectory's final state.

    Not applicable when: there is no trajectory, no expected state, an expected state without keys, or no recorded
    state (neither a final state nor changes of it).

    Source: Trajectory.state, else the steps' state_delta put together; Case.expected_state, Sample.expected.
    """
    if sample.trajectory is None:
        return NotApplicable("the case has not been run")
    expected = sample.case.expected_state if sample.case is not None else None
    if expected is None and sample.expected is not None:
        expected, _ = final_state(sample.expected)
    if expected is None:
        return NotApplicable("no state is expected")
    # 0 of 0 keys would have to be called perfect or worthless; it is neither.
    wanted = {key: value for key, value in expected.items() if key not in settings.ignore}
    if not wanted:
        return NotApplicable("the expected state names no key")
    state, changed = final_state(sample.trajectory)
    if state is None:
        return NotApplicable("the recording has no state")
    keys = {key: _status(key, value, state, settings) for key, value in wanted.items()}
    equal = [key for key, status in keys.items() if status == "equal"]
    different = [key for key, status in keys.items() if status == "different"]
    missing = [key for key, status in keys.items() if status == "missing"]
    return Measurement(
        value=len(equal) / len(wanted),
        explanation=f"{len(equal)} of {len(wanted)} keys agree, {len(different)} differ, {len(missing)} are missing",
        values={
            "expected_keys": len(wanted),
            "fidelity_of_present": len(equal) / (len(equal) + len(different)) if equal or different else None,
            "unexpected_keys": len(state.keys() - expected.keys()),
        },
        details={
            "equal": equal,
            "different": different,
            "missing": missing,
            "state_from": "steps" if changed else "trajectory",
        },
        evidence=_evidence(sample.trajectory, different),
    )


def final_state(trajectory: Trajectory) -> tuple[dict[str, Any] | None, bool]:
    """The recorded final state, or else the sum of the steps' changes; and whether it is the latter."""
    if trajectory.state is not None:
        return trajectory.state, False
    changes = [step.state_delta for step in trajectory.steps if step.state_delta is not None]
    if not changes:
        return None, False
    state: dict[str, Any] = {}
    # ADK's changes hold whole values, so the last one of a key is its state.
    for change in changes:
        state.update(change)
    return state, True


def _status(key: str, expected: Any, state: dict[str, Any], settings: Settings) -> str:
    if key not in state:
        return "missing"
    rule = settings.of(key)
    how = Likeness(normalise=rule.normalise, tolerance=rule.tolerance)
    actual = state[key]
    if rule.mode == "present":
        same = True
    elif rule.mode == "allowed" and isinstance(expected, list):
        same = any(alike(actual, one, how) for one in expected)
    elif rule.mode == "superset":
        same = _holds(actual, expected, how)
    else:
        same = alike(actual, expected, how)
    return "equal" if same else "different"


def _holds(actual: Any, expected: Any, how: Likeness) -> bool:
    if isinstance(actual, dict) and isinstance(expected, dict):
        return all(key in actual and _holds(actual[key], value, how) for key, value in expected.items())
    return alike(actual, expected, how)


def _evidence(trajectory: Trajectory, different: list[str]) -> tuple[str, ...]:
    """The steps that last set the keys that differ."""
    last: dict[str, str] = {}
    for step in trajectory.steps:
        if step.id is not None and step.state_delta:
            last.update((key, step.id) for key in different if key in step.state_delta)
    return tuple(dict.fromkeys(last.values()))
