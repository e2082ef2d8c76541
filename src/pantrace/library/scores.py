"""Scores: the results of metrics or judges for samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pantrace.engine.measure import COLUMNS, Chosen, Row, kind_of, only_measures
from pantrace.engine.overview import Overview
from pantrace.engine.reduce import total_words
from pantrace.engine.table import Table, Tabular
from pantrace.errors import ReadError
from pantrace.metrics import ALIASES, measure_named
from pantrace.model import in_words
from pantrace.wire.plural import few

_COLUMNS: dict[str, type] = {
    "run": str,
    "sample": str,
    "case": str,
    "epoch": int,
    "turn": int,
    "metric": str,
    "value": float,
    "text": str,
    "unit": str,
    "status": str,
    "explanation": str,
    "passed": bool,
    "threshold": float,
    "maker": str,
}


@dataclass(repr=False)
class Scores(Tabular):
    """Scores of samples or of their turns; iterate over them, or get a table with one row for each number."""

    measured: list[Row]
    """One for each metric and sample."""
    metrics: Sequence[Chosen] = ()
    """The metrics that were measured."""
    wanted: Sequence[str] = ()
    """Metrics and measures that the caller named."""
    broken: list[ReadError] = field(default_factory=list)
    """Records that could not be read and are left out."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the reader: references without a run, metrics that could not be run."""
    judging: dict[str, Any] | None = None
    """For judges: calls, tokens, cost, and why scores are missing."""

    @property
    def rows(self) -> list[Row]:
        """The scores that the caller named: a metric with all its measures, a named measure alone."""
        return [*only_measures(self.measured, self.wanted)] if self.wanted else self.measured

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """All scores in full; for judges with a summary, as `pantrace judge --json` prints them. `measure --json`
        prints the list alone."""
        names = COLUMNS
        scores = [{name: getattr(each, name) for name in names} for each in self.rows]
        return {"scores": scores} if self.judging is None else {"summary": self.judging, "scores": scores}

    def table(self) -> Table:
        """One row for each number: a metric with several measures has a row for each of them. `value` is the number
        (1 and 0 for true and false), `text` a value that is not a number."""
        return Table(_COLUMNS, [line for each in self.rows for line in _lines(each)], notes=self._remarks())

    def overview(self) -> Table:
        """One row for each measure: the mean over cases, and the pooled value over all samples."""
        # Stored results for a subset (with labels) are no samples' scores, and would distort the mean.
        found = Overview(self.metrics).add_all(each for each in self.measured if not each.details.get("labels"))
        rows, silent = [], []
        # Aliases (cost, tokens) stand for the full address.
        for line, moments, total in found.shown(
            [*self.wanted, *(ALIASES[name] for name in self.wanted if name in ALIASES)]
        ):
            unit = line.known.unit if line.known is not None else None
            if moments is None or moments.lowest is None or moments.highest is None:
                silent.append(line.measure)
                continue
            ends = [in_words(number, unit) for number in (moments.mean, moments.lowest, moments.highest)]
            rows.append((line.measure, line.scored, *ends, total_words(total, unit, briefly=True)))
        columns = {"metric": str, "scored": int, "mean": str, "lowest": str, "highest": str, "pooled": str}
        samples = len({(each.run, each.sample, each.epoch) for each in self.measured if each.sample is not None})
        without = [f"without a number: {', '.join(silent)}"] if silent else []
        sentence = f"{few(samples, 'sample')}, {few(len(rows), 'measure')} with a number"
        return Table(columns, [*rows], sentence=sentence, notes=[*without, *self._remarks()])

    def _remarks(self) -> list[str]:
        return [*self.notes, *(f"left out: {error}" for error in self.broken)]


def _lines(row: Row) -> Iterator[tuple[Any, ...]]:
    """A line for each number of a score."""
    numbers: Iterable[tuple[str, Any]] = (
        [(f"{row.metric}.{name}", number) for name, number in row.values.items()]
        if row.values
        else [(row.metric, row.value)]
    )
    ours = kind_of(row) == "check"
    for address, value in numbers:
        known = measure_named(address) if ours else None
        is_number = isinstance(value, (int, float))
        # A scored metric may have a measure without a number: that one does not apply.
        missing = "not_applicable" if row.status == "scored" else row.status
        yield (
            row.run,
            row.sample,
            row.case,
            row.epoch,
            row.turn,
            address,
            float(value) if is_number else None,
            None if is_number or value is None else str(value),
            known.unit if known is not None else None,
            row.status if value is not None else missing,
            row.explanation,
            row.passed,
            row.threshold,
            kind_of(row),
        )
