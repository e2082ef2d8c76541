"""Check parts: what rules find in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pantrace.model import Sample, Score
from pantrace.rules import RuleFile, load_rules

from .check import CheckReport, run_rules
from .input_part import InputPart
from .measure import Chosen, load_plugins
from .pile_parts import PartNotes, PileTask


@dataclass(kw_only=True)
class PartChecked(PartNotes):
    """What one part came to."""

    sessions: list[tuple[Sample, list[Score]]] = field(default_factory=list)
    tools_seen: dict[str, set[str]] = field(default_factory=dict)


@dataclass(kw_only=True)
class CheckParts(PileTask):
    """The task of one check; rules and plugins are loaded where they are used."""

    rules: tuple[str, ...]
    plugins: tuple[Path, ...]

    @cached_property
    def loaded(self) -> tuple[list[RuleFile], list[Chosen]]:
        own = load_plugins(self.plugins)
        return [load_rules(name) for name in self.rules], [(each, each.settings()) for each in own.values()]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "loaded"}

    def __call__(self, part: InputPart) -> Iterator[PartChecked]:
        found = PartChecked()
        self.read(part, found, partial(self._check, found))
        yield found

    def _check(self, found: PartChecked, name: str, samples: Iterable[Sample]) -> None:
        report = run_rules(samples, *self.loaded, CheckReport(inputs=[name]))
        found.sessions, found.tools_seen, found.samples = report.sessions, report.tools_seen, len(report.sessions)
