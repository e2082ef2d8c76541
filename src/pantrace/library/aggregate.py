"""Means over several evaluations, as `pantrace aggregate` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from pantrace.engine.aggregate import Group, group_evaluations
from pantrace.engine.aggregate import aggregate as aggregate_all
from pantrace.engine.metric_values import copies_among, read_evaluations, warnings_of, without_groups
from pantrace.engine.read import Notes
from pantrace.engine.table import Table, Tabular
from pantrace.errors import ReadError, UsageError
from pantrace.metrics import full_address

from .sources import listed


@dataclass(repr=False)
class Aggregates(Tabular):
    """Means over evaluations: of all of them, and of each group that was asked for."""

    whole: Group
    groups: list[Group]
    by: list[str]
    warnings: list[str] = field(default_factory=list)
    broken: list[ReadError] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The means that OpenAdapt's document names, all metrics, and the groups."""
        found = {**self.whole.documented(), "metrics": self.whole.metrics, "totals": self.whole.totals}
        plain: dict[str, Any] = msgspec.to_builtins({**found, "groups": self.groups})
        return plain

    def table(self) -> Table:
        """One row for each metric, and for each group where there are some."""
        columns: dict[str, type] = {**dict.fromkeys(self.by, str), "metric": str, "evaluations": int, "null": int}
        columns |= dict.fromkeys(("mean", "low", "high", "weighted_mean", "lowest", "highest"), float)
        names = [name for name in columns if name not in self.by]
        rows = [
            (*group.by.values(), *(getattr(each, name) for name in names))
            for group in (self.groups or [self.whole])
            for each in group.metrics.values()
        ]
        total = self.whole.evaluations
        sentence = f"{total} {'evaluation' if total == 1 else 'evaluations'}"
        notes = [*self.warnings, *(f"left out: {error}" for error in self.broken)]
        return Table(columns, [*rows], sentence=sentence, notes=notes)


def aggregate(
    *sources: str | PathLike[str],
    by: str | Iterable[str] = (),
    metrics: str | Iterable[str] = (),
    null_as_zero: bool = False,
    format: str | None = None,  # noqa: A002
) -> Aggregates:
    """Means over several evaluations: eval JSON files, run directories, recordings whose samples have scores.

    Null is left out and counted, unless `null_as_zero`. `by` makes groups: backend, model, agent, task, label.NAME."""
    fields, asked = listed(by), listed(metrics)
    notes = Notes.keeping()
    found = read_evaluations([*map(Path, sources)], format=format, by=fields, notes=notes)
    wanted = {full_address(name) for name in asked} | {*asked}
    if asked:
        for each in found:
            each.metrics = {
                name: values
                for name, values in each.metrics.items()
                if name in wanted or name.partition(".")[0] in wanted
            }
    if not any(each.metrics for each in found):
        raise UsageError(f"nothing to aggregate: no input has {', '.join(asked) or 'a stored result or a score'}")
    apart = without_groups(found) if fields else found
    return Aggregates(
        aggregate_all(apart, null_as_zero=null_as_zero),
        group_evaluations(found, fields, null_as_zero=null_as_zero) if fields else [],
        fields,
        [*warnings_of(apart), *copies_among(apart)],
        notes.broken,
    )
