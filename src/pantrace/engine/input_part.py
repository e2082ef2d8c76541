"""Input part: a piece of an input that one worker reads by itself. What the parts are depends on the input alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice, pairwise
from pathlib import Path

from pantrace.errors import ReadError
from pantrace.formats import Format, by_name
from pantrace.model import Record, Run
from pantrace.places import Origin, is_mirrored, located, origin_of
from pantrace.wire import files
from pantrace.wire.input_cuts import Cutting
from pantrace.wire.input_span import Span
from pantrace.wire.rows import OnBroken, cut_rows

from .fingerprint import read_beside
from .read import UNFORESEEN, open_run
from .run_format import RUN_DIRECTORY


class InputPart(Record, frozen=True, kw_only=True):
    """A whole input, or one span of it: small enough to be sent between processes."""

    path: str
    """As people name it; `place` is where it is read."""
    format: str
    variant: str
    number: int = 0
    """Its place among the parts of the input."""
    is_last: bool = True
    span: Span | None = None
    """None: all of the input."""
    weight: int = 0
    """About how many bytes there are to read."""
    origin: Origin | None = None
    """Where a worker gets it from; None: from the disk, or a run directory that knows itself."""

    def place(self) -> Path:
        """Where it is on this machine; what is not here is fetched from its bucket."""
        return located(self.path, self.origin)

    @property
    def chosen(self) -> Format:
        """Its format."""
        return RUN_DIRECTORY if self.format == RUN_DIRECTORY.name else by_name(self.format)

    @property
    def words(self) -> str | None:
        """Which part it is, as a person would look for it; None of a whole input."""
        return None if self.span is None else f"part {self.number + 1}"


def parts_of(path: Path, chosen: Format, variant: str, cutting: Cutting) -> Iterator[InputPart]:
    """The parts of an input in the order of its samples, told as they are found: whoever reads the first need not wait
    until the last is known. One that cannot be cut is one part: whoever reads it says what is wrong with it."""
    spans = _spans(path, chosen, cutting)
    begun: list[Span] = []
    with suppress(ReadError, OSError, *UNFORESEEN):
        begun = [*islice(spans, 2)]
    whole = InputPart(
        path=str(path),
        format=chosen.name,
        variant=variant,
        weight=weight_of(path),
        origin=origin_of(path, read_beside(path, chosen)) if is_mirrored(path) else None,
    )
    if len(begun) < 2:
        yield whole
        return
    for number, (span, after) in enumerate(pairwise(chain(begun, _rest(path, spans), (None,)))):
        yield InputPart(
            path=whole.path,
            format=whole.format,
            variant=variant,
            number=number,
            is_last=after is None,
            span=span,
            weight=cutting.size,
            origin=whole.origin,
        )


def _spans(path: Path, chosen: Format, cutting: Cutting) -> Iterator[Span]:
    if chosen.plan is not None:
        yield from [*chosen.plan(path, cutting)]
    elif chosen.open is None and chosen.layout not in ("log", "document") and path.is_file():
        yield from cut_rows(path, cutting.size)


def _rest(path: Path, spans: Iterator[Span]) -> Iterator[Span]:
    try:
        yield from spans
    except OSError as error:
        raise files.read_error(path, error) from None


def weight_of(path: Path) -> int:
    """How many bytes an input has."""
    try:
        if path.is_dir():
            return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        return path.stat().st_size
    except OSError:
        return 0


def open_part(part: InputPart, on_broken: OnBroken) -> Run:
    """The run of an input with the samples of one part."""
    return open_run(part.place(), part.chosen, part.variant, on_broken, part.span)
