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
from collections.abc import Collection, Hashable, Iterator, Mapping, Set
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from itertools import chain
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
TEXTS = 1 << 25
"""So many letters of samples are kept to look for words inside them: most are found in a later sample before that."""
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

    def __init__(self, value: Any, words: set[Word], said: int) -> None:
        self.value = value
        self.words = words
        self.age = 0
        self._rest = max(3, said // 10)
        self._order: list[Word] = []
        self._places: dict[Word, int] = {}
        """Of many words, where each stands first."""
        self._found: list[int] = []
        """Places of those that the last sample had."""
        if len(words) > FEW:
            self._places = {word: place for place, word in enumerate(words_in_order(value)) if word in words}
            self._order = list(self._places)
            self._marks = list(self._places.values())

    @property
    def is_large(self) -> bool:
        return bool(self._order)

    @property
    def is_done(self) -> bool:
        """Whether nearly all of it has been found, or the sample that was made of it must have come."""
        return len(self.words) <= self._rest or (self.age > AGE and not self.is_large)

    def drop(self, words: Set[Word]) -> None:
        """What a sample has."""
        if not self._order:
            self.words = self.words - words
        elif found := self.words & words:
            self.words -= found
            self._found += [self._places[word] for word in found]

    def reached(self) -> list[Word]:
        """Words that it lacks, up to those that samples have had: behind them it speaks of samples to come."""
        if not any(map(_is_long, self.words)):
            return []
        said = words_in_order(self.value)
        last = max((place for place, word in enumerate(said) if word not in self.words), default=0)
        return [word for word in {*said[: last + AROUND]} if word in self.words]

    def near(self) -> list[Word]:
        """Of many words, those to look for in other forms in the last sample."""
        found, self._found = sorted(self._found), []
        middle = found[len(found) // 4 : len(found) - len(found) // 4]
        if not middle:
            return []
        # The middle half of what was found tells how far the sample's own words reach.
        around = max(AROUND, middle[-1] - middle[0])
        begin = bisect_left(self._marks, middle[0] - around)
        end = bisect_left(self._marks, middle[-1] + around)
        return [word for word in self._order[begin:end] if word in self.words]


class Ledger:
    """Both sides of a reading. What is not found yet waits: a reader may look ahead."""

    def __init__(self, declared: Mapping[str, str], words: Collection[str] = ()) -> None:
        self._declared = tuple(declared)
        self._known = {*words, *_NOTHING, True, False}
        self._needed: set[str] = set()
        self._places: set[Hashable] = set()
        self._records: deque[_Record] = deque()
        self._new: list[Any] = []
        """Records since the last sample, as they came: the next one is probably made of them."""
        self._waiting: dict[Word, list[_Record]] = {}
        """Older records by the words that they lack."""
        self._open: list[_Record] = []
        """Records whose words are still looked for in other forms."""
        self._texts: list[str] = []
        """Of the last samples, in which no record has been looked for yet."""
        self._letters = 0
        self._missing: Counter[str] = Counter()
        self._values = 0
        self._is_ours = False

    def source(self, place: Hashable, data: Any) -> None:
        """A record that came through the door; what is no JSON says nothing that could be looked for."""
        if place not in self._places:
            self._places.add(place)
            self._new.append(data)
            if len(self._new) >= PENDING:
                self._open_new(_NOBODY)

    def broken(self) -> None:
        """The last record could not be read: it is reported as such, and not value by value."""
        if self._new:
            values = _decoded(self._new[-1:])
            words, count = words_in(values)
            self._values += count
            self._is_ours = self._is_ours or CARRIER in words
            self._new.pop()
        elif self._records:
            self._records.pop()

    def model(self, plain: Any, data: bytes = b"") -> None:
        """A sample or a header that was made of what came, as plain values and as the JSON that says them."""
        held = _Held(plain)
        for word in self._waiting.keys() & held.words:
            for each in self._waiting.pop(word):
                each.drop({word})
        if len(self._new) == 1 and isinstance(self._new[0], bytes) and self._new[0].rstrip() == data:
            # A record of ours, unchanged.
            self._values += held.count
            self._is_ours = self._is_ours or CARRIER in held.words
            self._new = []
        elif self._new:
            self._open_new(held)
        if self._open:
            self._look_again(held)

    def _open_new(self, held: _Held) -> None:
        """Look for what the new records say, in all of them together: mostly nothing is lacking."""
        values, self._new = _decoded(self._new), []
        said, count = words_in(values)
        self._values += count
        self._is_ours = self._is_ours or CARRIER in said
        lacking = said - self._known - held.words
        if len(lacking) <= FEW:
            lacking = {word for word in lacking if not held.holds_in_other_form(word)}
        for value in values if lacking else ():
            words = words_in(value)[0]
            if missed := words & lacking:
                record = _Record(value, missed, len(words - self._known))
                self._records.append(record)
                self._open.append(record)
                for word in missed:
                    self._waiting.setdefault(word, []).append(record)
        while len(self._records) > PENDING:
            self._close(self._records.popleft())

    def _look_again(self, held: _Held) -> None:
        """In other forms, for what is still lacking."""
        # Records that lie in wait together often lack the same words.
        lacking = {word for each in self._open if not each.is_large for word in each.words}
        found = {word for word in lacking if held.holds_in_other_form(word)}
        if any(_is_long(word) for word in lacking - found):
            self._keep(held.long_texts)
        for each in self._open:
            if each.is_large:
                each.words.difference_update([word for word in each.near() if held.holds_otherwise(word)])
            elif found:
                each.words = each.words - found
            each.age += 1
        self._open = [each for each in self._open if not each.is_done]

    def _keep(self, text: str) -> None:
        """Long texts wait until they are many: looking for each word in each of them would take most of the time."""
        self._texts.append(text)
        self._letters += len(text)
        if self._letters > TEXTS:
            for each in self._records:
                self._look_into_texts(each, each.reached())
            self._texts, self._letters = [], 0

    def _look_into_texts(self, record: _Record, words: Collection[Word]) -> None:
        for word in words:
            if isinstance(word, str) and len(word) >= LONG:
                bare = word.strip()
                sought = bare if len(bare) >= LONG else word
                if any(sought in text for text in self._texts):
                    record.drop({word})

    def closed(self) -> Unread:
        """The balance."""
        if self._new:
            self._open_new(_NOBODY)
        while self._records:
            self._close(self._records.popleft())
        return Unread(self._values, self._missing, frozenset(self._needed))

    def _close(self, record: _Record) -> None:
        """Name the paths of what was not found."""
        if record.words and self._texts:
            self._look_into_texts(record, [*record.words])
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


def _is_long(word: Word) -> bool:
    return isinstance(word, str) and len(word) >= LONG


def words_in(value: Any) -> tuple[set[Word], int]:
    """All keys and values but null; and how many values there are. Level by level, so that no value is looked at by
    itself more than three times."""
    words: set[Any] = set()
    count = 0
    found = [value]
    while found:
        objects = [each for each in found if type(each) is dict]
        lists = [each for each in found if type(each) is list]
        said = [each for each in found if type(each) is not dict and type(each) is not list]
        words.update(said, *objects)
        count += len(said) - said.count(None)
        found = [*chain.from_iterable(map(dict.values, objects)), *chain.from_iterable(lists)]
    words.discard(None)
    return words, count


def words_in_order(value: Any) -> list[Word]:
    """All keys and values but null, what stands together together."""
    found: list[Word] = []
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is dict:
            found += item
            stack += item.values()
        elif kind is list:
            stack += item
        elif item is not None:
            found.append(item)
    return found


class _Held:
    """The words of a record of the model."""

    def __init__(self, plain: Any) -> None:
        self.words, self.count = words_in(plain)

    def holds_otherwise(self, word: Word) -> bool:
        """Whether it says a word of the source in another form or inside a longer text."""
        return (_is_long(word) and word in self.long_texts) or self.holds_in_other_form(word)

    def holds_in_other_form(self, word: Word) -> bool:
        if not isinstance(word, str):
            # Milliseconds are seconds in the model.
            return (abs(word) < 1e300 and word / 1000 in self.words) or str(word) in self.words
        bare = word.strip()
        if not bare or (bare != word and (bare in self.words or self.holds_otherwise(bare))):
            return True
        if (at := _time(bare)) is not None:
            return at in self.words
        if word[:1] in ("{", "["):
            return self._holds_decoded(word)
        return len(word) < KEY and _bare(word) in self._bare_words

    @cached_property
    def long_texts(self) -> str:
        return "\0".join([word for word in self.words if isinstance(word, str) and len(word) >= LONG])

    @cached_property
    def _bare_words(self) -> set[str]:
        # All of them as one text: a sample has thousands, and each would cost a call.
        short = "\n".join([word for word in self.words if isinstance(word, str) and len(word) < KEY])
        bare = short.replace("_", "").lower().split("\n")
        return {*bare, *[_bare(word) for word in bare if ":" in word or "." in word]}

    def _holds_decoded(self, text: str) -> bool:
        """JSON inside a text may be held as the value that it says."""
        try:
            words = words_in(decode(text.encode("utf-8", "surrogatepass")))[0]
        except ReadError:
            return False
        return all(word in self.words or self.holds_otherwise(word) for word in words.difference(_NOTHING))


_NOBODY = _Held(None)


def _decoded(records: list[Any]) -> list[Any]:
    """Records as values; those that are no JSON are none."""
    values = []
    for data in records:
        with suppress(ReadError):
            value = decode(data) if isinstance(data, (bytes, memoryview)) else data
            # A whole document inside a text: some tools encode twice.
            values.append(decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value)
    return values


def _time(text: str) -> float | None:
    """A moment; databases write it without a zone, and mean UTC."""
    if text[4:5] != "-" or text[7:8] != "-":
        return None
    found = from_iso(text)
    return found if found is not None else from_iso(f"{text.replace(' ', 'T', 1)}Z")
