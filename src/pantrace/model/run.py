"""Run and sample: a set of recordings, and one of them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from .case import Case
from .record import DatetimeView, Extra, Record, Seconds
from .score import Aggregate, Score
from .trajectory import Source, Trajectory


def _in_a_terminal(shown: Sample | Run) -> Any:
    return import_module("pantrace.library.terminal").rich_view(shown)


def _in_a_notebook(shown: Sample | Run) -> str:
    # Imported by name at run time: `library` is a layer above this one, so a plain import would break the layers.
    return str(import_module("pantrace.library.notebook").html_of(shown))


class Sample(Record, frozen=True, kw_only=True):
    """The unit that is measured, judged and decided."""

    id: str
    epoch: int | None = None
    """1-based repetition of the same case."""
    case: Case | None = None
    trajectory: Trajectory | None = None
    """What the agent did; None for a case that has not been run."""
    expected: Trajectory | None = None
    """The reference: a golden run, expected invocations, the ground-truth episode."""
    scores: tuple[Score, ...] = ()
    extra: Extra = {}

    _repr_html_ = _in_a_notebook
    __rich__ = _in_a_terminal


# Separate from Run: it is compared, stored and sent to workers, none of which must iterate over the samples.
class RunHeader(Record, frozen=True, kw_only=True):
    """A run without its samples."""

    id: str | None = None
    name: str | None = None
    created: Seconds | None = None
    task: str | None = None
    agent: str | None = None
    model: str | None = None
    config: dict[str, Any] = {}
    dataset: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    """packages, device, gpu, memory."""
    checkpoint: str | None = None
    results: tuple[Aggregate, ...] = ()
    """Aggregates as the file stores them."""
    status: str | None = None
    source: Source | None = None
    extra: Extra = {}

    created_datetime = DatetimeView("created")


class Run(RunHeader, frozen=True, kw_only=True):
    """One evaluation run or one set of recordings. Samples are read while you iterate, one at a time."""

    samples: Iterable[Sample] = ()

    _repr_html_ = _in_a_notebook
    __rich__ = _in_a_terminal

    def __repr__(self) -> str:
        names = [name for name in ("name", "task", "agent", "model", "status") if getattr(self, name)]
        return f"<Run {', '.join(f'{name}={getattr(self, name)!r:.60}' for name in names)}; iterate over .samples>"


def header_of(run: RunHeader) -> RunHeader:
    """A run without its samples."""
    # Field by field: converting the whole run would read all of its samples.
    return RunHeader(**{name: getattr(run, name) for name in RunHeader.__struct_fields__})


def with_samples(header: RunHeader, samples: Iterable[Sample]) -> Run:
    """A run with this header and these samples."""
    return Run(**{name: getattr(header, name) for name in RunHeader.__struct_fields__}, samples=samples)
