"""Differences between what was written and what was read back, listed or counted; and the number of values in data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import count, repeat
from typing import Any, NamedTuple

from .json import encode
from .words import CONTAINERS

_PAYLOADS = ("arguments", "output", "raw", "state", "state_delta", "expected_state", "parameters")
DATA = frozenset((*_PAYLOADS, "settings", "details", "labels", "config", "dataset", "environment"))
"""Fields of the model that hold somebody's data. A key below them is the data's own, whatever it is called: an argument
named `extra` is not the model's `extra`."""

MISSING = frozenset({"absent", "changed", "refused"})
"""What is lost. Anything else is still there, but in another place."""


class Found(NamedTuple):
    """One difference."""

    path: str
    what: str
    values: int = 1
    """How many values it stands for: a missing step counts all of its values."""
    own: int = 0
    """How many of these exist only in their own format."""
    note: str = ""
    before: Any = None
    after: Any = None

    def text(self) -> str:
        """What happened, with the values; computed on request, because values may be long."""
        if self.what == "absent":
            return f"absent: {_short(self.before)}"
        if self.what == "changed":
            return f"changed: {_short(self.before)} to {_short(self.after)}"
        if self.what == "added" and not self.note:
            return f"added: {_short(self.after)}"
        lost = "" if self.before is None else f"; absent: {_short(self.before)}"
        return f"{self.what} {self.note}{lost}"


class Listed:
    """Differences one by one and with their values, for `--loss FILE`."""

    def __init__(self) -> None:
        self.found: list[Found] = []

    def item(self, path: str, index: int) -> str:
        """The path of an item."""
        return f"{path}[{index}]"

    def items(self, path: str) -> Iterator[str]:
        """The paths of all items, without end."""
        return (f"{path}[{index}]" for index in count())

    def add(
        self, path: str, what: str, values: int = 1, own: int = 0, note: str = "", before: Any = None, after: Any = None
    ) -> None:
        self.found.append(Found(path, what, values, own, note, before, after))

    def counted(self) -> list[Found]:
        """The differences, equal ones together."""
        return self.found

    def add_absent(self, path: str, key: str, value: Any) -> None:
        """Add one value that is missing from an object: by far the most frequent difference."""
        place = f"{path}.{key}" if path else key
        self.found.append(Found(place, "absent", 1, int(is_own(place)), before=value))

    def add_gone(self, path: str, value: Any) -> None:
        """Something that is gone with all that it holds."""
        self.add(path, "absent", *_weights_at(path, value), before=value)


MANY = 4_096
"""Single values are summed up after this many: the list of a large run would fill the memory."""

Kind = tuple[str, str, str | None]
"""Path without numbers, what happened, and the type of a part that is lost as a whole."""


