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
    """Of what: "share of steps", "episodes"."""
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

    A row format gives `load` and `dump`: one JSON value in a file is one sample. A container (a database, an archive,
    a directory, one document with many samples) adds `open` and `save`; it keeps `load` and `dump` where it writes, as
    the loss of a conversion is measured by them. One that has `save` and no `dump` holds a run's header only: every
    sample of the run is a loss, for the reason that `lost["sample"]` gives.
    """

    name: str
    title: str
    """One line for tables."""
    spec: str
    """Where the format is described."""
    detect: Callable[[Head], str | None]
    """The version or variant when the input is of this format ("" if it cannot tell which), else None."""
    decode: Callable[[bytes | memoryview], Any] = decode_document
    """How the text of a row becomes what `load` takes: any JSON, or the row's own types (`wire.typed_rows`)."""
    load: Callable[[Any], Sample] | None = None
    """One decoded row to one sample; raises ReadError."""
    dump: Callable[[Sample, Any], Any] | None = None
    """One sample, with the writer's options, to one row; raises SampleRefused."""
    name_in_file: Callable[[str, Path], str] | None = None
    """The id of a sample, from the one that its row gives and the file that holds it: some tools name a task only in
    the name of its file."""
    open: Callable[[Path, OnBroken], Run] | None = None
    plan: Callable[[Path, Cutting], Iterable[Span]] | None = None
    """Where an input may be cut into spans that are read one by one; none: it is read as a whole. Rows that are lines
    are cut by the frame."""
    open_span: Callable[[Path, Span, OnBroken], Run] | None = None
    """The run of an input with the samples of one span only."""
    beside: Callable[[Path], Iterable[Path]] = lambda _: ()
    """Files and folders outside an input that `open` looks into; when one of them changes, the input is read again."""
    owner: Callable[[Path], Path | None] = lambda _: None
    """The input that a file is only a part of: the log of a sub-agent beside that of its session."""
    copy_of: Callable[[Path], Path | None] = lambda _: None
    """The input of which a file is a copy, whole or in part: in a directory only that one is read."""
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
    """A document of an older version as one of today's; the input is not changed."""
    options: type[Record] = NoOptions
    """The writer's options with their defaults; docstrings under the fields are the help."""
    layout: Layout = "lines"
    """How rows lie in a file when its name does not say; "document" and "log": one sample per file."""
    suffix: str = ".jsonl"
    """The usual ending of a file."""
    typed: bool = False
    """Whether it is decoded into the model's own types; what any other format reads is checked against them."""
    checks_itself: bool = False
    """Whether its reader puts no value where it does not belong, so that samples need no second look: a look at all of
    them costs as much as decoding."""
    nests: bool = False
    """Whether a sample holds the trajectories of its sub-agents; if not, they are written as samples of their own."""
    repeats: bool = False
    """Whether a case may stand in it several times under one id, as it was run several times: another session of it is
    no other case, and keeps the id."""
    once: bool = False
    """Whether it states cases, each of which stands in it once: of several epochs the first is written."""
    repairs: bool = False
    """Whether `dump` itself sets right what `check` would refuse, and says so (`wire.repairs`)."""
    corners: tuple[str, ...] = ()
    """Where a row has room for what the format cannot say (`wire.pantrace_key`): "metadata.pantrace"."""
    outside: tuple[str, ...] = ()
    """Notes on a file that `save` heeds, and that a row does not tell: "extra.inspect.summary". They are no losses."""
    lost: Mapping[str, str] = field(default_factory=dict)
    """Why a path of the model has no place here: "trajectory.steps[].usage" -> a reason."""
    reencoded: Mapping[str, str] = field(default_factory=dict)
    """Values of a source that the model holds in another form, and so are not found there as they are: a sum, another
    unit, a repetition. Path without numbers (`*` for anything) -> why nothing is lost."""
    stored: Mapping[str, StoredMeasure] = field(default_factory=dict)
    """What the numbers mean that files of it store for whole runs, in the order in which they are shown."""
    clusters: str | None = None
    """The stored count of what is independent: steps of one episode are not."""
    note: str = ""
    """A caveat for the tables: what was not verified."""

    @property
    def reads(self) -> bool:
        return self.load is not None or self.open is not None

    @property
    def is_split(self) -> bool:
        """Whether each sample is a file of its own."""
        return self.layout in ("document", "log") and self.save is None

    @property
    def writes(self) -> bool:
        return self.dump is not None or self.save is not None
