"""Census: how often a file says what, by path and value, to hold a file against its copy in the same format.

The model may say of both that they are equal: an empty list and none, 1 and 1.0, a default that was written out. Other
tools tell them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

from pantrace.errors import ReadError

from .json import decode
from .loss import Found


class Census:
    """Counts what comes through the door (`wire.tap`), each record once."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._places: set[Hashable] = set()

    def tell(self, place: Hashable, data: Any) -> None:
        if place in self._places:
            return
        self._places.add(place)
        if isinstance(data, (bytes, memoryview)):
            try:
                data = decode(data)
            except ReadError:
                return
        self.counts.update(_values(data, ""))


def changes(source: Census, written: Census) -> Iterator[Found]:
    """What a copy does not say as its source did, path by path. What it says beside that takes nothing away."""
    gone, new = source.counts - written.counts, written.counts - source.counts
    absent, added = Counter[str](), Counter[str]()
    for (path, _), count in gone.items():
        absent[path] += count
    for (path, _), count in new.items():
        added[path] += count
    for path in sorted(absent):
        changed = min(absent[path], added[path])
        if changed:
            yield Found(path, "changed", changed, before=_one(gone, path), after=_one(new, path))
        if absent[path] > changed:
            yield Found(path, "absent", absent[path] - changed, before=_one(gone, path))


def _one(counts: Counter[tuple[str, str]], path: str) -> str:
    """An example."""
    return next(value for place, value in counts if place == path)


def _values(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if value and isinstance(value, dict):
        for key, item in value.items():
            yield from _values(item, f"{path}.{key}" if path else key)
    elif value and isinstance(value, list):
        for item in value:
            yield from _values(item, f"{path}[]")
    elif value is not None:  # no tool tells null from nothing
        # 1 and 1.0, "1" and 1, an empty list and an empty text are different things here.
        yield path, repr(value)
