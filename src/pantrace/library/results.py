"""Results: a run directory as an object: its numbers, decisions, samples, and a gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike
from typing import Any

import msgspec

from pantrace.engine.comparative import compare_evaluated
from pantrace.engine.intake import Done
from pantrace.engine.judge import Bench
from pantrace.engine.measure import Row, row
from pantrace.engine.plan import Ready
from pantrace.engine.reports import decided_samples
from pantrace.engine.summary import EvalSummary, summarise
from pantrace.engine.table import Table, Tabular
from pantrace.errors import ReadError, UsageError
from pantrace.model import RunHeader, Sample
from pantrace.places import path_at
from pantrace.store import RunDirectory, query

from .gate import Gate, against_baseline, both, decide_as_planned, decide_by_profile, decision_table, planned_gate
from .scores import Scores
from .sources import listed


class Results(Tabular):
    """The results of an evaluation in its run directory. They can be used wherever a path can: in `compare`, `plot`,
    `report`, `measure`."""

    def __init__(
        self,
        path: str | PathLike[str],
        done: Done | None = None,
        *,
        judging: Bench | None = None,
        ready: Ready | None = None,
    ):
        self.path = path_at(path)
        self.done = done
        """What this evaluation measured and reused; None if the directory was only opened."""
        self.judging = judging
        self.ready = ready
        self.broken: list[ReadError] = done.notes.broken if done is not None else []
        """Records that could not be read in this evaluation."""
        # Opened at once: a path that is no run directory must fail here, not at the first use.
        content = RunDirectory.open(self.path).content
        self.header: RunHeader = content.run
        self.plan: str = content.plan
        """The text of the plan; empty if there was none."""

    def __fspath__(self) -> str:
        return str(self.path)

    def __iter__(self) -> Iterator[Sample]:
        """The samples, each with its stored scores and those of the evaluation; read from disk each time."""
        return RunDirectory.open(self.path).samples()

    @property
    def summary(self) -> EvalSummary:
        """All numbers over samples and groups, from the directory as it is now."""
        return summarise(self.path, self.ready.checks if self.ready is not None else ())

    @property
    def scores(self) -> Scores:
        """Every score of every sample."""
        rows: list[Row] = []
        for each in RunDirectory.open(self.path).results():
            scores = (*each.sample.scores, *each.scores)
            rows += [row(self.header.name, each.sample, None, score) for score in scores]
        return Scores(rows)

    @property
    def decisions(self) -> Table:
        """Every decision, failures first."""
        return decision_table(decided_samples(self.path))

    def query(self, sql: str) -> Table:
        """Run an SQL query; docs/store.md lists the tables."""
        names, rows = query(self.path, sql)
        kinds = [_kind(row[place] for row in rows) for place in range(len(names))]
        plain = [[_plain(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in rows]
        return Table(dict(zip(names, kinds, strict=True)), [*plain])

    def gate(
        self,
        profile: str | PathLike[str] | None = None,
        *,
        baseline: str | PathLike[str] | None = None,
        margins: str | float | Iterable[str | float] = (),
        metrics: str | Iterable[str] = (),
        cluster: str | None = None,
        min_pass_rate: float | None = None,
        complete: bool = False,
        calibrations: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    ) -> Gate:
        """Whether the run is good enough: by a profile, no worse than a baseline, or both.

        With neither, the decisions of the evaluation count. The plan's `[gate]` says how many must pass and whether a
        case may be missing, unless `min_pass_rate` or `complete` says otherwise; without either, all must pass. What
        could not be decided does not pass, nor does an evaluation that has not ended; with `complete`, nor does a run
        that lacks a case."""
        if baseline is None and (listed(metrics) or cluster or not (isinstance(margins, Iterable) and not [*margins])):
            raise UsageError("margins, metrics and cluster need a baseline")
        # First, before anything is decided: a baseline that cannot be compared is an error, not a decision.
        # Computed before `decide_by_profile`, which writes decisions into the directory.
        against = None
        if baseline is not None:
            given = [margins] if isinstance(margins, (str, float, int)) else [*margins]
            against = against_baseline(self.path, baseline, margins=given, metrics=listed(metrics), cluster=cluster)
        if profile is not None:
            found = decide_by_profile(
                self.path, profile, min_pass_rate=min_pass_rate, complete=complete, calibrations=listed(calibrations)
            )
        elif against is not None:
            return against
        else:
            found = self.as_planned(self.summary, min_pass_rate=min_pass_rate, complete=complete)
        return found if against is None else both(found, against)

    def as_planned(self, summary: EvalSummary, *, min_pass_rate: float | None = None, complete: bool = False) -> Gate:
        """The gate of the evaluation itself, from an existing summary."""
        used = {each.profile for each in summary.decisions}
        profiles = self.ready.profiles.values() if self.ready is not None else ()
        return decide_as_planned(
            self.path,
            summary,
            planned_gate(self.path),
            min_pass_rate=min_pass_rate,
            complete=complete or any(each.complete for each in profiles if each.name in used),
            calibrations=self.ready.calibrations if self.ready is not None else None,
        )

    def to_dict(self, summary: EvalSummary | None = None) -> dict[str, Any]:
        """What was done, summary and decisions, as `pantrace eval --json` prints them. A directory that was only opened
        does not say what was measured when."""
        found: dict[str, Any] = {"out": str(self.path)}
        if self.done is not None:
            found |= _counts(self.done) | self.done.notes.left_out()
            found["judging"] = self.judging.summary() if self.judging is not None else None
        found["summary"] = summary or self.summary
        found["decisions"] = decided_samples(self.path)
        if (sides := compare_evaluated(self.path)) is not None:
            found["comparison"] = sides.to_dict()
        plain: dict[str, Any] = msgspec.to_builtins(found)
        return plain

    def table(self) -> Table:
        """One row for each number of each sample."""
        return self.scores.table()

    def overview(self) -> Table:
        """The measures with a number, each as its mean over cases with a 95 % interval."""
        found = self.summary.overview()
        return replace(found, notes=[*found.notes, *(f"left out: {error}" for error in self.broken)])


def _counts(done: Done) -> dict[str, Any]:
    names = ("measured", "reused", "renewed", "superseded", "removed")
    damaged = [*done.anew, *(str(path) for path in done.damaged)]
    return {**{name: getattr(done, name) for name in names}, "damaged": damaged, "undone": done.undone}


def _kind(values: Iterator[Any]) -> type:
    found = {type(value) for value in values if value is not None}
    # A column of SQL may mix types in rows: the widest that holds all of them, so that pandas gets one.
    if found == {bool}:
        return bool
    if found and found <= {int, bool}:
        return int
    return float if found and found <= {int, float, bool} else str


def _plain(value: Any, kind: type) -> Any:
    return None if value is None else kind(value)


def open_results(path: str | PathLike[str]) -> Results:
    """A run directory that `evaluate` or `pantrace eval --out DIR` wrote."""
    return Results(path)
