"""What is shown: runs and their samples, as whoever reads them hands them to the viewer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pantrace.model import Decision, RunHeader, Sample


@dataclass(frozen=True)
class ShownSample:
    """A sample with all its scores, and how it was decided."""

    sample: Sample
    decisions: tuple[Decision, ...] = ()
    made: int = 0
    """How many of its scores, the last ones, the evaluation made; the others came with the recording."""


@dataclass(frozen=True)
class Plot:
    """A picture of numbers."""

    title: str
    svg: bytes


@dataclass
class ShownRun:
    """One run. Its samples are read once, while it is packed."""

    name: str
    header: RunHeader
    samples: Iterable[ShownSample]
    path: str = ""
    measures: Sequence[dict[str, Any]] = ()
    """Numbers over all samples: name, value, low, high, n, method, better, unit, scored, not_applicable, unscored."""
    decisions: Sequence[dict[str, Any]] = ()
    """How the samples were decided, by profile: passed, failed, undecided, rate, reasons."""
    plots: Sequence[Plot] = ()
    notes: list[str] = field(default_factory=list)
    """What a reader must know; may grow while the samples are read."""
    roots: tuple[Path, ...] = ()
    """Folders in which pictures that recordings name may lie; others are never opened."""
    live: bool = False
    """An evaluation is writing it at this moment."""


@dataclass(frozen=True)
class Comparison:
    """Two runs held against each other, by their places in the list of runs."""

    first: int
    second: int
    rows: Sequence[dict[str, Any]]
    """One for each metric, as `pantrace compare --json` prints them."""
    plots: Sequence[Plot] = ()


@dataclass
class Shown:
    """All that one report or one server shows."""

    title: str
    runs: Sequence[ShownRun]
    compare: Callable[[], Sequence[Comparison]] = lambda: ()
    """Asked when all runs have been read."""
    plots: Callable[[], Sequence[Plot]] = lambda: ()
    notes: list[str] = field(default_factory=list)
