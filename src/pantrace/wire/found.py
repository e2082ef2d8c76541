"""Found: what is not as it was, one by one or counted; and how many values something comes to."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from .json import encode

MISSING = frozenset({"absent", "changed", "refused"})
"""What is not there any more. Anything else is still there, and stands elsewhere."""


class Found(NamedTuple):
    """Something that is not as it was."""

    path: str
    what: str
    values: int = 1
    """How many values it comes to: a step that is gone weighs what it held."""
    own: int = 0
    """How many of these only their own format has a word for."""
    note: str = ""
    before: Any = None
    after: Any = None

    def text(self) -> str:
        """What happened, with the values: made only for those who ask, as these may be long."""
        if self.what == "absent":
            return f"absent: {_short(self.before)}"
        if self.what == "changed":
            return f"changed: {_short(self.before)} to {_short(self.after)}"
        lost = "" if self.before is None else f"; absent: {_short(self.before)}"
        return f"{self.what} {self.note}{lost}"


class Listed:
    """What was found, one by one and with the values, as those want it who read a list of losses."""

    def __init__(self) -> None:
        self.found: list[Found] = []

    def item(self, path: str, index: int) -> str:
        """The path of an item."""
        return f"{path}[{index}]"

    def add(
        self, path: str, what: str, values: int = 1, own: int = 0, note: str = "", before: Any = None, after: Any = None
    ) -> None:
        self.found.append(Found(path, what, values, own, note, before, after))

    def counted(self) -> list[Found]:
        """What was found, alike together."""
        return self.found

    def add_absent(self, path: str, key: str, value: Any) -> None:
        """One value that is gone from an object: by far the most frequent."""
        place = f"{path}.{key}" if path else key
        self.found.append(Found(place, "absent", 1, int(is_own(place)), before=value))


MANY = 4_096
"""So many single values are summed up: kept one by one, those of a large run would fill the memory."""

Kind = tuple[str, str, str | None]
"""Path without numbers, what happened, and the type of a part that is lost as a whole."""


class Counted(Listed):
    """What was found, only counted: most of it is the same thing in every step, and nobody reads it one by one."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[Kind, list[int]] = {}
        self._single: dict[str, list[str]] = {}
        """Path of an object -> keys of values that are gone from there."""

    def item(self, path: str, index: int) -> str:
        return f"{path}[]"

    def add(
        self, path: str, what: str, values: int = 1, own: int = 0, note: str = "", before: Any = None, after: Any = None
    ) -> None:
        kind = (path, what, part_type(path, before) if type(before) is dict else None)
        if (known := self._counts.get(kind)) is None:
            self._counts[kind] = [values, own]
        else:
            known[0] += values
            known[1] += own

    def add_absent(self, path: str, key: str, value: Any) -> None:
        if (keys := self._single.get(path)) is None:
            keys = self._single[path] = []
        keys.append(key)
        if len(keys) >= MANY:
            self._fold()

    def counted(self) -> list[Found]:
        return [Found(path, what, values, own) for (path, what, _), (values, own) in self.counts().items()]

    def counts(self) -> dict[Kind, list[int]]:
        """Values of each kind, and how many of them only their own format has a word for."""
        self._fold()
        return self._counts

    def _fold(self) -> None:
        """Sum up the single values."""
        for path, keys in self._single.items():
            for key, count in Counter(keys).items():
                place = f"{path}.{key}" if path else key
                self.add(place, "absent", count, count if is_own(place) else 0)
        self._single = {}


def part_type(path: str, value: Any) -> str | None:
    """The type of a part, where it is one that is lost."""
    return value.get("type") if isinstance(value, dict) and path.endswith("]") else None


def weight(value: Any) -> int:
    """How many values something comes to; what is empty is one."""
    waiting = [value]
    inner = 0
    for item in waiting:
        if item:
            kind = type(item)
            if kind is dict:
                waiting += item.values()
                inner += 1
            elif kind is list or kind is tuple:
                waiting += item
                inner += 1
    return len(waiting) - inner


def weights(value: Any) -> tuple[int, int]:
    """How many values something comes to, and for how many of them only the format they come from has a word: in
    `extra`, and in parts that are unknown."""
    aside: list[Any] = []
    common = common_weight(value, aside)
    own = weight(aside) if aside else 0
    return common + own, own


def common_weight(value: Any, aside: list[Any] | None = None) -> int:
    """How many values there are without those that only their own format has a word for, which may be most of a
    sample: they are not looked into, and put aside where somebody wants them."""
    waiting = [value]
    inner = 0
    for item in waiting:
        if item:
            kind = type(item)
            if kind is dict:
                inner += 1
                if "raw" in item and item.get("type") == "unknown":
                    if aside is not None:
                        aside.append(item)
                elif extra := item.get("extra"):
                    waiting += [item[key] for key in item if key != "extra"]
                    if aside is not None:
                        aside.append(extra)
                else:
                    waiting += item.values()
            elif kind is list or kind is tuple:
                waiting += item
                inner += 1
    return len(waiting) - inner


def is_own(path: str) -> bool:
    """Whether only the format that a value comes from has a word for what stands there."""
    return ".extra" in path or path.startswith("extra")


def _short(value: Any) -> str:
    text = encode(value).decode("utf-8", "replace")
    return text if len(text) <= 120 else text[:117] + "..."
