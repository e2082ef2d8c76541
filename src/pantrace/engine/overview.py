"""Overview: what the scores of many samples come to, metric by metric, without keeping them whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from pantrace.model import Aggregate, Score

from .intervals import with_intervals
from .measure import Chosen, Row, kind_of
from .totals import Total, totals_of


@dataclass
class Line:
    """The scores of one metric that one kind of maker gave."""

    metric: str
    kind: str
    scored: int = 0
    not_applicable: int = 0
    unscored: int = 0
    """Could not be measured, or were not judged."""
    numbers: int = 0
    total: float = 0
    least: float = inf
    largest: float = -inf
    reasons: Counter[str] = field(default_factory=Counter)
    """Why it does not apply."""

    def add(self, row: Row) -> None:
        self.scored += row.status == "scored"
        self.not_applicable += row.status == "not_applicable"
        self.unscored += row.status in ("failed", "unscored")
        if row.status == "not_applicable":
            self.reasons[row.explanation or ""] += 1
        if isinstance(row.value, (int, float)):
            number = float(row.value)
            self.numbers += 1
            self.total += number
            self.least, self.largest = min(self.least, number), max(self.largest, number)

    @property
    def mean(self) -> float | None:
        """Of the values that are numbers; None where there is none."""
        return self.total / self.numbers if self.numbers else None

    @property
    def usual_reason(self) -> str:
        """The most frequent reason why it does not apply."""
        return self.reasons.most_common(1)[0][0] if self.reasons else ""


class Overview:
    """Lines in the order in which metrics come, and what the metrics themselves say of all samples together."""

    def __init__(self, checks: Sequence[Chosen], *, whole: bool = False) -> None:
        self.lines: dict[tuple[str, str], Line] = {}
        self._aggregated = {check.name: check for check, _ in checks}
        self._kept: dict[str, list[Score]] = {name: [] for name in self._aggregated}
        self._whole = {name for name, check in self._aggregated.items() if whole or not check.is_ours}
        """Metrics of which all details are kept; of others, only the numbers that sums and ratios of sums need."""

    def add(self, row: Row) -> None:
        kind = kind_of(row)
        line = self.lines.get((row.metric, kind))
        if line is None:
            line = self.lines[(row.metric, kind)] = Line(row.metric, kind)
        line.add(row)
        if kind == "check" and row.metric in self._kept:
            self._kept[row.metric].append(self._light(row))

    def add_all(self, rows: Iterable[Row]) -> Overview:
        for row in rows:
            self.add(row)
        return self

    def _light(self, row: Row) -> Score:
        details = row.details
        if row.metric not in self._whole:
            details = {name: value for name, value in details.items() if type(value) in (int, float)}
        return Score(name=row.metric, value=row.value, status=row.status, values=row.values, details=details)  # type: ignore[arg-type]

    def aggregates(self) -> list[Aggregate]:
        """The numbers over all samples that the metrics themselves define."""
        found: list[Aggregate] = []
        for name, check in self._aggregated.items():
            if check.aggregate is not None:
                found += with_intervals(check.aggregate(self._kept[name]), self._kept[name])
        return found

    def together(self) -> dict[str, tuple[Total, ...]]:
        """The same as tables tell it, by metric: without intervals, and with how many samples have no number."""
        return {name: totals_of(check, self._kept[name]) for name, check in self._aggregated.items()}
