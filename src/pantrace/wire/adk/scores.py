"""ADK's metric results as stored scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pantrace.model import Maker, Scale, Score
from pantrace.wire.json import unknown_keys
from pantrace.wire.optional import object_of, present

from .field_types import list_of, mapping, number, wrong_type
from .recase import without_nulls
from .schema import Details, Fields, Metric, fields_of

NAME = "adk-history"
MAKER = Maker(name="google-adk", kind="stored")
FINAL_STATUS = "final_eval_status"
"""Name of the only score of a case that was not run."""

STATUS = {1: "PASSED", 2: "FAILED", 3: "NOT_EVALUATED", 4: "INFORMATIONAL"}
# google-adk writes integers; the original evaluation guide and other writers use names.
_NUMBERS = {name: number for number, name in STATUS.items()} | {"PASS": 1, "FAIL": 2}

_SHARE = Scale(low=0, high=1)
_COUNT = Scale(low=0, better="lower")
SCALES = {
    "tool_trajectory_avg_score": _SHARE,
    "response_match_score": _SHARE,
    # The only metric of ADK that is not a share or a count.
    "response_evaluation_score": Scale(low=1, high=5),
    "safety_v1": _SHARE,
    "final_response_match_v2": _SHARE,
    "hallucinations_v1": _SHARE,
    "rubric_based_final_response_quality_v1": _SHARE,
    "rubric_based_tool_use_quality_v1": _SHARE,
    "rubric_based_multi_turn_trajectory_quality_v1": _SHARE,
    "per_turn_user_simulator_quality_v1": _SHARE,
    "multi_turn_task_success_v1": _SHARE,
    "multi_turn_trajectory_quality_v1": _SHARE,
    "multi_turn_tool_use_quality_v1": _SHARE,
    "tool_call_count_v1": _COUNT,
    "inference_call_count_v1": _COUNT,
    "token_usage_v1": _COUNT,
    "invocation_duration_v1": _COUNT,
}
_PASSED = {1: True, 2: False}
_KNOWN = {"metric_name", "threshold", "criterion", "score", "eval_status", "details"}


def status_number(value: Any) -> int | None:
    """1 passed, 2 failed, 3 not evaluated, 4 informational; names are understood, unknown ones are None."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        return _NUMBERS.get(value.upper()) or (int(value) if value.isdigit() else None)
    return None


def metrics_in(results: Any, what: str) -> list[Fields]:
    """A list of metric results; ReadError if one is not."""
    if isinstance(results, list) and results and isinstance(results[0], Metric):
        return results  # decoded by type, all of them
    found = [fields_of(each, f"each of {what}") for each in list_of(results, what)]
    for each in found:
        if type(each.metric_name) is not str:
            raise wrong_type(f"the metric_name of each of {what}", "text", each.metric_name)
    return found


def scores_from(overall: Sequence[Fields], blocks: Sequence[Sequence[Fields]], maker: Maker = MAKER) -> list[Score]:
    """The scores of a case, each with its values per invocation in `details`."""
    per_metric: dict[str, list[Any]] = {}
    for place, results in enumerate(blocks):
        for result in results:
            entries = per_metric.setdefault(result.metric_name, [None] * len(blocks))
            entries[place] = result
    names = {metric.metric_name for metric in overall}
    # A metric may have been computed only for single invocations, not for the case.
    alone = [Metric(metric_name=name) for name in per_metric if name not in names]
    return [_score(metric, per_metric.get(metric.metric_name), maker) for metric in (*overall, *alone)]


def verdict(value: Any, reason: str | None, maker: Maker = MAKER) -> list[Score]:
    """The verdict on a case of which nothing else was recorded. A case that was not evaluated has none: its missing
    trajectory says so already."""
    passed = _PASSED.get(status_number(value) or 0)
    if passed is None:
        return []
    why = reason or f"{maker.name} recorded no session and no invocations"
    return [Score(name=FINAL_STATUS, value=passed, explanation=why, maker=maker, passed=passed)]


def _score(metric: Fields, entries: list[Any] | None, maker: Maker) -> Score:
    status = status_number(metric.eval_status)
    value = number(metric.score, "a score")
    details, same_named = _apart(_details(metric), _NOTES)
    if (criterion := _criterion(metric)) is not None:
        details["criterion"] = criterion
    if entries is not None:
        details["per_invocation"] = [_entry(each, metric) for each in entries]
    extra = _unknown_keys(metric)
    if status not in (1, 2, None):
        extra["eval_status"] = STATUS.get(status, status)
    elif status is None and metric.eval_status is not None:
        extra["eval_status"] = metric.eval_status
    if same_named:
        extra["details"] = same_named
    word = STATUS.get(status or 0, "no status")
    return Score(
        name=metric.metric_name,
        value=value,
        scale=SCALES.get(metric.metric_name),
        # Status 4 (INFORMATIONAL, since 2.13) without a value: there was nothing to count.
        status="scored" if value is not None else "not_applicable" if status == 4 else "unscored",
        explanation=None if value is not None else f"{maker.name} gives no value ({word})",
        details=details,
        maker=maker,
        threshold=number(metric.threshold, "a threshold"),
        passed=_PASSED.get(status or 0),
        extra={NAME: extra} if extra else {},
    )


