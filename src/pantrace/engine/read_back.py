"""Read back: a file that was written, opened as anybody would open it, before it gets its name.

Rows were weighed one by one as they were written (`engine.weigh`). Here the file as a whole is held against them: all
rows, in their order, under their ids, and saying what they said. A copy in the same format is held against its source
value by value as well.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pantrace.errors import ReadError, UnknownFormat, WriteError
from pantrace.formats import Format, detect
from pantrace.model import Sample
from pantrace.wire.align import Plain
from pantrace.wire.census import Census, changes
from pantrace.wire.json import decode, encode
from pantrace.wire.loss import Found, differences, plain, weight
from pantrace.wire.rows import raise_broken, read_rows
from pantrace.wire.tap import listening

from .read import open_run

Key = tuple[str, int | None]


class _Entry(NamedTuple):
    key: Key
    begin: int
    length: int


class ReadBack:
    """What the rows of a file say, kept outside memory until the file is whole."""

    def __init__(self) -> None:
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 -- `close` closes it
        self._entries: list[_Entry] = []
        self.census = Census()

    def close(self) -> None:
        self._spool.close()

    def add(self, sample: Plain) -> None:
        """A row, as it was read back alone."""
        data = encode(sample)
        self._entries.append(_Entry((sample["id"], sample.get("epoch")), self._spool.tell(), len(data)))
        self._spool.write(data)

    def of(self, files: list[Path], format_: Format) -> Iterator[Found]:
        """Open what was written, and say what it does not hold as its rows did; a WriteError when it cannot be read."""
        try:
            with listening(self.census.tell):
                if format_.open is None:
                    yield from self._count(files)
                elif format_.dump is not None:
                    yield from self._compare(_samples(files, format_))
        except ReadError as error:
            raise WriteError(f"what was written as {format_.name} cannot be read back: {error.message}") from None

    def against(self, source: Census) -> Iterator[Found]:
        """What is not as it was in a source of the same format."""
        return changes(source, self.census)

    def _count(self, files: list[Path]) -> Iterator[Found]:
        found = sum(1 for path in files for _ in read_rows(path, raise_broken))
        if found != len(self._entries):
            yield Found("sample", "absent", abs(len(self._entries) - found), before=f"{found} rows were read back")

    def _compare(self, samples: Iterator[Sample]) -> Iterator[Found]:
        keys: list[Key] = []
        for number, sample in enumerate(samples):
            keys.append((sample.id, sample.epoch))
            if number < len(self._entries) and self._entries[number].key == keys[-1]:
                yield from self._changed(self._entries[number], sample)
        meant = [entry.key for entry in self._entries]
        if keys == meant:
            return
        gone, new = Counter(meant) - Counter(keys), Counter(keys) - Counter(meant)
        for entry in self._entries:
            if gone[entry.key]:
                gone[entry.key] -= 1
                yield Found("sample", "absent", weight(self._said(entry)), before=entry.key[0])
        yield from (Found("sample", "added", note=str(key[0])) for key in new.elements())
        if Counter(keys) == Counter(meant):
            yield Found("sample", "moved", note="out of its order")

    def _said(self, entry: _Entry) -> Plain:
        self._spool.seek(entry.begin)
        found: Plain = decode(self._spool.read(entry.length))
        return found

    def _changed(self, entry: _Entry, sample: Sample) -> Iterator[Found]:
        after = plain(sample)
        self._spool.seek(entry.begin)
        if self._spool.read(entry.length) != encode(after):
            yield from differences(self._said(entry), after)


def _samples(files: list[Path], format_: Format) -> Iterator[Sample]:
    for path in files:
        yield from open_run(path, format_, "", raise_broken).samples


def same_variant(place: Path, format_: Format, variant: str | None) -> bool:
    """Whether a file is of the same shape as its source; only then they can be held against each other."""
    try:
        found = detect(place)
    except UnknownFormat:
        return False
    return found[0] is format_ and found[1] == (variant or "")
