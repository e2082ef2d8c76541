"""Unread: what a source says and no sample holds, found value by value.

While a file is read, everything that comes through the door is shown to a `Ledger` (`wire.tap`), beside the samples
that the reader makes of it. Values of the source are looked for among those of the samples, whatever their place: a
reader may move a value, join it with others or use it as a key. What is nowhere was not read.

A number such as 3 or a yes is found everywhere and proves nothing. It counts as read only where it stands under the
same key in the model, or where the reader's own code knows the key (`words`); a key that nobody names cannot have been
read. Null says nothing.

A value that the model holds in another form (a sum, another unit, a repetition) is declared by the format as path and
reason; the path has no numbers and may have `*` in it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec

from pantrace.errors import ReadError

from .json import decode, to_plain
from .times import from_iso

LONG = 24
"""A text of so many letters is also found inside a longer one; a shorter one might be there by chance."""
SHORT = 3
"""A text of so few letters may be anywhere."""
SMALL = 1_000
"""A number below may be anywhere."""
WINDOW = 256
"""Texts that are looked for inside others, one after another without success, until the next sample comes: sources and
samples go in the same order, and to look for all texts in all samples would take for ever."""


class Unread(msgspec.Struct, frozen=True):
    """What a reader left out."""

    values: int
    """Values that the source has."""
    missing: Counter[str]
    """Path without numbers -> how many of its values are in no sample, for no declared reason."""
    needed: frozenset[str]
    """Declared paths that values of the source were excused by."""

    @property
    def count(self) -> int:
        return self.missing.total()


class _Leaf:
    """One value of the source."""

    __slots__ = ("found", "path", "text", "value")

    def __init__(self, path: str, text: str | None = None) -> None:
        self.path = path
        self.text = text
        """Looked for inside other texts, or None."""
        self.value: Any = None
        """Looked for beside a name, or None."""
        self.found = False


class Ledger:
    """Both sides of a reading. What is not found yet waits: a reader may look ahead."""

    def __init__(self, declared: Mapping[str, str], words: Collection[str] = ()) -> None:
        self._declared = tuple(declared)
        self._words = words
        self._needed: set[str] = set()
        self._places: set[Hashable] = set()
        self._leaves: list[_Leaf] = []
        self._waiting: dict[Hashable, list[_Leaf]] = {}
        self._named: dict[str, list[_Leaf]] = {}
        """By their keys, which may have become names: a metric's key is the name of a score."""
        self._slow: deque[_Leaf] = deque()
        self._last = 0
        self._values = 0

    def source(self, place: Hashable, data: Any) -> None:
        """A record that came through the door; what is no JSON says nothing that could be looked for."""
        if place in self._places:
            return
        self._places.add(place)
        if isinstance(data, (bytes, memoryview)):
            try:
                data = decode(data)
                if isinstance(data, str):
                    # A whole document inside a text: some tools encode twice.
                    data = decode(data.encode("utf-8", "surrogatepass"))
            except ReadError:
                return
        self._last = len(self._leaves)
        for path, key, value in _leaves(data, "", ""):
            self._values += 1
            declared = _reason(path, self._declared)
            if declared is None:
                self._wait(path, key, value)
            else:
                self._needed.add(declared)

    def broken(self) -> None:
        """The last record could not be read: it is reported as such, and not value by value."""
        for leaf in self._leaves[self._last :]:
            leaf.found = True

    def model(self, record: Any) -> None:
        """A sample or a header that was made of what came."""
        held = _Held()
        held.add(to_plain(record), "")
        for key in (*held.keys, *held.texts, *held.numbers, *held.pairs):
            for leaf in self._waiting.pop(key, ()):
                leaf.found = True
        for name in self._named.keys() & held.texts:
            self._named[name] = [each for each in self._named[name] if not each.found and not held.has_named(each)]
        self._search(held)
        self._leaves = [leaf for leaf in self._leaves if not leaf.found]
        self._last = len(self._leaves)

    def closed(self) -> Unread:
        """The balance."""
        missing = Counter(leaf.path for leaf in self._leaves if not leaf.found)
        return Unread(self._values, missing, frozenset(self._needed))

    def _wait(self, path: str, key: str, value: Any) -> None:
        leaf = _Leaf(path)
        keys: tuple[Hashable, ...]
        if _is_weak(value):
            if key not in self._words:
                keys = ((_bare(key), value),)
                leaf.value = value
                self._named.setdefault(key, []).append(leaf)
            elif isinstance(value, bool):
                return
            else:
                keys = (value, str(value))
        elif isinstance(value, str):
            keys = (value,) if value == (bare := value.strip()) else (value, bare)
            if (at := _time(bare)) is not None:
                keys = (*keys, at)
            if len(value) >= LONG or value[:1] in ("{", "["):
                leaf.text = value
                self._slow.append(leaf)
        else:
            # Milliseconds and other thousandths are seconds in the model.
            keys = (value, value / 1000, str(value))
        self._leaves.append(leaf)
        for each in keys:
            self._waiting.setdefault(each, []).append(leaf)

    def _search(self, held: _Held) -> None:
        """Look for long texts inside the longer ones of a sample, and for what JSON inside a text says."""
        missed: deque[_Leaf] = deque()
        in_a_row = 0
        while self._slow and in_a_row < WINDOW:
            leaf = self._slow.popleft()
            if leaf.found:
                continue
            assert leaf.text is not None
            if held.holds_inside(leaf.text) or held.holds_decoded(leaf.text):
                leaf.found = True
                in_a_row = 0
            else:
                missed.append(leaf)
                in_a_row += 1
        self._slow.extendleft(reversed(missed))


