"""What the viewer shows: runs and their samples, as the engine passes them in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pantrace.model import Decision, RunHeader, Sample


@dataclass(frozen=True)
class ShownSample:
    """A sample with all its scores and its decisions."""

    sample: Sample
    decisions: tuple[Decision, ...] = ()
    made: int = 0
    """How many of its last scores the evaluation made; the others came with the recording."""


@dataclass(frozen=True)
class Plot:
    """A chart."""

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
    """Remarks for the reader of the page; may grow while the samples are read."""
    roots: tuple[Path, ...] = ()
    """Folders that may contain the recordings' pictures; others are never opened."""
    live: bool = False
    """Whether an evaluation is still writing it."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs, which are given by their places in the list of runs."""

    first: int
    second: int
    rows: Sequence[dict[str, Any]]
    """One for each metric, as `pantrace compare --json` prints them."""
    plots: Sequence[Plot] = ()


@dataclass
class Shown:
    """Everything that one report or one server shows."""

    title: str
    runs: Sequence[ShownRun]
    compare: Callable[[], Sequence[Comparison]] = lambda: ()
    """Called when all runs have been read."""
    plots: Callable[[], Sequence[Plot]] = lambda: ()
    notes: list[str] = field(default_factory=list)
