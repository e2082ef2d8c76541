"""Overview: sums up the scores of many samples, measure by measure, without keeping the samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pantrace.metrics.pooling import Sums
from pantrace.model import Aggregate, Measure, Score
from pantrace.stats.moments import Moments

from .measure import Chosen, Row, kind_of
from .reduce import REASONS, CaseMeans, Total, main_reason, total_of
from .stored_numbers import in_range


@dataclass
class Line:
    """The scores of one measure from one kind of maker."""

    measure: str
    """Its address."""
    kind: str
    known: Measure | None = None
    scored: int = 0
    not_applicable: int = 0
    unscored: int = 0
    """Not measured because of an error, or not judged."""
    means: CaseMeans = field(default_factory=CaseMeans)
    reasons: Counter[str] = field(default_factory=Counter)
    """Why it does not apply; only the first few different reasons, because a plugin may give a new one each time."""

    def count(self, row: Row, number: float | None, *, has_value: bool) -> None:
        """Add one score; without a number, its status is counted."""
        if has_value:
            self.scored += 1
        elif row.status in ("failed", "unscored"):
            self.unscored += 1
        else:
            self.not_applicable += 1
            if row.explanation and (row.explanation in self.reasons or len(self.reasons) < REASONS):
                self.reasons[row.explanation] += 1
        if number is not None:
            self.means.add(number, row.repeatable_case)

    def absorb(self, other: Line) -> None:
        """Add the counts of another part."""
        self.scored += other.scored
        self.not_applicable += other.not_applicable
        self.unscored += other.unscored
        self.means.absorb(other.means)
        for reason, count in other.reasons.items():
            if reason in self.reasons or len(self.reasons) < REASONS:
                self.reasons[reason] += count

    @property
    def main_reason(self) -> str:
        """The most frequent reason why it does not apply."""
        return main_reason(self.reasons) or ""


class Overview:
    """Lines in order of appearance, and totals over all samples."""

    def __init__(self, checks: Sequence[Chosen], *, whole: bool = False) -> None:
        self.lines: dict[tuple[str, str], Line] = {}
        self._metrics = {metric.name: metric for metric, _ in checks}
        self._sums = {metric.name: (0, Sums()) for metric, _ in checks}
        self._kept: dict[str, list[Score]] = {
            name: [] for name, metric in self._metrics.items() if whole and metric.aggregate is not None
        }

    def add(self, row: Row) -> None:
        """One score of one sample or turn."""
        kind = kind_of(row)
        metric = self._metrics.get(row.metric) if kind == "check" else None
        if metric is None:
            # A stored integer may be too long for a float.
            number = float(row.value) if in_range(row.value) else None
            self._line(row.metric, kind, None).count(row, number, has_value=row.status == "scored")
            return
        for measure in metric.measures:
            number = row.values.get(measure.name) if measure.name else _number(row.value)
            # The main measure always has a line; the others only if they have a number.
            if number is not None or measure is metric.main or (measure.address, kind) in self.lines:
                self._line(measure.address, kind, measure).count(row, number, has_value=number is not None)
        count, sums = self._sums[row.metric]
        sums.add(row.values)
        self._sums[row.metric] = count + 1, sums
        # Only if somebody needs aggregates over whole scores: memory grows with the samples.
        if row.metric in self._kept:
            self._kept[row.metric].append(
                Score(name=row.metric, value=row.value, status=row.status, values=row.values, details=row.details)  # type: ignore[arg-type]
            )

    def _line(self, address: str, kind: str, measure: Measure | None) -> Line:
        line = self.lines.get((address, kind))
        if line is None:
            line = self.lines[(address, kind)] = Line(address, kind, measure)
        return line

    def __getstate__(self) -> dict[str, Any]:
        """Sent without the metrics, because the other process may not have loaded the plugin; it can only be absorbed
        there."""
        return {**self.__dict__, "_metrics": {}}

    def absorb(self, other: Overview) -> None:
        """Add the counts of another part, measured by the same metrics."""
        for key, line in other.lines.items():
            self._line(*key, line.known).absorb(line)
        for name, (count, sums) in other._sums.items():
            mine, own = self._sums[name]
            own.absorb(sums)
            self._sums[name] = mine + count, own

    def add_all(self, rows: Iterable[Row]) -> Overview:
        for row in rows:
            self.add(row)
        return self

    def shown(self, wanted: Iterable[str]) -> Iterator[tuple[Line, Moments | None, Total | None]]:
        """Lines for a table: those requested by address, all of a metric requested by name, otherwise the headlines;
        each with its moments over cases and its total over all samples."""
        names = set(wanted)
        addresses = [measure.address for metric in self._metrics.values() for measure in metric.measures]
        place = {address: number for number, address in enumerate(addresses)}
        for line in sorted(self.lines.values(), key=lambda line: place.get(line.measure, len(place))):
            known = line.known
            if known is not None and not (known.headline if not names else {known.address, known.metric} & names):
                continue
            yield line, line.means.moments(), self._total(known)

    def _total(self, known: Measure | None) -> Total | None:
        if known is None:
            return None
        count, sums = self._sums[known.metric]
        return total_of(known, sums, count)

    def aggregates(self) -> list[Aggregate]:
        """The numbers over all samples that metrics define beyond their measures."""
        found: list[Aggregate] = []
        for name, scores in self._kept.items():
            if (aggregate := self._metrics[name].aggregate) is not None:
                found += aggregate(scores)
        return found


def _number(value: float | bool | str | None) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
