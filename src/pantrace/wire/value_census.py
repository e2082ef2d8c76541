"""A count of values by path, to compare a file with its copy in the same format.

The model may say of both that they are equal: an empty list and none, 1 and 1.0, a default that was written out. Other
tools tell them apart.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from hashlib import blake2b
from itertools import zip_longest
from types import NoneType
from typing import Any

from pantrace.errors import ReadError

from .found import Found
from .json import decode, encode_sorted
from .part_order import Order
from .table_row import TableRow, row_values

ValueAt = tuple[str, str, Any]
"""Path without numbers, type, value."""


class Census:
    """Collects every record that is read (`wire.read_listener`), each once."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        """As they came: text or value."""
        self._places: set[Hashable] = set()

    def tell(self, place: Hashable, data: Any) -> None:
        if place not in self._places:
            self._places.add(place)
            self.records.append(bytes(data) if isinstance(data, memoryview) else data)


def _values_of(records: list[Any]) -> Iterator[Any]:
    """The records' values. A list may be reported as a whole or item by item; both count the same."""
    for data in records:
        try:
            value = decode(data) if isinstance(data, bytes) else data
        except ReadError:
            continue
        if isinstance(value, TableRow):
            yield from row_values([value])
        else:
            yield from value if isinstance(value, list) else [value]


def changes(source: Census, written: Census) -> Iterator[Found]:
    """What a copy does not say as its source did, path by path; additions do not count."""
    ours, theirs = source.records, written.records
    if len(ours) == len(theirs):
        # Most of a copy is the same text, which nobody need decode.
        apart = [place for place, one in enumerate(ours) if not (isinstance(one, bytes) and one == theirs[place])]
        ours, theirs = [ours[place] for place in apart], [theirs[place] for place in apart]
    before, after = Counter[ValueAt](), Counter[ValueAt]()
    order = _Records()
    for one, other in zip_longest(_values_of(ours), _values_of(theirs)):
        _count_apart("", one, other, before, after)
        order.add(one, other)
    if moved := order.moved():
        yield Found("[]", "moved", moved, note="out of their order")
    gone, new = before - after, after - before
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


class _Records:
    """Where the records of a source stand in its copy; those that differ in any value stand nowhere."""

    def __init__(self) -> None:
        self._before: list[bytes] = []
        self._after: dict[bytes, deque[int]] = {}
        self._count = 0

    def add(self, one: Any, other: Any) -> None:
        self._before.append(_mark(one))
        self._after.setdefault(_mark(other), deque()).append(self._count)
        self._count += 1

    def moved(self) -> int:
        """How many are out of their order: the fewest without which all others are in order."""
        order = Order()
        for mark in self._before:
            if waiting := self._after.get(mark):
                order.add("", (waiting.popleft(), 0))
        return sum(1 for _ in order.moved())


def _mark(record: Any) -> bytes:
    values = sorted(map(repr, _values("", record)))
    return blake2b("\n".join(values).encode("utf-8", "surrogatepass"), digest_size=16).digest()


_PLAIN = frozenset({str, int, bool, NoneType})
"""Of one type and equal, they are written alike; floats are not: 0.0 is -0.0."""


def _count_apart(path: str, one: Any, other: Any, before: Counter[ValueAt], after: Counter[ValueAt]) -> None:
    """Count values on both sides, leaving out those that are equal in the same place."""
    if one == other and encode_sorted(one) == encode_sorted(other):
        return
    if one and other and type(one) is dict and type(other) is dict:
        for key in {**one, **other}:
            first, second = one.get(key), other.get(key)
            if type(first) is type(second) and type(first) in _PLAIN and first == second:
                continue
            _count_apart(f"{path}.{key}" if path else key, first, second, before, after)
    elif one and type(one) is list and type(other) is list and len(one) == len(other):
        inside = f"{path}[]"
        for first, second in zip(one, other, strict=True):
            _count_apart(inside, first, second, before, after)
    else:
        before.update(_values(path, one))
        after.update(_values(path, other))


def _one(counts: Counter[ValueAt], path: str) -> Any:
    """An example value at a path."""
    return next(value for place, _, value in counts if place == path)


def _values(path: str, value: Any) -> list[ValueAt]:
    """Path, type and value of everything but null, which all tools treat as absent."""
    found: list[ValueAt] = []
    stack: list[tuple[str, Any]] = [(path, value)]
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
