"""The Format record, by which a format describes itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pantrace.model import Record, Run, RunHeader, Sample, Scale, Violation
from pantrace.wire.claimed_files import Claim
from pantrace.wire.head import Head
from pantrace.wire.input_cuts import Cutting
from pantrace.wire.input_span import Span
from pantrace.wire.json import decode_document
from pantrace.wire.output_row import Row
from pantrace.wire.rows import Layout, OnBroken


class StoredMeasure(Record, frozen=True, kw_only=True):
    """What a format says about a number that its files store for whole runs."""

    kind: Literal["share", "mean", "count"]
    """share: successes of trials; mean: of some measure; count: a size, which is summed and never averaged."""
    of: str | None = None
    """The stored count that is its denominator."""
    unit: str = ""
    """What is counted or averaged: "share of steps", "episodes"."""
    scale: Scale | None = None

    @property
    def bounds(self) -> Scale | None:
        """The limits of its values; no count is below 0."""
        return Scale(low=0.0) if self.scale is None and self.kind == "count" else self.scale


class NoOptions(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of a writer that has none."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """Everything pantrace needs to know about a format.

    A row format provides `load` and `dump`: one JSON value in a file is one sample. A container (a database, an
    archive, a directory, one document with many samples) adds `open` and `save`; if it can be written, it still needs
    `load` and `dump`, because they are used to measure the loss of a conversion. A format with `save` but no `dump`
    holds a run's header only: every sample of the run is a loss, for the reason in `lost["sample"]`.
    """

    name: str
    title: str
    """One line for tables."""
    spec: str
    """Where the format is described."""
    # Functions stand in fields, not in a class to inherit from: a format is a module, and what it lacks is None.
    detect: Callable[[Head], str | None]
    """The version or variant when the input is of this format ("" if it cannot tell which), else None."""
    decode: Callable[[bytes | memoryview], Any] = decode_document
    """How the text of a row becomes what `load` takes: any JSON, or the row's own types (`wire.typed_rows`)."""
    load: Callable[[Any], Sample] | None = None
    """One decoded row to one sample; raises ReadError."""
    dump: Callable[[Sample, Any], Any] | None = None
    """One sample, with the writer's options, to one row; raises SampleRefused."""
    name_in_file: Callable[[str, Path], str] | None = None
    """The id of a sample, made from the id in its row and the path of its file: some tools name a task only in the
    file's name."""
    open: Callable[[Path, OnBroken], Run] | None = None
    plan: Callable[[Path, Cutting], Iterable[Span]] | None = None
    """Where an input may be cut into spans that are read one by one; if None, it is read as a whole. Rows that are
    lines need no plan: the frame cuts them."""
    open_span: Callable[[Path, Span, OnBroken], Run] | None = None
    """The run of an input with the samples of one span only."""
    beside: Callable[[Path], Iterable[Path]] = lambda _: ()
    """Files and folders outside an input that `open` also reads; when one of them changes, the input is read again."""
    owner: Callable[[Path], Path | None] = lambda _: None
    """The input that a file is only a part of, such as the log of a sub-agent beside that of its session."""
    copy_of: Callable[[Path], Path | None] = lambda _: None
    """The input that a file copies, in whole or in part: in a directory only that input is read."""
    claim: Callable[[Path], Claim] | None = None
    """Which files of a directory that `detect` takes belong to it; None: all of them."""
    save: Callable[[RunHeader, Iterable[Row], Path, Any], None] | None = None
    """Write a header and the rows of its samples to a file that appears only when all of it is written
    (`wire.output.writing`); rows come one by one."""
    check: Callable[[Any], Iterable[Violation]] | None = None
    """Every violation of one decoded row."""
    validate: Callable[[Path], Iterable[Violation]] | None = None
    """Every violation of a container."""
    migrate: Callable[[Any], Any] | None = None
    """Turns a document of an older version into one of the current version; the input is not changed."""
    options: type[Record] = NoOptions
    """The writer's options with their defaults; docstrings under the fields are the help."""
    layout: Layout = "lines"
    """How rows lie in a file when its name does not say; "document" and "log": one sample per file."""
    stands_alone: Callable[[Any], bool] | None = None
    """Of a format with one document per file: whether a record is a whole document. Datasets have many of them in one
    file, as lines or as an array; each of them then is a sample."""
    suffix: str = ".jsonl"
    """The usual ending of a file."""
    typed: bool = False
    """Whether rows are decoded into the model's own types. The samples of all other formats are checked against them
    after reading."""
    checks_itself: bool = False
    """Whether its reader checks types itself, so that samples need no second check: that would cost as much as
    decoding."""
    nests: bool = False
    """Whether a sample holds the trajectories of its sub-agents; if not, they are written as samples of their own."""
    repeats: bool = False
    """Whether a case that was run several times may occur several times under one id: another session of the case
    keeps the id."""
    once: bool = False
    """Whether it holds cases, each only once: if a case has several epochs, the first is written."""
    repairs: bool = False
    """Whether `dump` itself repairs what `check` would refuse, and reports it (`wire.repairs`)."""
    corners: tuple[str, ...] = ()
    """Where a row has room for data that the format has no field for (`wire.pantrace_key`): "metadata.pantrace"."""
    outside: tuple[str, ...] = ()
    """Notes on a whole file that `save` uses and that no row contains, such as "extra.inspect.summary". They do not
    count as lost."""
    lost: Mapping[str, str] = field(default_factory=dict)
    """Why a path of the model has no place here: "trajectory.steps[].usage" -> a reason."""
    reencoded: Mapping[str, str] = field(default_factory=dict)
    """Values of a source that the model holds in another form (a sum, another unit, a repetition), so that a search for
    the same value does not find them. Path without numbers (`*` for anything) -> why nothing is lost."""
    stored: Mapping[str, StoredMeasure] = field(default_factory=dict)
    """The meaning of the numbers that its files store for whole runs, in the order in which they are shown."""
    clusters: str | None = None
    """The stored count of independent units. Steps of one episode are not independent, episodes are."""
    note: str = ""
    """A caveat for the tables: what was not verified."""

    @property
    def reads(self) -> bool:
        return self.load is not None or self.open is not None

    def holds_several(self, path: Path) -> bool:
        """Whether a file has several of the documents of which there usually is one per file."""
        return self.stands_alone is not None and path.is_file() and Head(path).holds_several(self.stands_alone)

    @property
    def is_split(self) -> bool:
        """Whether each sample is a file of its own."""
        return self.layout in ("document", "log") and self.save is None

    @property
    def writes(self) -> bool:
        return self.dump is not None or self.save is not None
