"""Results: a run directory as an object: its numbers, decisions, samples, and a gate."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from pantrace.engine.calibration_files import calibrations_for
from pantrace.engine.denominator import denominator_words
from pantrace.engine.evaluate import decide_again
from pantrace.engine.known_names import refuse_unknown
from pantrace.engine.measure import Row, row
from pantrace.engine.reports import DecidedSample, decided_samples, estimate_words
from pantrace.engine.summary import EvalSummary, gate_code, summarise
from pantrace.engine.table import Table, Tabular
from pantrace.errors import ReadError
from pantrace.model import Record, RunHeader, Sample
from pantrace.policy import load_profile, profile_names
from pantrace.store import RunDirectory, query

from .scores import Scores


class Gate(Record, frozen=True, kw_only=True):
    """Whether an evaluation is good enough. True in a condition only if it passed."""

    passed: bool | None
    """None: could not be decided, which is not a pass."""
    sentence: str
    failures: tuple[DecidedSample, ...] = ()
    """Samples that failed or could not be decided, with the reasons."""

    def __bool__(self) -> bool:
        return self.passed is True

    def __repr__(self) -> str:
        words = {False: "failed", None: "could not be decided"}
        told = [f"  {each.sample}: {words[each.passed]}: {'; '.join(each.reasons)}" for each in self.failures]
        return "\n".join([self.sentence, *told])


class Results(Tabular):
    """What an evaluation left behind in its run directory. It can stand wherever a path can: in `compare`, `plot`,
    `report`, `measure`."""

    def __init__(self, path: str | PathLike[str], broken: list[ReadError] | None = None, *, complete: bool = False):
        self.path = Path(path)
        self._complete = complete
        self.broken = broken or []
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
        return summarise(self.path)

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
        columns: dict[str, type] = {"sample": str, "epoch": int, "case": str, "profile": str, "passed": bool}
        columns |= {"composite": float, "reasons": str}
        rows = [
            (each.sample, each.epoch, each.case, each.profile, each.passed, each.composite, "; ".join(each.reasons))
            for each in decided_samples(self.path)
        ]
        return Table(columns, [*rows])

    def query(self, sql: str) -> Table:
        """Ask a question in SQL; docs/store.md lists the tables."""
        names, rows = query(self.path, sql)
        kinds = [_kind(row[place] for row in rows) for place in range(len(names))]
        plain = [[_plain(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in rows]
        return Table(dict(zip(names, kinds, strict=True)), [*plain])

    def gate(
        self, profile: str | PathLike[str] | None = None, *, min_pass_rate: float | None = None, complete: bool = False
    ) -> Gate:
        """Decide: by the profiles that the evaluation used, or anew by another one. What could not be decided does not
        pass; with `complete`, nor does a run that lacks a case. Without a rate it is the plan's, else all must
        pass."""
        planned = tomllib.loads(self.plan).get("gate", {})
        rate = planned.get("min_pass_rate", 1.0) if min_pass_rate is None else min_pass_rate
        complete = complete or planned.get("complete", False) or self._complete
        name = None
        if profile is not None:
            chosen = load_profile(str(profile))
            file = None if str(profile) in profile_names() else Path(profile)
            refuse_unknown(chosen, self.path, file=file)
            decide_again(self.path, chosen, calibrations_for(self.path, []))
            name, complete = chosen.name, complete or chosen.complete
        summary = self.summary
        code = gate_code(summary, rate, name, complete=complete)
        decided = decided_samples(self.path, name)
        chosen_by = [each for each in summary.decisions if name in (None, each.profile)]
        told = "; ".join(_verdict(each.profile, each.passed, each.failed, each.undecided) for each in chosen_by)
        words = {0: "passed", 1: "failed", 3: "could not decide, which is not a pass"}
        why = told or "no sample was decided: name a profile"
        if complete and not summary.denominator.complete:
            why += f"; not complete: {denominator_words(summary.denominator)}"
        return Gate(
            passed={0: True, 1: False}.get(code),
            sentence=f"gate (at least {rate:.0%} must pass): {words[code]} ({why})",
            failures=tuple(each for each in decided if each.passed is not True),
        )

    def to_dict(self) -> dict[str, Any]:
        """Summary and decisions, as `--json` prints them."""
        found = {"summary": self.summary, "decisions": decided_samples(self.path)}
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
        decided = [_verdict(each.profile, each.passed, each.failed, each.undecided) for each in summary.decisions]
        notes = [f"without a number: {', '.join(silent)}"] if silent else []
        notes += [denominator_words(summary.denominator), *(f"left out: {error}" for error in self.broken)]
        return Table(
            {"metric": str, "scored": int, "mean [95 %]": str},
            [*rows],
            sentence="; ".join(decided) or f"{summary.samples} samples, none decided",
            notes=notes,
        )


def _verdict(profile: str, passed: int, failed: int, undecided: int) -> str:
    counts = {"passed": passed, "failed": failed, "could not be decided": undecided}
    return f"{profile}: {', '.join(f'{count} {words}' for words, count in counts.items() if count)}"


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
