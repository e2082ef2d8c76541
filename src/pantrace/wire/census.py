"""Census: how often a file says what, by path and value, to hold a file against its copy in the same format.

The model may say of both that they are equal: an empty list and none, 1 and 1.0, a default that was written out. Other
tools tell them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

from pantrace.errors import ReadError

from .found import Found
from .json import decode

Said = tuple[str, str, Any]
"""Path without numbers, type, value."""


class Census:
    """Counts what comes through the door (`wire.tap`), each record once."""

    def __init__(self) -> None:
        self.counts: Counter[Said] = Counter()
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
        # A list may be told as a whole or item by item, as its reader takes it; both say the same.
        for record in data if isinstance(data, list) else [data]:
            self.counts.update(_values(record))


def changes(source: Census, written: Census) -> Iterator[Found]:
    """What a copy does not say as its source did, path by path. What it says beside that takes nothing away."""
    gone, new = source.counts - written.counts, written.counts - source.counts
    absent, added = Counter[str](), Counter[str]()
    for (path, _, _), count in gone.items():
        absent[path] += count
    for (path, _, _), count in new.items():
        added[path] += count
    for path in sorted(absent):
        changed = min(absent[path], added[path])
        if changed:
            yield Found(path, "changed", changed, before=_one(gone, path), after=_one(new, path))
        if absent[path] > changed:
            yield Found(path, "absent", absent[path] - changed, before=_one(gone, path))


def _one(counts: Counter[Said], path: str) -> Any:
    """An example."""
    return next(value for place, _, value in counts if place == path)


def _values(value: Any) -> list[Said]:
    """Path, kind and value of everything but null, from which no tool tells nothing apart."""
    found: list[Said] = []
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, item = stack.pop()
        kind = type(item)
        if item and kind is dict:
            stack += [(f"{path}.{key}" if path else key, inner) for key, inner in item.items()]
        elif item and kind is list:
            inside = f"{path}[]"
            stack += [(inside, inner) for inner in item]
        elif item is not None:
            # 1 and 1.0, "1" and 1, an empty list and an empty text are different things here.
            found.append((path, kind.__name__, item if kind is not dict and kind is not list else ""))
    return found
