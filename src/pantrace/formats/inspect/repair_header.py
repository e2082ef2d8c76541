"""Repairs of a header: as inspect_ai reads it."""

from __future__ import annotations

from typing import Any

from pantrace.wire.mending import mended

from .leave_out import without_wrong
from .records import check_header
from .repair import (
    NO_TIME,
    as_count,
    as_error,
    as_object,
    as_text,
    as_time,
    each_item,
    each_value,
    filled,
    usage_by_model,
    with_mended,
    without_null,
)


def repaired_header(raw: dict[str, Any], first: str | None) -> dict[str, Any]:
    """A header that inspect_ai reads; `first` is when the first sample began."""
    spec = without_null(as_object(raw.get("eval") or {}, "eval"), "eval")
    task = spec["task"] if isinstance(spec.get("task"), str) and spec["task"] else "trajectories"
    spec = filled(spec, "eval", task=task, model="none/none", created=first or NO_TIME)
    spec = with_mended(spec, "eval", created=lambda value, place: as_time(value, place) or first or NO_TIME)
    spec = with_mended(
        spec, "eval", task=as_text, model=as_text, config=as_object, packages=_packages, metadata=as_object
    )
    for key in ("task_args", "task_args_passed", "task_attribs", "model_args", "model_generate_config"):
        spec = with_mended(spec, "eval", **{key: as_object})
    for key in ("eval_id", "run_id", "task_id"):
        spec = with_mended(spec, "eval", **{key: as_text})
    dataset = as_object(spec.get("dataset") or {}, "eval.dataset")
    dataset = with_mended(dataset, "eval.dataset", name=as_text, samples=as_count, sample_ids=_ids)
    if dataset is not spec.get("dataset"):
        spec = {**spec, "dataset": dataset}
    raw = raw if spec is raw.get("eval") else {**raw, "eval": spec}
    raw = with_mended(without_null(raw, ""), "", status=_status, error=as_error, plan=_plan, results=_results)
    raw = with_mended(raw, "", stats=lambda value, place: _stats(value, place, spec.get("model")))
    return without_wrong(raw, lambda record: check_header(record, ""))


def _ids(value: Any, place: str) -> Any:
    return each_item(value, place, lambda each, where: each if type(each) is int else as_text(each, where))


def _packages(value: Any, place: str) -> Any:
    return each_value(value, place, as_text)


def _status(value: Any, place: str) -> Any:
    if value in ("started", "success", "cancelled", "error"):
        return value
    mended(place, "is `error` now")
    return "error"


def _plan(value: Any, place: str) -> Any:
    value = with_mended(as_object(value, place), place, name=as_text, config=as_object)
    return with_mended(value, place, steps=lambda each, where: each_item(each, where, _plan_step))


def _plan_step(value: Any, place: str) -> Any:
    if isinstance(value, dict) and isinstance(value.get("solver"), str):
        return value
    mended(place, "is no step of a plan, and left out")
    return None


def _results(value: Any, place: str) -> Any:
    value = with_mended(as_object(value, place), place, total_samples=as_count, completed_samples=as_count)
    return with_mended(value, place, scores=lambda each, where: each_item(each, where, _eval_score))


def _eval_score(value: Any, place: str) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        mended(place, "is no score, and left out")
        return None
    return filled(value, place, scorer=value["name"])


def _stats(value: Any, place: str, model: Any) -> Any:
    value = with_mended(as_object(value, place), place, started_at=as_time, completed_at=as_time)
    return with_mended(value, place, model_usage=lambda each, where: usage_by_model(each, where, model))