class Counted(Listed):
    """Differences that are only counted: most are the same in every step."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[Kind, list[int]] = {}
        self._single: dict[str, list[str]] = {}
        """Path of an object -> keys of its missing values."""
        self._gone: dict[Kind, list[Any]] = {}
        """Missing values with everything in them, counted all at once at the end."""

    def item(self, path: str, index: int) -> str:
        return f"{path}[]"

    def items(self, path: str) -> Iterator[str]:
        return repeat(f"{path}[]")

    def add(
        self, path: str, what: str, values: int = 1, own: int = 0, note: str = "", before: Any = None, after: Any = None
    ) -> None:
        self._count((path, what, part_type(path, before) if type(before) is dict else None), values, own)

    def _count(self, kind: Kind, values: int, own: int) -> None:
        if (known := self._counts.get(kind)) is None:
            self._counts[kind] = [values, own]
        else:
            known[0] += values
            known[1] += own

    def add_absent(self, path: str, key: str, value: Any) -> None:
        if (keys := self._single.get(path)) is None:
            keys = self._single[path] = []
        keys.append(key)
        # Not at every value: a Counter over thousands of keys is much faster than one update each.
        if len(keys) >= MANY:
            self._fold()

    def add_gone(self, path: str, value: Any) -> None:
        kind = (path, "absent", part_type(path, value) if type(value) is dict else None)
        if (values := self._gone.get(kind)) is None:
            self._gone[kind] = [value]
            self._counts.setdefault(kind, [0, 0])  # what was found first is told first
        else:
            values.append(value)

    def weigh_gone(self) -> None:
        """Weigh what is gone. To be called after each sample, which would stay in memory otherwise."""
        for kind, values in self._gone.items():
            self._count(kind, *_weights_at(kind[0], values))
        self._gone = {}

    def counted(self) -> list[Found]:
        return [Found(path, what, values, own) for (path, what, _), (values, own) in self.counts().items()]

    def counts(self) -> dict[Kind, list[int]]:
        """Values of each kind, and how many of them exist only in their own format."""
        self._fold()
        return self._counts

    def _fold(self) -> None:
        """Sum up the single values."""
        self.weigh_gone()
        for path, keys in self._single.items():
            for key, values in Counter(keys).items():
                place = f"{path}.{key}" if path else key
                self.add(place, "absent", values, values if is_own(place) else 0)
        self._single = {}


def part_type(path: str, value: Any) -> str | None:
    """The type of a lost part; None if it is not a part."""
    return value.get("type") if isinstance(value, dict) and path.endswith("]") else None


def weight(value: Any) -> int:
    """The number of values in something; an empty one counts as one."""
    if not value or type(value) not in CONTAINERS:
        return 1
    values = 0
    # A list that grows while it is walked, instead of recursion: this runs for every sample, and values may be deep.
    waiting = [value]
    enter = waiting.append
    for item in waiting:
        values += len(item)
        for inner in item.values() if type(item) is dict else item:
            if type(inner) in CONTAINERS and inner:
                values -= 1
                enter(inner)
    return values


def _weights_at(path: str, value: Any) -> tuple[int, int]:
    """The weights of something that stands at a path."""
    found = _FIRST.search(path)
    if found is None:
        return weights(value)
    # Inside `extra` or inside somebody's data, no key has a meaning of ours.
    values = weight(value)
    return values, values if found[1] == "extra" else 0


def weights(value: Any) -> tuple[int, int]:
    """The number of values in something, and how many of them exist only in their own format: in `extra`, and in
    unknown parts."""
    aside: list[Any] = []
    common = common_weight(value, aside)
    own = weight(aside) if aside else 0
    return common + own, own


def common_weight(value: Any, aside: list[Any] | None = None) -> int:
    """The number of values without those that exist only in their own format, which may be most of a sample: these are
    not examined, and added to `aside` if it is given."""
    if not value or type(value) not in CONTAINERS:
        return 1
    values = 0
    waiting: list[Any] = [value]
    data: list[Any] = []
    enter, enter_data = waiting.append, data.append
    for item in waiting:
        values += len(item)
        if type(item) is not dict:
            for inner in item:
                if type(inner) in CONTAINERS and inner:
                    values -= 1
                    enter(inner)
            continue
        if "raw" in item and item.get("type") == "unknown":
            values -= len(item)
            if aside is not None:
                aside.append(item)
            continue
        for key, inner in item.items():
            if type(inner) in CONTAINERS and inner:
                values -= 1
                if key in DATA:
                    enter_data(inner)
                elif key != "extra":
                    enter(inner)
                elif aside is not None:
                    aside.append(inner)
    return values + weight(data) if data else values


_FIRST = re.compile(rf"(?:^|\.)(extra|{'|'.join(sorted(DATA))})(?=[.\[]|$)")


@lru_cache(1 << 14)
def is_own(path: str) -> bool:
    """Whether the value at a path exists only in its own format."""
    found = _FIRST.search(path)
    return found is not None and found[1] == "extra"


@lru_cache(1 << 14)
def is_payload(path: str) -> bool:
    """Whether the value at a path is what a program sent, to which no writer may add anything."""
    found = _FIRST.search(path)
    return found is not None and found[1] in _PAYLOADS


def _short(value: Any) -> str:
    text = encode(value).decode("utf-8", "replace")
    return text if len(text) <= 120 else text[:117] + "..."
