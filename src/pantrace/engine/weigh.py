"""Weigh: what of a run the files that were written say, read back as anybody would read them, before they get a name.

Three readings are held against each other: the sample, what was written for it, and that as the target's own tools see
it (without the corners that only pantrace reads). What the second lacks of the first is lost; what the third lacks of
the second is kept for pantrace alone. Both are weighed by values, so that an absent step weighs what it held, for every
target alike.

A row of a row format is read back as soon as it is encoded. Of a container only the whole file tells: samples wait
outside memory until it is written. Then all of them must be there, in their order and under their ids.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pantrace.errors import ReadError, UnknownFormat, WriteError
from pantrace.formats import Format, detect
from pantrace.model import Loss, RunHeader, Sample, Trajectory, all_trajectories
from pantrace.wire.align import Plain
from pantrace.wire.compare import compare, is_same
from pantrace.wire.found import MISSING, Counted, Found, Listed, common_weight, weights
from pantrace.wire.json import as_builtins, decode_document, decode_own, encode
from pantrace.wire.limits import any_record_size
from pantrace.wire.loss import (
    as_loss,
    header_differences,
    header_losses,
    plain_header,
    plain_without_source,
    reason,
    without_source,
)
from pantrace.wire.output_row import Row
from pantrace.wire.pantrace_key import CARRIER, carried_ignored, without_carried
from pantrace.wire.read_listener import listening
from pantrace.wire.rows import Seal, count_rows, is_sealed, raise_broken
from pantrace.wire.value_census import Census, changes

from .balance import Balance
from .loss_report import Report
from .read import open_run

Key = tuple[str, int | None]
OnLoss = Callable[[Loss], None]
UNSEEN: Plain = {}
"""What the target's own tools see of a row that they could not read at all."""


class _Waiting(NamedTuple):
    """A sample that is outside memory, and what the target's own tools see of it; None: all."""

    key: Key
    begin: int
    length: int
    seen: int | None
    """The length of what is seen, behind the sample."""


