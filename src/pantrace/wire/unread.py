"""Unread: what a source says and no sample holds, found value by value.

While a file is read, all JSON that comes through the door is shown to a `Ledger`, beside the samples that the reader
makes of it. Texts and numbers of the source are looked for among those of the samples, whatever their place: a reader
may move a value, join it with others or use it as a key. What is nowhere was not read. True, false and null say too
little by themselves to be looked for.

A value that the model holds in another form (a sum, another unit, a repetition) is declared by the format, as path and
reason; the path has no numbers and may end in `*`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec

from pantrace.errors import ReadError

from .json import decode, encode
from .times import from_iso

Leaf = tuple[str, str | int | float]
"""Path without numbers, and the value there."""

LONG = 24
"""A text of so many letters is also found inside a longer one; a shorter one might be there by chance."""


class Unread(msgspec.Struct, frozen=True):
    """What a reader left out."""

    values: int
    """Texts and numbers that the source has."""
    missing: Counter[str]
    """Path without numbers -> how many of its values are in no sample, for no declared reason."""

    @property
    def count(self) -> int:
        return self.missing.total()


class Ledger:
    """Both sides of a reading. What is not found yet waits: a reader may look ahead."""

    def __init__(self, declared: Mapping[str, str]) -> None:
        self._declared = declared
        self._waiting: list[Leaf] = []
        self._values = 0

    def source(self, data: bytes | memoryview | str) -> None:
        """JSON that came through the door; anything else says nothing that could be looked for."""
        try:
            value = decode(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
        except ReadError:
            return
        for leaf in _leaves(value, ""):
            self._values += 1
            if not self.is_declared(leaf[0]):
                self._waiting.append(leaf)

    def model(self, record: Any) -> None:
        """A sample or a header that was made of it."""
        held = _Held()
        held.add(decode(encode(record)))
        self._waiting = [leaf for leaf in self._waiting if not held.holds(leaf[1])]

    def closed(self) -> Unread:
        """The balance."""
        return Unread(self._values, Counter(path for path, _ in self._waiting))

    def is_declared(self, path: str) -> bool:
        return _reason(path, tuple(self._declared)) is not None


@lru_cache(1 << 14)
def _reason(path: str, declared: tuple[str, ...]) -> str | None:
    return next((each for each in declared if each == path or fnmatchcase(path, each)), None)


def _leaves(value: Any, path: str) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        inside = f"{path}[]"
        for item in value:
            yield from _leaves(item, inside)
    elif isinstance(value, str):
        if value and not value.isspace():
            yield path, value
    elif value is not None and not isinstance(value, bool):
        yield path, value


class _Held:
    """The texts and numbers that records of the model hold."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self.numbers: set[int | float] = set()
        self._joined: str | None = None

    def add(self, value: Any) -> None:
        if isinstance(value, dict):
            self.texts.update(value)
            for item in value.values():
                self.add(item)
        elif isinstance(value, list):
            for item in value:
                self.add(item)
        elif isinstance(value, str):
            self.texts.add(value)
        elif value is not None and not isinstance(value, bool):
            self.numbers.add(value)

    def holds(self, value: str | int | float) -> bool:
        if not isinstance(value, str):
            # Milliseconds and other thousandths are seconds in the model.
            return value in self.numbers or value / 1000 in self.numbers or str(value) in self.texts
        return (
            value in self.texts or self._holds_as_time(value) or self._holds_inside(value) or self._holds_decoded(value)
        )

    def _holds_as_time(self, text: str) -> bool:
        return (at := from_iso(text)) is not None and at in self.numbers

    def _holds_inside(self, text: str) -> bool:
        if len(text) < LONG:
            return text.strip() in self.texts
        if self._joined is None:
            self._joined = "\x00".join(each for each in self.texts if len(each) >= LONG)
        return text in self._joined or text.strip() in self._joined

    def _holds_decoded(self, text: str) -> bool:
        """JSON inside a text may be held as the value that it says."""
        if text[:1] not in ("{", "["):
            return False
        try:
            value = decode(text.encode("utf-8", "surrogatepass"))
        except ReadError:
            return False
        return all(self.holds(leaf) for _, leaf in _leaves(value, ""))
