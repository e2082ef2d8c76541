"""Scored cases of a report, with metrics and a stored decision, read as samples and written."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Case, Maker, Outcome, Sample, Scale, Score, Trajectory
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.extra_keys import as_extra, rest_in
from pantrace.wire.field_map import is_number
from pantrace.wire.judge_inputs import agent_of
from pantrace.wire.pantrace_key import CARRIER

from .bundle import EVALS
from .dataset import case_id
from .keys import (
    NAME,
    is_flag,
    is_objects,
    is_text,
    restore,
    split_known,
    vocabulary,
)

COMPOSITE = "composite"
"""Name of the score that holds a case's stored composite, decision and failure reason."""

UNREADABLE = "stored as -1: the judge's reply could not be read"

Status = Literal["scored", "not_applicable", "failed", "unscored"]
_UNVALUED: dict[str, Status] = {status: status for status in get_args(Status) if status != "scored"}

_ALWAYS = ("metricName", "evalName", "score", "probScore", "reasoning", "chainOfThought")
"""Keys that every metric of a report has, null or not."""


def is_metrics(value: Any) -> bool:
    return is_objects(value) and all("metricName" in split_known(item, METRIC)[0] for item in value)


METRIC = vocabulary(
    {
        "metricName": is_text,
        "evalName": is_text,
        "score": is_number,
        "probScore": is_number,
        "reasoning": is_text,
        "chainOfThought": is_text,
        "status": lambda value: isinstance(value, str) and value in _UNVALUED,
        "value": lambda value: isinstance(value, (bool, str)),
    }
)

SCORED = vocabulary(
    {
        "caseId": is_text,
        "agentName": is_text,
        "scenarioId": is_text,
        "thresholdProfile": is_text,
        "compositeScore": is_number,
        "status": is_text,
        "passed": is_flag,
        "failureReason": is_text,
        "metrics": is_metrics,
    }
)


def scale_of(metric: str) -> Scale | None:
    """1 to 5, or 1 to 10 for perceived intelligence; None for a metric that is not one of the nine."""
    if metric not in EVALS:
        return None
    # Its prompt grades from 1 to 10, though the scoring policy assumes 1 to 5 for all nine.
    return Scale(low=1, high=10 if metric == "PerceivedIntelligenceExplain" else 5)


def _load(row: dict[str, Any]) -> Sample:
    """A case of a report: its scores, and an outcome if it ended in an error."""
    values, note = split_known(row, SCORED, always=("failureReason",))
    if "caseId" not in values:
        raise ReadError("a case of a report needs a caseId that is text")
    note["kind"] = "report"
    # Absent and null are written back as they were.
    if not any(key.lower() == "failurereason" for key in row):
        note["without"] = ["failureReason"]
    metrics = [_metric(metric) for metric in values.get("metrics", ())]
    # An exception leaves a composite of 0 and no metrics: nothing was measured, so nothing is zero.
    reason = values.get("failureReason")
    unvalued = _UNVALUED.get(values.get("status", ""))
    broke = (not metrics or unvalued == "failed") and reason is not None and not values.get("passed", False)
    case = Case(
        id=values["caseId"],
        scenario=values.get("scenarioId"),
        agent=values.get("agentName"),
        profile=values.get("thresholdProfile"),
    )
    return Sample(
        id=values["caseId"],
        case=case,
        trajectory=Trajectory(outcome=Outcome(status="error", reason=reason)) if broke else None,
        scores=(*_composite(values, measured=bool(metrics) and unvalued is None, broke=broke), *metrics),
        extra={NAME: note},
    )


def _composite(values: dict[str, Any], *, measured: bool, broke: bool) -> tuple[Score, ...]:
    composite, passed, reason = values.get("compositeScore"), values.get("passed"), values.get("failureReason")
    if composite is None and passed is None and reason is None:
        return ()
    valued = measured and composite is not None
    return (
        Score(
            name=COMPOSITE,
            value=composite if valued else None,
            status="scored" if valued else "failed" if broke else "unscored",
            explanation=reason,
            details={"composite_score": composite} if composite is not None and not valued else {},
            maker=Maker(name=NAME),
            passed=passed,
        ),
    )


