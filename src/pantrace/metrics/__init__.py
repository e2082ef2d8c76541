"""Layer 1: deterministic metrics, one file each, found by name.

A metric `x` is the function `x` in `metrics/x.py`; to add one, write its file and put its name into `NAMES`. Users add
their own with `--plugin FILE` or the entry point group `pantrace.metrics`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from pantrace.errors import UsageError
from pantrace.model import Measure
from pantrace.wire.closest_name import closest_name
from pantrace.wire.installed import broken_package, installed, load_installed

from .metric import Found, Measurement, Metric, NoSettings, NotApplicable, Numbers, metric, parse_settings

NAMES: tuple[str, ...] = (
    "outcome",
    "token_usage",
    "latency_metrics",
    "cache_efficiency",
    "thinking_metrics",
    "tool_utilization",
    "tool_success_rate",
    "grounding_utilization",
    "context_saturation",
    "agent_handoffs",
    "output_density",
    "sandbox_usage",
    "repeated_calls",
    "retry_storms",
    "unanswered_calls",
    "swallowed_errors",
    "wasted_tail",
    "exact_match",
    "contains",
    "regex",
    "rouge_1",
    "edit_similarity",
    "output_contract",
    "trajectory_accuracy",
    "state_variable_fidelity",
    "gui",
    "gui_actions",
)
"""Built-in metrics, in the order in which they are shown."""

ALIASES = {
    "cost": "token_usage.estimated_cost_usd",
    "tokens": "token_usage.total_tokens",
    "latency": "latency_metrics.total_latency_seconds",
}
"""Short names for measures."""

__all__ = [
    "ALIASES",
    "NAMES",
    "Found",
    "Measure",
    "Measurement",
    "Metric",
    "NoSettings",
    "NotApplicable",
    "Numbers",
    "all_metrics",
    "by_name",
    "full_address",
    "measure_named",
    "measures",
    "metric",
    "names",
    "parse_settings",
]


def _plugins() -> dict[str, str]:
    """Metrics of other packages: the entry point group `pantrace.metrics`, name -> "module:attribute"."""
    return installed("pantrace.metrics")


def names() -> tuple[str, ...]:
    """All metric names, built-in ones first."""
    return (*NAMES, *(name for name in sorted(_plugins()) if name not in NAMES))


@cache
def by_name(name: str) -> Metric:
    """The metric with this name; a UsageError with a suggestion if there is none."""
    if name in NAMES:
        module, attribute = f"{__name__}.{name}", name
    elif name in _plugins():
        return _of_a_package(name, _plugins()[name])
    else:
        meant = closest_name(name, (*names(), *ALIASES))
        hint = f"did you mean {meant}?" if meant else "`pantrace metrics` lists them"
        raise UsageError(f"unknown metric {name!r}; {hint}")
    # Imported by name, when it is needed: `--help` must not load every metric.
    found: Metric = getattr(import_module(module), attribute or name)
    return found


def _of_a_package(name: str, place: str) -> Metric:
    found = load_installed("metric", name, place, name)
    if not isinstance(found, Metric):
        raise broken_package("metric", name, place, "is not a metric; decorate it with metric()")
    return found


def all_metrics() -> list[Metric]:
    """Every metric, loaded."""
    return [by_name(name) for name in names()]


def measures(own: Iterable[Metric] = ()) -> list[Measure]:
    """Every number that the metrics can give, with unit, direction, scale and pooling. `own`: metrics of plugins."""
    return [measure for each in (*all_metrics(), *own) for measure in each.measures]


def full_address(name: str) -> str:
    """The address of a measure, from its alias (`cost`) or from its metric's name, which means the main measure. Any
    other name, such as that of a rubric or a stored score, is returned as it is."""
    name = ALIASES.get(name, name)
    return by_name(name).main.address if name in names() else name


def measure_named(name: str, own: Iterable[Metric] = ()) -> Measure | None:
    """The declaration of a measure, by its address, its alias, or its metric's name (the main measure). None if there
    is none: for rubrics, stored scores, and measures that a plugin returns without declaring them."""
    address = full_address(name)
    for each in own:
        if each.name == address:
            return each.main
    metric_name, _, _ = address.partition(".")
    # Only the one metric is loaded, not all of them.
    known = [each for each in own if each.name == metric_name] or [
        by_name(each) for each in names() if each == metric_name
    ]
    return next((found for each in known for found in each.measures if found.address == address), None)
