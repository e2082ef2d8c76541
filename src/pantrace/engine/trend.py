"""Trend: a measure over runs in time, with intervals, and which of its changes are proven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Record, Unit
from pantrace.stats import Estimate

from .compare import average_of, compare_metric
from .compare_result import SHOWS_NOTHING, Comparison
from .compare_runs import Source, read_sides
from .compare_side import Side, address_among
from .table import Table, Tabular


class Point(Record, frozen=True, kw_only=True):
    """One run of a history."""

    run: str
    created: float | None
    estimate: Estimate | None
    """The mean over its cases; None if it has no number."""
    change: Comparison | None = None
    """Against the run where the level last changed (at first, the first run)."""
    holds_up: bool = False
    """Whether that change is proven; then later runs are compared with this one."""


class Trend(Record, frozen=True, kw_only=True):
    """One measure over the runs."""

    metric: str
    unit: Unit | None
    points: tuple[Point, ...]


class History(Record, Tabular, frozen=True, kw_only=True):
    """Measures over runs in time."""

    runs: tuple[str, ...]
    """From the oldest to the newest, or as given if a run has no time."""
    in_time: bool
    """Whether all runs have a time."""
    correction: str
    trends: tuple[Trend, ...]

    __repr__ = Tabular.__repr__

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `pantrace compare --trend --json` prints it."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def table(self) -> Table:
        """One row for each metric and run."""
        columns: dict[str, type] = {"metric": str, "run": str, "created": float}
        columns |= dict.fromkeys(("mean", "low", "high", "change"), float) | {"since": str, "verdict": str}
        columns |= {"holds_up": bool}
        rows = [(each.metric, *_flat(point)) for each in self.trends for point in each.points]
        sentence = f"{len(self.runs)} runs, {len(self.trends)} {'metric' if len(self.trends) == 1 else 'metrics'}"
        return Table(columns, [*rows], sentence=sentence, notes=[f"p adjusted: {self.correction}"])


def _flat(point: Point) -> tuple[Any, ...]:
    estimate, change = point.estimate, point.change
    mean = (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
    difference = None if change is None or change.difference is None else change.difference.value
    since, verdict = (None, None) if change is None else (change.runs[0], change.verdict)
    return (point.run, point.created, *mean, difference, since, verdict, point.holds_up)


def trend_of_sources(
    sources: Sequence[Source], *, metrics: Sequence[str] = (), cluster: str | None = None, pair_by: str = "case"
) -> History:
    """The history of the measures that these runs share, or of those named."""
    if len(sources) < 2:
        raise UsageError("a trend needs two or more runs")
    sides = read_sides(sources, cluster, pair_by)
    in_time = all(side.created is not None for side in sides)
    if in_time:
        sides.sort(key=lambda side: side.created or 0.0)
    chosen = [address_among(name, *sides) for name in metrics] or _common(sides)
    for name in chosen:
        if not any(name in side.values for side in sides):
            known = ", ".join(sorted({each for side in sides for each in side.values})) or "none"
            raise UsageError(f"no run has numbers for {name!r}; there are: {known}")
    if not chosen:
        raise UsageError("the runs share no metric that has numbers")
    # Each run is compared once for each measure. Which run it is compared with depends on earlier results, so Holm,
    # which needs all p-values at once, does not apply.
    tests = (len(sides) - 1) * len(chosen)
    return History(
        runs=tuple(side.name for side in sides),
        in_time=in_time,
        correction=f"Bonferroni over {tests} tests" if tests > 1 else "none: one test",
        trends=tuple(_trend(name, sides, tests) for name in chosen),
    )


def _common(sides: Sequence[Side]) -> list[str]:
    names = dict.fromkeys(name for side in sides for name in side.values if name not in side.spare)
    return [name for name in names if sum(name in side.values for side in sides) > 1]


def _trend(metric: str, sides: Sequence[Side], tests: int) -> Trend:
    points: list[Point] = []
    level: Side | None = None
    for side in sides:
        estimate, change, holds_up = average_of(side, metric), None, False
        # Not with the run before: a slow decline would never be proven in any single step.
        if estimate is not None and level is not None:
            change = compare_metric(metric, level, side, tests)
            holds_up = change.verdict not in SHOWS_NOTHING
        points.append(Point(run=side.name, created=side.created, estimate=estimate, change=change, holds_up=holds_up))
        if estimate is not None and (level is None or holds_up):
            level = side
    units = [side.units.get(metric) for side in sides if metric in side.values]
    return Trend(metric=metric, unit=next(iter(units), None), points=tuple(points))
