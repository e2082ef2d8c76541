"""Measure parts: what metrics find in them, as sums where a table is wanted, so that little has to be sent back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pantrace.model import Sample

from .fields import grouping
from .input_part import InputPart
from .measure import Chosen, Row, choose, kind_of, measure_samples, row
from .overview import Overview
from .pile_parts import PartNotes, PileTask


@dataclass(kw_only=True)
class PartMeasured(PartNotes):
    """What one part came to."""

    rows: list[Row] = field(default_factory=list)
    groups: dict[str | None, Overview] = field(default_factory=dict)
    """Instead of rows, where only sums are wanted."""
    without_turn: int = 0
    failed: dict[str, list[str]] = field(default_factory=dict)
    """Reasons why metrics could not be run, where there are no rows to tell them."""


@dataclass(kw_only=True)
class MeasureParts(PileTask):
    """The task of one measurement; metrics are loaded where they are used."""

    metrics: tuple[str, ...]
    settings: tuple[str, ...]
    plugins: tuple[Path, ...]
    by_turn: bool
    stored: bool
    """Whether scores that the samples bring are wanted, too."""
    by: str | None
    in_sums: bool

    @cached_property
    def checks(self) -> list[Chosen]:
        return choose(self.metrics, self.settings, self.plugins)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "checks"}

    def __call__(self, part: InputPart) -> Iterator[PartMeasured]:
        found = PartMeasured()
        self.read(part, found, partial(self._measure, found))
        yield found

    def _measure(self, found: PartMeasured, name: str, samples: Iterable[Sample]) -> None:
        group = grouping(self.by) if self.by is not None else lambda _: None
        seen, key, overview = None, None, Overview(())
        for sample, turn, scores in measure_samples(samples, self.checks, by_turn=self.by_turn):
            if sample is not seen:
                seen, key, found.samples = sample, group(sample), found.samples + 1
                if self.in_sums:
                    overview = found.groups.get(key) or Overview(self.checks)
                    found.groups[key] = overview
            found.without_turn += self.by_turn and turn is None
            rows = [row(name, sample, turn, score, key) for score in scores]
            for each in (*rows, *(row(name, sample, None, score, key) for score in self._brought(sample))):
                if not self.in_sums:
                    found.rows.append(each)
                    continue
                if each.status == "failed" and kind_of(each) == "check":
                    found.failed.setdefault(each.metric, []).append(each.explanation or "")
                if not each.details.get("labels"):
                    overview.add(each)

    def _brought(self, sample: Sample) -> Iterator[Any]:
        if self.stored:
            yield from (score for score in sample.scores if not self.metrics or score.name in self.metrics)