@lru_cache(1 << 14)
def _reason(path: str, declared: tuple[str, ...]) -> str | None:
    return next((each for each in declared if each == path or fnmatchcase(path, each)), None)


_NOTHING = ("", "{}", "[]", "null")
"""Texts that say nothing, as JSON or otherwise."""


def _leaves(value: Any, path: str, key: str) -> Iterator[tuple[str, str, Any]]:
    """Path without numbers, the nearest key, the value; for everything but null and blank texts."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else name, name)
    elif isinstance(value, (list, tuple)):
        inside = f"{path}[]"
        for item in value:
            yield from _leaves(item, inside, key)
    elif value is not None and not (isinstance(value, str) and (value.isspace() or value in _NOTHING)):
        yield path, key, value


def _is_weak(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT
    # Whole and half numbers; 10 may come back as 10.0.
    return isinstance(value, bool) or (-SMALL < value < SMALL and (2 * value) % 1 == 0)


@lru_cache(1 << 12)
def _bare(key: str) -> str:
    """A key as it may have changed on its way: with a prefix ("user:tier"), or from camelCase to snake_case."""
    return key.rpartition(":")[2].replace("_", "").lower()


def _time(text: str) -> float | None:
    """A moment; databases write it without a zone, and mean UTC."""
    if text[4:5] != "-" or text[7:8] != "-":
        return None
    found = from_iso(text)
    return found if found is not None else from_iso(f"{text.replace(' ', 'T', 1)}Z")


class _Held:
    """The texts and numbers that a record of the model holds."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.texts: set[str] = set()
        self.numbers: set[int | float] = set()
        self.pairs: set[tuple[str, Any]] = set()
        """Of values that alone say nothing: with their keys."""
        self._joined: str | None = None

    def add(self, value: Any, key: str) -> None:
        if isinstance(value, dict):
            self.keys.update(value)
            for name, item in value.items():
                self.add(item, name)
        elif isinstance(value, list):
            for item in value:
                self.add(item, key)
        elif value is not None:
            if _is_weak(value):
                self.pairs.add((_bare(key), value))
            if isinstance(value, str):
                self.texts.add(value)
            elif not isinstance(value, bool):
                self.numbers.add(value)

    def holds(self, key: str, value: Any) -> bool:
        if isinstance(value, bool):
            return (_bare(key), value) in self.pairs
        return value in self.texts or value in self.keys if isinstance(value, str) else value in self.numbers

    def has_named(self, leaf: _Leaf) -> bool:
        """Whether it holds the value of something that is a name now; notes that it was found."""
        leaf.found = leaf.value in self.texts if isinstance(leaf.value, str) else leaf.value in self.numbers
        return leaf.found

    def holds_inside(self, text: str) -> bool:
        if self._joined is None:
            self._joined = "\x00".join(each for each in self.texts if len(each) >= LONG)
        return len(text) >= LONG and (text in self._joined or text.strip() in self._joined)

    def holds_decoded(self, text: str) -> bool:
        """JSON inside a text may be held as the value that it says."""
        if text[:1] not in ("{", "["):
            return False
        try:
            value = decode(text.encode("utf-8", "surrogatepass"))
        except ReadError:
            return False
        return all(self.holds(key, item) or self.holds_inside(str(item)) for _, key, item in _leaves(value, "", ""))
