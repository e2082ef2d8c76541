"""Unread: what a source says and no sample holds, found word by word.

While a file is read, everything that comes through the door is shown to a `Ledger` (`wire.tap`), beside the samples
that the reader makes of it. Both sides are taken as JSON and cut into words: texts, numbers and keys. A word of the
source that stands in no sample is looked for in other forms (inside a longer text, as a moment, in seconds instead of
milliseconds, as the JSON that it says), and in the end the source is walked to name the paths where it stood.

A number such as 3 or a yes is found everywhere and proves nothing. It counts as read where its key stands in the model,
or where the reader's own code knows the key (`words`): a key that nobody names cannot have been read. Null is nothing.

A file of ours keeps under the key `pantrace` what its format cannot say, and says the rest as well as the format can:
ids and times that it had to invent are nobody's values. Only keys that nobody knows are missed there.

A value that the model holds in another form (a sum, a repetition) is declared by the format as path and reason; the
path has no numbers and may have `*` in it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec

from pantrace.errors import ReadError

from .carried import CARRIER
from .json import decode
from .times import from_iso

LONG = 24
"""A text of so many letters is also found inside a longer one; a shorter one might be there by chance."""
KEY = 64
"""Longer than any key."""
SHORT = 3
"""A text of so few letters may be anywhere."""
SMALL = 1_000
"""A whole or half number below may be anywhere."""
PENDING = 4_096
"""So many records may be read ahead of their samples."""
AGE = 256
"""So many samples a record's words are looked for in other forms."""
FEW = 512
"""So many words of one record are looked for in other forms in every sample; of more, those that stand near the ones
just found, as sources and samples go in the same order."""
AROUND = 64
"""So many words before and behind are near, however few were found."""

_NOTHING = ("", "{}", "[]", "null")
"""Texts that say nothing, as JSON or otherwise."""

Word = str | int | float


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