def _metric(row: dict[str, Any]) -> Score:
    values, note = split_known(row, METRIC, always=_ALWAYS)
    score, reasoning = values.get("score"), values.get("reasoning")
    value: float | bool | str | None = values.get("value", score)
    stored: float | None = None
    status: Status = _UNVALUED.get(values.get("status", ""), "scored" if value is not None else "unscored")
    # The original stores -1 when the judge's reply could not be read; as a value it would pull every mean down.
    if score is not None and "value" not in values and (score == -1 or status != "scored"):
        stored, value = score, None
        if values.get("probScore") == -1:
            note["probScore"] = values.pop("probScore")
        if status == "scored":
            status, reasoning = "unscored", UNREADABLE if reasoning is None else reasoning
    if score is not None and score != value:
        # The number beside a text or a boolean is kept, because the report's totals include it.
        stored = score
    details = {
        "stored_value": stored,
        "prob_score": values.get("probScore"),
        "chain_of_thought": values.get("chainOfThought"),
    }
    maker = values.get("evalName")
    return Score(
        name=values["metricName"],
        value=value,
        scale=scale_of(values["metricName"]),
        status=status,
        explanation=reasoning,
        details={name: detail for name, detail in details.items() if detail is not None},
        maker=None if maker is None else Maker(name=maker),
        extra=as_extra(NAME, note),
    )


def _dump(sample: Sample, options: Any) -> dict[str, Any]:
    """The scores of a sample of any format as a case of a report; nothing is computed."""
    case, note = sample.case or Case(), rest_in(sample.extra, NAME)
    found = next((score for score in sample.scores if score.name == COMPOSITE), None)
    row: dict[str, Any] = {
        "caseId": case_id(sample),
        "agentName": agent_of(sample),
        "scenarioId": case.scenario,
        "thresholdProfile": case.profile,
        "compositeScore": None,
        "passed": None,
        "failureReason": None,
        **(_decision_of_score(found) if found is not None else _decision_of_outcome(sample)),
    }
    row["metrics"] = [_metric_row(score) for score in sample.scores if score is not found]
    # Without metrics, a composite of 0 already means that nothing was measured; with metrics, only a status can say so.
    row["status"] = found.status if found is not None and found.status != "scored" and row["metrics"] else None
    return restore(row, note, always=() if "failureReason" in note.get("without", ()) else ("failureReason",))


def _verdict(actual: Sample, sample: Sample) -> Sample:
    """A sample without its trajectories, which a report does not hold."""
    extra = {**sample.extra, **actual.extra}
    return msgspec.structs.replace(sample, trajectory=actual.trajectory, expected=actual.expected, extra=extra)


load, dump = carry_rest(_load, _dump, CARRIER, _verdict)


def _decision_of_score(score: Score) -> dict[str, Any]:
    composite = score.value if is_number(score.value) else score.details.get("composite_score")
    return {
        "compositeScore": plain_number(composite),
        "passed": score.passed,
        "failureReason": score.explanation,
    }


def _decision_of_outcome(sample: Sample) -> dict[str, Any]:
    """The decision for a sample without a composite: how it ended, if known."""
    outcome = sample.trajectory.outcome if sample.trajectory is not None else None
    if outcome is None or outcome.status not in ("passed", "failed", "error"):
        return {}
    return {"passed": outcome.status == "passed", "failureReason": outcome.reason}


def _metric_row(score: Score) -> dict[str, Any]:
    note = rest_in(score.extra, NAME)
    number = score.value if is_number(score.value) else score.details.get("stored_value")
    if isinstance(score.value, bool):
        number = score.details.get("stored_value", int(score.value))
    stored = number == -1 and score.status == "unscored"
    row: dict[str, Any] = {
        "metricName": score.name,
        "evalName": score.maker.name if score.maker is not None else None,
        "score": plain_number(number),
        "probScore": plain_number(score.details.get("prob_score", note.get("probScore"))),
        "reasoning": None if stored and score.explanation == UNREADABLE else score.explanation,
        "chainOfThought": score.details.get("chain_of_thought"),
    }
    # Two keys that the original does not have, written only if needed: why there is no number, and a value that is not
    # a number.
    row["status"] = score.status if score.status != "scored" and not stored else None
    row["value"] = score.value if isinstance(score.value, (bool, str)) else None
    return restore(row, note, always=_ALWAYS)


def plain_number(value: Any) -> Any:
    """A number as the original writes it (5, not 5.0); None for anything else."""
    if not is_number(value):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
