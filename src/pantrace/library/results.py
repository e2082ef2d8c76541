"""Results: a run directory as an object: its numbers, decisions, samples, and a gate."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any

import msgspec

from pantrace.engine.comparative import compare_evaluated
from pantrace.engine.decided_words import verdict_words
from pantrace.engine.denominator import denominator_words
from pantrace.engine.intake import Done
from pantrace.engine.judge import Bench
from pantrace.engine.measure import Row, row
from pantrace.engine.plan import GateTable, Ready
from pantrace.engine.reports import decided_samples, estimate_words
from pantrace.engine.summary import EvalSummary, summarise
from pantrace.engine.table import Table, Tabular
from pantrace.errors import ReadError, UsageError
from pantrace.model import RunHeader, Sample
from pantrace.places import path_at
from pantrace.store import RunDirectory, query
from pantrace.wire.toml import parse

from .gate import Gate, against_baseline, both, decide_as_planned, decide_by_profile, decision_table
from .scores import Scores
from .sources import listed


class Results(Tabular):
    """What an evaluation left behind in its run directory. It can stand wherever a path can: in `compare`, `plot`,
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
        """What this evaluation measured and reused; None where the directory was only opened."""
        self.judging = judging
        self.ready = ready
        self.broken: list[ReadError] = done.notes.broken if done is not None else []
        """Records that could not be read in this evaluation."""
        content = RunDirectory.open(self.path).content
        self.header: RunHeader = content.run
        self.plan: str = content.plan
        """The text of the plan; empty where there was none."""

    def __fspath__(self) -> str:
        return str(self.path)

    def __iter__(self) -> Iterator[Sample]:
        """The samples, each with the scores that came with it and those of the evaluation; read anew each time."""
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
        """Ask a question in SQL; docs/store.md lists the tables."""
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

        With neither, the decisions of the evaluation count, and the plan says how many samples must pass. Otherwise all
        must pass unless `min_pass_rate` says less. What could not be decided does not pass; with `complete`, nor does
        a run that lacks a case."""
        if baseline is None and (listed(metrics) or cluster or not (isinstance(margins, Iterable) and not [*margins])):
            raise UsageError("margins, metrics and cluster need a baseline")
        # Before anything is decided: a baseline that cannot be compared with is an error, not a decision.
        against = None
        if baseline is not None:
            given = [margins] if isinstance(margins, (str, float, int)) else [*margins]
            against = against_baseline(self.path, baseline, margins=given, metrics=listed(metrics), cluster=cluster)
        if profile is not None:
            rate = 1.0 if min_pass_rate is None else min_pass_rate
            known = listed(calibrations)
            found = decide_by_profile(self.path, profile, min_pass_rate=rate, complete=complete, calibrations=known)
        elif against is not None:
            return against
        else:
            found = self.as_planned(self.summary, min_pass_rate=min_pass_rate, complete=complete)
        return found if against is None else both(found, against)

    def as_planned(self, summary: EvalSummary, *, min_pass_rate: float | None = None, complete: bool = False) -> Gate:
        """The gate of the evaluation itself, by numbers that were asked for before."""
        used = {each.profile for each in summary.decisions}
        profiles = self.ready.profiles.values() if self.ready is not None else ()
        return decide_as_planned(
            self.path,
            summary,
            self._planned_gate(),
            min_pass_rate=min_pass_rate,
            complete=complete or any(each.complete for each in profiles if each.name in used),
            calibrations=self.ready.calibrations if self.ready is not None else None,
        )

    def _planned_gate(self) -> GateTable | None:
        if self.ready is not None:
            return self.ready.plan.gate
        try:
            table = parse(self.plan).get("gate")
        except tomllib.TOMLDecodeError:  # an eval_config.yaml, which has no gate
            return None
        return None if table is None else msgspec.convert(table, GateTable)

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
        summary = self.summary
        rows, silent = [], []
        for each in summary.metrics:
            if each.headline and each.estimate is not None:
                rows.append((each.metric, each.scored, estimate_words(each.estimate, each.unit, scored=each.scored)))
            elif each.headline:
                silent.append(each.metric)
        decided = [verdict_words(each) for each in summary.decisions]
        notes = [f"without a number: {', '.join(silent)}"] if silent else []
        notes += [denominator_words(summary.denominator), *(f"left out: {error}" for error in self.broken)]
        return Table(
            {"metric": str, "scored": int, "mean [95 %]": str},
            [*rows],
            sentence="; ".join(decided) or f"{summary.samples} samples, none decided",
            notes=notes,
        )


def _counts(done: Done) -> dict[str, Any]:
    names = ("measured", "reused", "renewed", "superseded", "removed")
    damaged = [*done.anew, *(str(path) for path in done.damaged)]
    return {**{name: getattr(done, name) for name in names}, "damaged": damaged, "undone": done.undone}


def _kind(values: Iterator[Any]) -> type:
    found = {type(value) for value in values if value is not None}
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