def _details(metric: Fields) -> dict[str, Any]:
    if (details := metric.details) is None:
        return {}
    if not isinstance(details, Details):
        told = (mapping(details, "details") or {}).items()
        return {key: without_nulls(value) for key, value in told if value is not None}
    rubrics, tokens, times = details.rubric_scores, details.token_usage_details, details.duration_details
    if rubrics is None and tokens is None and times is None:
        return {}
    return {key: without_nulls(value) for key, value in details.items()}


_NOTES = frozenset({"criterion", "per_invocation"})
_NOTES_OF_ENTRY = frozenset({"score", "status", "threshold", "criterion", "beside"})
"""What is noted among the details of a score, and among those of one invocation."""


def _apart(details: dict[str, Any], notes: frozenset[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Details, and those that have the name of a note."""
    return unknown_keys(details, notes), {key: details[key] for key in sorted(notes & details.keys())}


def _criterion(metric: Fields) -> dict[str, Any] | None:
    """A metric's criterion without the threshold, which has its own field."""
    criterion = metric.criterion
    if not isinstance(criterion, dict):
        return None
    same = {"threshold"} if criterion.get("threshold") == metric.threshold else ()
    return {key: value for key, value in criterion.items() if value is not None and key not in same}


def _unknown_keys(metric: Fields) -> dict[str, Any]:
    """Keys that the model has no field for."""
    if isinstance(metric, Metric) and metric.custom_function_path is None and metric.judge_model_options is None:
        return {}
    known = _KNOWN if isinstance(metric.criterion, dict) else _KNOWN - {"criterion"}
    return {key: value for key, value in metric.items() if value is not None and key not in known}


def _entry(result: Fields | None, metric: Fields) -> dict[str, Any] | None:
    """One invocation's result: value, status by name and details; threshold and criterion only if they differ from the
    case's."""
    if result is None:
        return None
    status = status_number(result.eval_status)
    details, same_named = _apart(_details(result), _NOTES_OF_ENTRY)
    entry = {"score": result.score, "status": STATUS.get(status or 0, result.eval_status), **details}
    if beside := _unknown_keys(result) | ({"details": same_named} if same_named else {}):
        entry["beside"] = beside
    # google-adk repeats threshold and criterion in every result; they are noted only if they differ.
    if result.threshold != metric.threshold:
        entry["threshold"] = result.threshold
    if result.criterion != metric.criterion:
        entry["criterion"] = _criterion(result)
    return entry


def metric_to(score: Score) -> dict[str, Any]:
    """A score as an overall metric result; data without a field in ADK is noted by `residual`."""
    value = score.value if score.status == "scored" else None
    worth = float(value) if isinstance(value, (bool, int, float)) else None
    details = unknown_keys(score.details, ("criterion", "per_invocation"))
    extra = dict(score.extra.get(NAME, {}))
    stated = status_number(extra.pop("eval_status", None))
    status = stated or (3 if worth is None else 4)
    if score.passed is not None:
        status = 1 if score.passed else 2
    return _metric(score, score.threshold, score.details.get("criterion"), worth, status, details, extra)


def metrics_of(scores: Sequence[Score], block: int) -> list[dict[str, Any]]:
    """The metric results of one invocation."""
    found: list[dict[str, Any]] = []
    for score in scores:
        entries = score.details.get("per_invocation")
        if not isinstance(entries, list) or block >= len(entries) or not isinstance(entries[block], dict):
            continue
        entry = dict(entries[block])
        threshold = entry.pop("threshold", score.threshold)
        criterion = entry.pop("criterion", score.details.get("criterion"))
        worth, status = entry.pop("score", None), status_number(entry.pop("status", None)) or 3
        beside = entry.pop("beside", {})
        found.append(_metric(score, threshold, criterion, worth, status, entry, beside))
    return found


_DETAILS = ("rubric_scores", "token_usage_details", "duration_details")


def _metric(
    score: Score,
    threshold: float | None,
    criterion: Any,
    worth: Any,
    status: int,
    details: dict[str, Any],
    beside: dict[str, Any],
) -> dict[str, Any]:
    metric: dict[str, Any] = {"metric_name": score.name, "score": worth, "eval_status": status}
    if threshold is not None:
        metric["threshold"] = threshold
    if isinstance(criterion, dict) or (threshold is not None and score.maker != MAKER):
        stated = {"threshold": threshold} if threshold is not None else {}
        metric["criterion"] = stated | object_of(criterion)
    # google-adk wrote these keys itself, so it accepts all of them.
    if score.maker == MAKER:
        return {**metric, **beside, "details": {**details, **object_of(beside.get("details"))}}
    # google-adk refuses a file with an unknown key, so scores of other makers are written with known keys only.
    return {**metric, "details": {key: details[key] for key in _DETAILS if key in details}}


def pairs_from(pairs: Any) -> list[Fields]:
    """Overall results in the deprecated form, pairs of a metric and its result."""
    found = []
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, dict) for each in pair):
            pair = {**pair[0], **present(pair[1])}
        if isinstance(pair, dict) and "metric_name" in pair:
            found.append(pair)
    return metrics_in(found, "eval_metric_results")