class _Record:
    """A record of the source, and its words that no sample has had yet."""

    def __init__(self, value: Any, words: dict[Word, int]) -> None:
        self.value = value
        self.words = words
        """With the places at which they stand first."""
        self.found: list[int] = []
        """Places of those that the last sample had."""
        self.age = 0
        self._order = list(words)
        self._places = list(words.values()) if len(words) > FEW else []
        self._rest = max(3, len(words) // 10)

    @property
    def is_done(self) -> bool:
        """Whether nearly all of it has been found, or the sample that was made of it must have come."""
        return len(self.words) <= self._rest or (self.age > AGE and not self._places)

    def near(self) -> list[Word]:
        """Words to look for in other forms."""
        if not self._places:
            return list(self.words)
        found = sorted(self.found)
        middle = found[len(found) // 4 : len(found) - len(found) // 4]
        if not middle:
            return []
        # The middle half of what was found tells how far the sample's own words reach.
        around = max(AROUND, middle[-1] - middle[0])
        begin = bisect_left(self._places, middle[0] - around)
        end = bisect_left(self._places, middle[-1] + around)
        return [word for word in self._order[begin:end] if word in self.words]


class Ledger:
    """Both sides of a reading. What is not found yet waits: a reader may look ahead."""

    def __init__(self, declared: Mapping[str, str], words: Collection[str] = ()) -> None:
        self._declared = tuple(declared)
        self._known = {*words, *_NOTHING, True, False}
        self._needed: set[str] = set()
        self._places: set[Hashable] = set()
        self._records: deque[_Record] = deque()
        self._waiting: dict[Word, list[_Record]] = {}
        self._open: list[_Record] = []
        """Records whose words are still looked for in other forms."""
        self._missing: Counter[str] = Counter()
        self._values = 0
        self._is_ours = False

    def source(self, place: Hashable, data: Any) -> None:
        """A record that came through the door; what is no JSON says nothing that could be looked for."""
        if place in self._places:
            return
        self._places.add(place)
        try:
            value = decode(data) if isinstance(data, (bytes, memoryview)) else data
            if isinstance(value, str):
                # A whole document inside a text: some tools encode twice.
                value = decode(value.encode("utf-8", "surrogatepass"))
        except ReadError:
            return
        said, keys = words_in(value)
        self._values += len(said) - keys
        all_words = {*said}
        self._is_ours = self._is_ours or CARRIER in all_words
        new = all_words - self._known
        record = _Record(value, {word: number for number, word in enumerate(said) if word in new})
        self._records.append(record)
        self._open.append(record)
        for word in record.words:
            self._waiting.setdefault(word, []).append(record)
        while len(self._records) > PENDING:
            self._close(self._records.popleft())

    def broken(self) -> None:
        """The last record could not be read: it is reported as such, and not value by value."""
        if self._records:
            self._records.pop()

    def model(self, plain: Any) -> None:
        """A sample or a header that was made of what came, as plain values."""
        held = _Held(plain)
        for word in self._waiting.keys() & held.words:
            for each in self._waiting.pop(word):
                if (place := each.words.pop(word, None)) is not None:
                    each.found.append(place)
        for each in self._open:
            for word in each.near():
                if held.holds_otherwise(word):
                    del each.words[word]
            each.found.clear()
            each.age += 1
        self._open = [each for each in self._open if not each.is_done]

    def closed(self) -> Unread:
        """The balance."""
        while self._records:
            self._close(self._records.popleft())
        return Unread(self._values, self._missing, frozenset(self._needed))

    def _close(self, record: _Record) -> None:
        """Name the paths of what was not found."""
        if not record.words:
            return
        for path, key, value in _leaves(record.value, "", ""):
            is_missing = (key if _is_weak(value) else value) in record.words
            if is_missing and not (self._is_ours and (key not in record.words or CARRIER in path)):
                declared = _reason(path, self._declared)
                if declared is None:
                    self._missing[path] += 1
                else:
                    self._needed.add(declared)


@lru_cache(1 << 14)
def _reason(path: str, declared: tuple[str, ...]) -> str | None:
    return next((each for each in declared if each == path or fnmatchcase(path, each)), None)


def _leaves(value: Any, path: str, key: str) -> Iterator[tuple[str, str, Any]]:
    """Path without numbers, the nearest key, the value; for everything but null and blank texts."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else name, name)
    elif isinstance(value, (list, tuple)):
        inside = f"{path}[]"
        for item in value:
            yield from _leaves(item, inside, key)
    elif value is not None and not (isinstance(value, str) and (not value or value.isspace())):
        yield path, key, value


def _is_weak(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT
    # Whole and half numbers; 10 may come back as 10.0.
    return isinstance(value, bool) or (-SMALL < value < SMALL and (2 * value) % 1 == 0)


@lru_cache(1 << 12)
def _bare(word: str) -> str:
    """A key as it may have changed on its way: with a prefix ("user:tier", "adk_score.tools"), or from camelCase."""
    return word.rpartition(":")[2].rpartition(".")[2].replace("_", "").lower()


def words_in(value: Any) -> tuple[list[Word], int]:
    """All keys and values but null, what stands together together; and how many of them are keys."""
    found: list[Word] = []
    keys = 0
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is dict:
            keys += len(item)
            found += item
            stack += item.values()
        elif kind is list:
            stack += item
        elif item is not None:
            found.append(item)
    return found, keys


class _Held:
    """The words of a record of the model."""

    def __init__(self, plain: Any) -> None:
        self.words: set[Word] = {*words_in(plain)[0]}
        self._texts: str | None = None
        self._bare: set[str] | None = None

    def holds_otherwise(self, word: Word) -> bool:
        """Whether it says a word of the source in another form."""
        if not isinstance(word, str):
            # Milliseconds are seconds in the model.
            return (abs(word) < 1e300 and word / 1000 in self.words) or str(word) in self.words
        if len(word) >= LONG and word in self._long_texts():
            return True
        bare = word.strip()
        if not bare or (bare != word and (bare in self.words or (len(bare) >= LONG and bare in self._long_texts()))):
            return True
        if (at := _time(bare)) is not None:
            return at in self.words
        if word[:1] in ("{", "["):
            return self._holds_decoded(word)
        return len(word) < KEY and _bare(word) in self._bare_words()

    def _long_texts(self) -> str:
        if self._texts is None:
            self._texts = "\0".join(word for word in self.words if isinstance(word, str) and len(word) >= LONG)
        return self._texts

    def _bare_words(self) -> set[str]:
        if self._bare is None:
            # All of them as one text: a sample has thousands, and each would cost a call.
            short = "\n".join([word for word in self.words if isinstance(word, str) and len(word) < KEY])
            bare = short.replace("_", "").lower().split("\n")
            self._bare = {*bare, *[_bare(word) for word in bare if ":" in word or "." in word]}
        return self._bare

    def _holds_decoded(self, text: str) -> bool:
        """JSON inside a text may be held as the value that it says."""
        try:
            found = words_in(decode(text.encode("utf-8", "surrogatepass")))[0]
        except ReadError:
            return False
        words: set[Word] = {*found}.difference(_NOTHING)
        return all(word in self.words or self.holds_otherwise(word) for word in words)


def _time(text: str) -> float | None:
    """A moment; databases write it without a zone, and mean UTC."""
    if text[4:5] != "-" or text[7:8] != "-":
        return None
    found = from_iso(text)
    return found if found is not None else from_iso(f"{text.replace(' ', 'T', 1)}Z")
