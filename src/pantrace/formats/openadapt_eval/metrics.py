"""The thirteen metrics of the eval JSON, and how a metrics object becomes aggregates and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pantrace.model import Aggregate, Record
from pantrace.wire.field_map import is_number

NAME = "openadapt-eval"


class Metric(Record, frozen=True, kw_only=True):
    """What the document says about one metric."""

    kind: Literal["count", "rate", "distance"]
    """count: an integer >= 0; rate: 0..1; distance: >= 0."""
    nullable: bool = True
    primary: bool = False
    """Listed under "always present"."""


# In the document's order, which is also the order of writing.
METRICS = {
    "num_episodes": Metric(kind="count", nullable=False, primary=True),
    "num_steps": Metric(kind="count", nullable=False, primary=True),
    "action_type_accuracy": Metric(kind="rate", nullable=False, primary=True),
    "mean_coord_error": Metric(kind="distance", primary=True),
    "coord_error_count": Metric(kind="count", nullable=False, primary=True),
    "episode_success_rate": Metric(kind="rate", nullable=False, primary=True),
    "click_hit_rate": Metric(kind="rate", primary=True),
    "bbox_hit_rate": Metric(kind="rate"),
    "mean_episode_progress": Metric(kind="rate"),
    "mean_episode_step_score": Metric(kind="rate"),
    "weak_episode_success_rate": Metric(kind="rate"),
    "state_success_rate": Metric(kind="rate"),
    "element_accuracy": Metric(kind="rate"),
}

SENTINEL = -1.0
"""The value of a withdrawn metric: the document never removes a metric, and none of them can be negative."""
BY_TYPE = "metrics_by_action_type"


def is_withdrawn(value: Any) -> bool:
    return is_number(value) and value == SENTINEL


def aggregates(metrics: dict[str, Any]) -> Iterator[Aggregate]:
    """All known metrics, None where they are null or absent, then the others in the file's order."""
    known = {name: metrics.get(name) for name in METRICS}
    for name, value in {**known, **metrics}.items():
        if interval_of(name, metrics) is None and name != BY_TYPE:
            yield _aggregate(name, value, metrics.get(f"{name}_ci"))


def interval_of(name: str, metrics: dict[str, Any]) -> str | None:
    """The metric whose confidence interval this is."""
    base = name.removesuffix("_ci")
    if base == name or (base not in metrics and base not in METRICS) or not _is_interval(metrics.get(name)):
        return None
    return base


def _is_interval(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(each is None or is_number(each) for each in value)


def _aggregate(name: str, value: Any, interval: Any) -> Aggregate:
    low, high = interval if _is_interval(interval) else (None, None)
    # A future metric may be structured; an aggregate has one number, so the rest is kept raw.
    if isinstance(value, (dict, list)):
        return Aggregate(name=name, low=low, high=high, extra={NAME: {"value": value}})
    return _number(name, value, low=low, high=high)


def _number(name: str, value: Any, **fields: Any) -> Aggregate:
    if not is_withdrawn(value):
        return Aggregate(name=name, value=value, **fields)
    # Remember whether it was -1 or -1.0, so that it is written back the same.
    extra = {NAME: {"sentinel": value}} if isinstance(value, int) else {}
    return Aggregate(name=name, withdrawn=True, extra=extra, **fields)


def by_type(value: Any) -> list[Aggregate] | None:
    """Metrics per action type, {"click": {"accuracy": 0.5}}; None if it has another shape."""
    if not isinstance(value, dict) or not all(isinstance(inner, dict) for inner in value.values()):
        return None
    found = [
        _number(name, number, labels={"action_type": kind})
        for kind, inner in value.items()
        for name, number in inner.items()
    ]
    # The document only sketches this field. An empty type would leave no aggregate to write it back from.
    plain = all(each.value is None or is_number(each.value) for each in found)
    return found if plain and all(value.values()) else None


def metrics_object(results: Iterable[Aggregate], *, zeros: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metrics object, every known metric in it, and the metrics per action type."""
    metrics: dict[str, Any] = dict.fromkeys(METRICS)
    taken: set[str] = set()
    types: dict[str, Any] = {}
    for each in results:
        if set(each.labels) == {"action_type"} and (each.withdrawn or not each.extra):
            types.setdefault(each.labels["action_type"], {})[each.name] = _metric_value(each.name, each)
            continue
        name = _free_name(each, taken)
        taken.add(name)
        metrics[name] = _metric_value(name, each)
        if each.low is not None or each.high is not None:
            metrics[f"{name}_ci"] = [each.low, each.high]
    if zeros:
        for name, metric in METRICS.items():
            if metrics[name] is None and not metric.nullable:
                metrics[name] = 0 if metric.kind == "count" else 0.0
    return metrics, types


def _free_name(each: Aggregate, taken: set[str]) -> str:
    """The aggregate's name; if it is taken, with the kind of aggregate or a number after it."""
    name = each.name
    if name in taken and each.metric:
        name = f"{each.name}_{each.metric}"
    number = 2
    while name in taken:
        name = f"{each.name}_{number}"
        number += 1
    return name


def _metric_value(name: str, each: Aggregate) -> Any:
    mine, value = each.extra.get(NAME, {}), each.value
    if each.withdrawn or "sentinel" in mine:
        return mine.get("sentinel", SENTINEL)
    if "value" in mine:
        return mine["value"]
    count = name in METRICS and METRICS[name].kind == "count"
    # Aggregates are floats; the document wants counts as integers.
    return int(value) if count and isinstance(value, float) and value.is_integer() else value
