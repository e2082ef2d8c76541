"""How the run ended."""

from __future__ import annotations

from typing import Literal

from pantrace.model import Measure, Sample, Score
from pantrace.wire.inspect_grades import GRADES

from .metric import Found, Measurement, NoSettings, NotApplicable, Numbers, metric

_BROKEN = {"error": "the run broke down", "cancelled": "the run was cancelled", "unscored": "nobody scored the run"}


def _share(name: str, better: Literal["higher", "lower"], what: str) -> Measure:
    """The share of runs that ended in this way."""
    return Measure(
        name=name, unit="share", better=better, high=1.0, yes_or_no=True, pooling="rate", headline=True, what=what
    )


@metric(
    per_turn=False,
    measures=(
        _share("success", "higher", "runs that reached their goal"),
        Measure(name="reward", low=None, better="higher", headline=True, what="reward that the source gives"),
        _share("limit", "lower", "runs that were stopped at a limit"),
        _share("broken", "lower", "runs that broke down"),
    ),
)
def outcome(sample: Sample, settings: NoSettings) -> Found:
    """Whether the run succeeded, as its source recorded it.

    Formula: `success` is 1 when the source calls the run passed, 0 when it calls it failed. If it says neither, its
    only stored score decides, if that is yes or no. A run that was stopped at a limit of steps, tokens or time and has
    no score did not succeed. `limit` is 1 for such a run, else 0. `broken` is 1 for a run that ended in an error, else
    0. `reward` is the number that the source states.

    Not applicable when: the source states no outcome and stores no score, or several; the run broke down, was cancelled
    or was not scored, which is not a failure of the agent. `broken` and a reward are still given.

    Source: Trajectory.outcome (tau-bench, GUI benchmarks, ADK histories), Sample.scores (Inspect).
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    found = sample.trajectory.outcome
    status = found.status if found is not None else None
    reward = found.reward if found is not None else None
    values: Numbers = {}
    if found is not None:
        values = {"limit": int(status == "limit"), "broken": int(status == "error")}
    if reward is not None:
        values["reward"] = reward
    if found is not None and status in _BROKEN:
        why = f"{_BROKEN[status]}{': ' + found.reason if found.reason else ''}"
        return NotApplicable(why, values, {"status": status})
    if status in ("passed", "failed"):
        return Measurement(value=status == "passed", values=values, details={"status": status})
    verdict = _verdict(sample)
    if isinstance(verdict, str) and found is None:
        # A run with scores has ended and was not broken, whatever its scores mean.
        return NotApplicable(verdict, {"broken": 0} if any(map(_is_scored, sample.scores)) else {})
    passed = verdict if isinstance(verdict, bool) else False
    return Measurement(
        value=passed,
        explanation=found.reason if found is not None else None,
        values={"limit": 0, "broken": 0, **values},
        details={"status": status or ("passed" if passed else "failed")},
    )


def _verdict(sample: Sample) -> bool | str:
    """Whether the only stored score says yes; a text says why that is unknown."""
    stored = filter(_is_stored, sample.scores)
    verdicts = [(score.name, found) for score in stored if (found := _yes_or_no(score)) is not None]
    if len(verdicts) > 1:
        listed = ", ".join(name for name, _ in verdicts)
        return f"the source does not say how the run ended, and stores several scores ({listed})"
    return verdicts[0][1] if verdicts else "the source does not say how the run ended"


def _is_stored(score: Score) -> bool:
    return score.maker is None or score.maker.kind == "stored"


def _is_scored(score: Score) -> bool:
    return _is_stored(score) and score.status == "scored"


def _yes_or_no(score: Score) -> bool | None:
    if score.status != "scored":
        return None
    if score.passed is not None:
        return score.passed
    if score.scale is not None and (score.scale.low, score.scale.high) != (0, 1):
        return None  # a count or a time may happen to be 0 or 1
    number = GRADES.get(score.value) if isinstance(score.value, str) else score.value
    return bool(number) if number in (0, 1) else None
