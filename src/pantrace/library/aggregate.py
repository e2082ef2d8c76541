"""Means over several evaluations, as `pantrace aggregate` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from pantrace.engine.aggregate import Group, Summary, group_evaluations
from pantrace.engine.aggregate import aggregate as aggregate_all
from pantrace.engine.metric_values import Evaluation, copies_among, read_evaluations, warnings_of, without_groups
from pantrace.engine.read import Notes
from pantrace.engine.table import Table, Tabular
from pantrace.errors import ReadError, UsageError
from pantrace.metrics import full_address

from .sources import listed


@dataclass(repr=False)
class Aggregates(Tabular):
    """Means over evaluations: over all of them, and over each group."""

    whole: Group
    groups: list[Group]
    by: list[str]
    evaluations: list[Evaluation] = field(default_factory=list)
    """What was averaged; with `by`, each group of an evaluation is one."""
    null_as_zero: bool = False
    warnings: list[str] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes.keeping)

    @property
    def broken(self) -> list[ReadError]:
        """Records that could not be read and are left out."""
        return self.notes.broken

    def to_dict(self) -> dict[str, Any]:
        """The means that OpenAdapt's document names, all metrics, and the groups, as `pantrace aggregate --json` prints
        them."""
        found = {
            **self.whole.documented(),
            "null_as_zero": self.null_as_zero,
            "evaluations": [self._plain(each) for each in self.evaluations],
            "totals": self.whole.totals,
            "metrics": _summaries(self.whole),
            "groups": [
                {
                    "by": group.by,
                    "evaluations": group.evaluations,
                    **group.documented(),
                    "totals": group.totals,
                    "metrics": _summaries(group),
                }
                for group in self.groups
            ],
            **self.notes.left_out(),
        }
        plain: dict[str, Any] = msgspec.to_builtins(found)
        return plain

    def _plain(self, each: Evaluation) -> dict[str, Any]:
        values = {name: found.estimate.value if found.estimate else None for name, found in each.metrics.items()}
        return {
            "path": each.path,
            "format": each.format,
            "name": each.name,
            "by": dict(zip(self.by, each.group, strict=True)),
            "samples": each.samples,
            "withdrawn": each.withdrawn,
            "metrics": values,
        }

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


def _summaries(group: Group) -> dict[str, Any]:
    fields = [name for name in Summary.__struct_fields__ if name != "metric"]
    return {name: {field: getattr(each, field) for field in fields} for name, each in group.metrics.items()}


def aggregate(
    *sources: str | PathLike[str],
    by: str | Iterable[str] = (),
    metrics: str | Iterable[str] = (),
    null_as_zero: bool = False,
    headlines: bool = False,
    format: str | None = None,  # noqa: A002
) -> Aggregates:
    """Average several evaluations: eval JSON files, run directories, recordings whose samples have scores.

    Null is left out and counted, unless `null_as_zero`. `by` makes groups: backend, model, agent, task, label.NAME.
    With `headlines`, only the main measure of each metric is averaged, unless metrics are named."""
    fields = [name for text in listed(by) for name in text.split(",")]
    asked = listed(metrics)
    notes = Notes.keeping()
    found = read_evaluations([*map(Path, sources)], format=format, by=fields, notes=notes)
    # Stored metrics of a file have no address of ours, so the name as typed counts, too.
    wanted = {full_address(name) for name in asked} | {*asked}
    for each in found:
        each.metrics = {
            name: values
            for name, values in each.metrics.items()
            if (name in wanted or name.partition(".")[0] in wanted if asked else values.headline or not headlines)
        }
    # An empty table would not say what is missing.
    if not any(each.metrics for each in found):
        what = ", ".join(asked) or "a stored result or a score"
        raise UsageError(f"nothing to aggregate: no input has {what}{notes.unread_words()}")
    # With groups, an evaluation is in the list once per group; over all of them it must count once.
    apart = without_groups(found) if fields else found
    return Aggregates(
        aggregate_all(apart, null_as_zero=null_as_zero),
        group_evaluations(found, fields, null_as_zero=null_as_zero) if fields else [],
        fields,
        found,
        null_as_zero,
        [*warnings_of(apart), *copies_among(apart)],
        notes,
    )
