"""Finds every place where an eval JSON breaks the rules of its document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pantrace.model import Violation
from pantrace.wire.field_map import is_number
from pantrace.wire.optional import list_of
from pantrace.wire.violation import error, warning

from .metrics import BY_TYPE, METRICS, Metric, interval_of, is_withdrawn

BACKENDS = ("qwen3", "qwen2_5", "claude", "openai", "dummy")
DSL_MODES = ("coord", "som")
_TEXTS = ("schema_version", "device", "gpu_model", "checkpoint_path")


def check(row: Any) -> Iterator[Violation]:
    """Violations of one decoded eval JSON, legacy ones included."""
    if not isinstance(row, dict):
        yield error("must be an object", None)
        return
    if "metrics" not in row:
        yield warning("legacy: the metrics are at the top level; `pantrace migrate` wraps them", None)
        yield from _metrics(row, "", row, lenient=True)
        return
    yield from _header(row)
    # A migrated file has null for what its legacy original never measured; that is not the file's fault.
    migrated = all(row.get(name, "unknown") == "unknown" for name in ("config_path", "backend"))
    if not isinstance(row["metrics"], dict):
        yield error("must be an object", "metrics")
    else:
        yield from _metrics(row["metrics"], "metrics.", row, lenient=migrated)


def _header(row: dict[str, Any]) -> Iterator[Violation]:
    for name in ("config_path", "backend"):
        if name not in row:
            # Only a warning: OpenAdapt's own tools read the metrics alone.
            yield warning(f"is missing (`--option {name}=...` writes it)", name)
        elif not isinstance(row[name], str):
            yield error("must be text", name)
    backend = row.get("backend")
    if isinstance(backend, str) and backend not in BACKENDS:
        yield warning(f"{backend!r} is none of {', '.join(BACKENDS)}", "backend")
    if "dsl_mode" in row and row["dsl_mode"] not in DSL_MODES:
        yield error(f"{row['dsl_mode']!r} is neither coord nor som", "dsl_mode")
    for name in _TEXTS:
        if row.get(name) is not None and not isinstance(row[name], str):
            yield error("must be text", name)
    memory = row.get("memory_gb")
    if memory is not None and (not is_number(memory) or memory < 0):
        yield error("must be a number that is not negative", "memory_gb")


def _metrics(metrics: dict[str, Any], prefix: str, row: dict[str, Any], *, lenient: bool) -> Iterator[Violation]:
    named = row.get("deprecated_metrics")
    deprecated = list_of(named)
    for name, metric in METRICS.items():
        place = prefix + name
        if name in metrics:
            yield from _value(metrics[name], metric, place, deprecated=name in deprecated, lenient=lenient)
        elif metric.primary:
            needed = not metric.nullable and not lenient
            yield (error if needed else warning)("is missing; the document requires it", place)
    for name, value in metrics.items():
        if name.endswith("_ci") and name.removesuffix("_ci") in METRICS:
            yield from _interval(name, value, metrics, prefix)
    # Elements are numbered only in SoM mode. A legacy file does not state its mode, so it is not asked.
    if row.get("dsl_mode", "coord") == "coord" and metrics.get("element_accuracy") is not None and "metrics" in row:
        yield warning("must be null in coordinate mode", f"{prefix}element_accuracy")
    if metrics.get("coord_error_count") == 0:
        for name in ("mean_coord_error", "click_hit_rate"):
            if metrics.get(name) is not None:
                yield warning("must be null: no click has coordinates", prefix + name)
    types = row.get(BY_TYPE)
    if types is not None and not isinstance(types, dict):
        yield error("must be an object", BY_TYPE)


def _value(value: Any, metric: Metric, place: str, *, deprecated: bool, lenient: bool) -> Iterator[Violation]:
    if value is None:
        if not metric.nullable:
            # Only a warning: readers treat it like the metrics that may be null, as a gap or a zero.
            yield warning("must not be null", place)
        return
    if not is_number(value) or not math.isfinite(value):
        yield error("must be a number", place)
        return
    if is_withdrawn(value):
        allowed = metric.nullable or deprecated or lenient
        yield (warning if allowed else error)(f"is {value}, which means that it was withdrawn: read as absent", place)
        return
    if metric.kind == "count" and value != int(value):
        yield error(f"must be an integer, is {value}", place)
    if value < 0 or (metric.kind == "rate" and value > 1):
        span = "between 0 and 1" if metric.kind == "rate" else "not negative"
        yield error(f"must be {span}, is {value}", place)


def _interval(name: str, value: Any, metrics: dict[str, Any], prefix: str) -> Iterator[Violation]:
    place = prefix + name
    base = interval_of(name, metrics)
    if base is None:
        yield error("must be an array of two numbers", place)
        return
    low, high = value
    middle = metrics.get(base)
    if low is not None and high is not None and low > high:
        yield error(f"the lower bound {low} is above the upper bound {high}", place)
    elif is_number(middle) and ((low is not None and middle < low) or (high is not None and middle > high)):
        yield warning(f"does not contain the value {middle}", place)