class Scales:
    """Takes rows as they are written, then the files that they became."""

    def __init__(
        self, format_: Format, report: Report, lose: Callable[[Loss], None], *, on_loss: Callable[[Loss], None] | None
    ) -> None:
        self._format = format_
        self._report = report
        self._lose = lose
        self._on_loss = on_loss
        self._full = on_loss is not None
        """Whether losses are told with their values."""
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 -- `close` closes it
        self._waiting: list[_Waiting] = []
        self._rows = 0
        self.seals: dict[Path, Seal] = {}
        """What was written to files of rows. Their rows are read back as they are encoded; that these bytes have come
        to the disk is seen from a checksum."""
        self._is_container = format_.open is not None and format_.save is not None
        self._lost, self._hidden = Counted(), Counted()
        """What was lost (where it is not told with its values) and what is kept for pantrace only, of all samples."""
        # Nothing that was just encoded has a key twice.
        self._decode = decode_own if format_.decode is decode_document else format_.decode
        self._marks = [encode(corner.rpartition(".")[2].replace("[]", CARRIER)) for corner in format_.corners]
        """What a row without anything in its corners has nowhere in its bytes."""

    def close(self) -> None:
        self._spool.close()

    def add(self, row: Row) -> None:
        """A row, before it is written: its bytes are read as they will be read from the file."""
        format_, sample = self._format, row.sample
        if format_.load is None:
            return
        before = self._said(sample)
        self._report.values += common_weight(before)
        self._rows += 1
        is_carrying = any(mark in row.data for mark in self._marks)
        seen = self._seen(decode_own(row.data)) if is_carrying else None
        if self._is_container:
            self._spool_away((sample.id, sample.epoch), encode(before), None if seen is None else encode(seen))
            return
        try:
            after = format_.load(self._decode(row.data))
        except ReadError as error:
            raise self._unreadable(f"sample {sample.id}: ", error) from None
        self._settle(sample.id, before, as_builtins(without_source(after)), seen)

    def add_header(self, header: RunHeader, written: RunHeader, place: Path, *, carry: bool) -> None:
        """The header of a run: what the file lacks of it that was written, and what is there for pantrace only."""
        format_, report = self._format, self._report
        if not (before := plain_header(header)):
            return
        report.values += common_weight(before)
        # A format that writes no whole runs has no place for any value of a header.
        none = {} if format_.save is not None else {"run": f"{format_.name} holds samples, and nothing about the run"}
        for loss in header_losses(header, written, {**none, **format_.lost}, format_.name):
            if not loss.path.startswith(format_.outside):
                self._lose(loss)
        if not carry or format_.save is None or format_.open is None:
            return
        with carried_ignored(), any_record_size():
            seen = open_run(place, format_, "", raise_broken)
        for each in header_differences(written, seen):
            if each.what in MISSING and not each.path.startswith(format_.outside):
                report.carry(each.path, each.values, each.own)
                self._tell_hidden(None, each)

    def _said(self, sample: Sample) -> Plain:
        """A sample as plain values. Who measured its reading has these already, unless the sample has been changed
        since."""
        source = self._report.notes.unread
        if source is not None and source.last is not None and source.last[0] is sample:
            return plain_without_source(source.last[1])
        found: Plain = as_builtins(without_source(sample))
        return found

    def add_files(self, files: list[Path], source: Balance | None) -> None:
        """The files as a whole; `source` has counted what they are a copy of, if they are one."""
        written = Census()
        is_copy = source is not None and source.census is not None and not self._report.renamed
        try:
            with listening(written.tell if is_copy else None):
                if self._waiting:
                    self._compare(files)
                else:
                    self._count(files)
        except ReadError as error:
            raise self._unreadable("", error) from None
        self.tell_counts()
        if source is not None and source.census is not None and is_copy and self._is_same_shape(files[0], source):
            self._tell(changes(source.census, written), "the copy differs from its source here")

    def _seen(self, written: Any) -> Plain:
        """A row as the target's own tools read it."""
        assert self._format.load is not None
        try:
            found: Plain = as_builtins(
                without_source(self._format.load(without_carried(written, self._format.corners)))
            )
        except (ReadError, KeyError, TypeError, ValueError, AttributeError):
            return UNSEEN
        return found

    def _settle(self, name: str, before: Plain, after: Plain, seen: Plain | None) -> None:
        """Count what `after` lacks of what was said before, and what those lack of it who only see `seen`."""
        if not (before is after or is_same(before, after)):
            out = Listed() if self._full else self._lost
            compare("", before, after, out)
            self._lost.weigh_gone()
            for each in out.found:
                self._lose(as_loss(each, self._format.lost, self._format.name, name))
        if seen == UNSEEN:
            self._report.carry("sample", *weights(after))
            self._tell_hidden(name, Found("sample", "absent", weights(after)[0]))
        # Read against what is left of the sample, and not against the sample: what is lost is not looked for again.
        elif seen is not None and not is_same(seen, after):
            carried = Listed() if self._full else Counted()
            compare("", after, seen, carried)
            is_own = f'"{self._format.name}":'.encode() in encode(before)
            made_up = None if is_own else f"extra.{self._format.name}"
            for each in carried.counted():
                if made_up is not None and made_up in each.path:
                    continue  # a note of the target's reader on what its writer had to invent
                if each.what in MISSING and not each.path.startswith(self._format.outside):
                    self._hidden.add(each.path, each.what, each.values, each.own)
                    self._tell_hidden(name, each)

    def _tell_hidden(self, name: str | None, found: Found) -> None:
        """What is kept for pantrace only is not lost, but whoever asks for a list wants to see it."""
        if self._on_loss is not None:
            why = f"kept under a `pantrace` key, which the tools of {self._format.name} do not read"
            told = Loss(sample=name, path=found.path, what="kept only for pantrace", why=why, values=found.values)
            self._on_loss(told)

    def tell_counts(self) -> None:
        """What was only counted, of all samples together."""
        for (path, what, part), (values, own) in self._lost.counts().items():
            why = reason(path, self._format.lost, self._format.name, what)
            self._lose(Loss(path=path, what=what, why=why, values=values, own=own, part=part))
        for (path, _, _), (values, own) in self._hidden.counts().items():
            self._report.carry(path, values, own)

    def _compare(self, files: list[Path]) -> None:
        found: list[Key] = []
        for number, sample in enumerate(self._samples(files)):
            found.append((sample.id, sample.epoch))
            if number < len(self._waiting):
                self._compare_spooled(self._waiting[number], encode(without_source(sample)))
        if len(found) == len(self._waiting):
            return  # another order, other ids: the samples themselves have told
        gone = Counter(each.key for each in self._waiting) - Counter(found)
        new = Counter(found) - Counter(each.key for each in self._waiting)
        lost = [Found("sample", "absent", before=key[0]) for key in gone.elements()]
        self._tell([*lost, *(Found("sample", "added", note=key[0]) for key in new.elements())], _WHOLE)

    def _compare_spooled(self, meant: _Waiting, after: bytes) -> None:
        before, seen = self._spooled(meant)
        if before == after and (seen is None or seen == after):
            return
        there = decode_own(after)
        said = there if before == after else decode_own(before)
        self._settle(meant.key[0], said, there, None if seen is None else decode_own(seen))

    def _count(self, files: list[Path]) -> None:
        for path in files:
            if path in self.seals and not is_sealed(path, self.seals[path]):
                raise WriteError(f"{path.name}: the file on disk is not what was written; is the disk damaged?")
        counts = [count_rows(path) for path in files]
        found = len(counts) if self._format.is_split else sum(counts)
        if found != self._rows and self._format.open is None:
            self._tell([Found("sample", "absent", abs(self._rows - found), before=f"{found} rows")], _WHOLE)
        if len(files) > 1:
            self._look_inside(files)

    def _look_inside(self, files: list[Path]) -> None:
        """Files that are read as parts of others, as those of sub-agents are, must be found in these."""
        owners = {path: main for path in files if (main := self._format.owner(path)) in {*files}}
        held: dict[Path, set[str | None]] = {}
        for path in owners:
            main = _first_owner(path, owners)
            if main is not None and main not in held:
                held[main] = {each.id for each in self._trajectories(main)}
            if main is None or not {each.id for each in self._trajectories(path)} <= held[main]:
                for sample in self._samples([path]):
                    values, own = weights(as_builtins(without_source(sample)))
                    self._lose(
                        Loss(sample=sample.id, path="sample", what="absent", why=_INSIDE, values=values, own=own)
                    )

    def _trajectories(self, path: Path) -> Iterator[Trajectory]:
        for sample in self._samples([path]):
            if sample.trajectory is not None:
                yield from all_trajectories(sample.trajectory)

    def _samples(self, files: list[Path]) -> Iterator[Sample]:
        for path in files:
            yield from open_run(path, self._format, "", raise_broken).samples

    def _spool_away(self, key: Key, before: bytes, seen: bytes | None) -> None:
        self._waiting.append(_Waiting(key, self._spool.tell(), len(before), None if seen is None else len(seen)))
        self._spool.write(before + (seen or b""))

    def _spooled(self, meant: _Waiting) -> tuple[bytes, bytes | None]:
        self._spool.seek(meant.begin)
        return self._spool.read(meant.length), None if meant.seen is None else self._spool.read(meant.seen)

    def _tell(self, found: Iterator[Found] | list[Found], why: str) -> None:
        for each in found:
            told = each.text() if self._full else each.what
            self._lose(Loss(path=each.path, what=told, why=why, values=each.values))

    def _unreadable(self, which: str, error: ReadError) -> WriteError:
        return WriteError(f"{which}what was written as {self._format.name} cannot be read back: {error}")

    def _is_same_shape(self, file: Path, source: Balance) -> bool:
        """Only then source and copy can be held against each other value by value."""
        try:
            found, variant = detect(file)
        except UnknownFormat:
            return False
        return found is self._format and variant == (source.variant or "")


def _first_owner(path: Path, owners: dict[Path, Path]) -> Path | None:
    """The file that is read in place of this one and of all between them; None if they own each other."""
    for _ in owners:
        if path not in owners:
            return path
        path = owners[path]
    return path if path not in owners else None


_WHOLE = "the whole file does not contain it"
_INSIDE = "its file is read as a part of another file, which does not show it"
