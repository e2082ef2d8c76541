"""Unread: what a source says and no sample holds, found word by word.

While a file is read, everything that comes through the door is shown to a `Ledger` (`wire.read_listener`), beside the
samples that the reader makes of it. Both sides are taken as JSON and cut into words: texts, numbers and keys. A word of
the source that stands in no sample is looked for in other forms (inside a longer text, as a moment, in seconds instead
of milliseconds, as the JSON that it says), and in the end the source is walked to name the paths where it stood.

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
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec

from .heard import Heard, decoded, with_heard_rows
from .lacking import Lacking
from .leaves import Leaf, is_weak, leaves_with, sought
from .pantrace_key import CARRIER
from .table_row import TableRow
from .words import LONG, NOTHING, Held, Walk, Word, is_long, words_in, words_in_order

PENDING = 4_096
"""So many records may be read ahead of their samples."""
AGE = 256
"""So many samples a record's words are looked for in other forms."""
SOME = 32
"""Of so many words of one record it is looked up at once whether they stand where their format declares why, or where
nobody asks for them; then the record need not be kept."""
TIDY = 16
"""After so many samples it is looked up which records are done with."""
FEW = 512
"""So many words of one record are looked for in other forms in every sample; of more, those that stand near the ones
just found, as sources and samples go in the same order."""
TEXTS = 1 << 25
"""So many letters of samples are kept to look for words inside them: most are found in a later sample before that."""
AROUND = 64
"""So many words before and behind are near, however few were found."""


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
    """A record of the source, or several that came together; and their words that no sample has had yet."""

    def __init__(
        self, values: list[Any], words: set[Word], said: int, spared: int = 0, walk: Walk | None = None
    ) -> None:
        self.words = words
        self.is_sifted = False
        """Whether it was looked up which words nobody asks for."""
        self.size = len(values)
        self.since = 0
        """How many samples had come before it."""
        self._rest = max(3, said // 10)
        self._excused = spared
        """Words that it was not to be asked for."""
        self._order: list[Word] = []
        self._places: dict[Word, int] = {}
        """Of many words, where each stands first."""
        self._found: list[int] = []
        """Places of those that the last sample had."""
        self._values = values
        self._walk = walk
        if len(words) > FEW:
            self._places = {word: place for place, word in enumerate(words_in_order(values)) if word in words}
            self._order = list(self._places)
            self._marks = list(self._places.values())

    def leaves(self) -> Iterable[Leaf]:
        """Where the words stand that it lacks, and some others."""
        return leaves_with(self.words, self._values)

    def excused(self, declared: tuple[str, ...]) -> set[str]:
        """Forget words that stand only where it was declared why, and those that are not asked for: keys of null, small
        numbers. Gives the declarations."""
        self.is_sifted = True
        needed: set[str] = set()
        kept: set[Word] = set()
        for path, key, value in self.leaves():
            if (word := sought(key, value)) not in self.words:
                continue
            if (reason := _reason(path, declared)) is None:
                kept.add(word)
                if not declared:
                    kept.add(key)
            else:
                needed.add(reason)
        self._excused += len(self.words - kept)
        self.words &= kept
        return needed

    def sift(self) -> None:
        """Forget words that nobody asks for, once: keys of null above all."""
        self.is_sifted = True
        if self._walk is None:
            self.excused(())
        else:
            unsaid = self._walk.unsaid(self.words)
            self._excused += len(unsaid)
            self.words -= unsaid
            self._walk = None

    @property
    def is_large(self) -> bool:
        return bool(self._order)

    def is_done(self, samples: int) -> bool:
        """Whether nearly all of it has been found, or the sample that was made of it must have come."""
        is_found = not self.words or len(self.words) + self._excused <= self._rest
        return is_found or (samples - self.since > AGE and not self.is_large)

    def drop(self, word: Word) -> None:
        """What a sample has."""
        if word in self.words:
            self.words.remove(word)
            if self._order:
                self._found.append(self._places[word])

    def reached(self) -> list[Word]:
        """Words that it lacks, up to those that samples have had: behind them it speaks of samples to come."""
        if not any(map(is_long, self.words)):
            return []
        said = words_in_order(self._values)
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
        self._known = {*words, *NOTHING, True, False}
        self._needed: set[str] = set()
        self._places: set[Hashable] = set()
        self._records: deque[_Record] = deque()
        self._new: list[Any] = []
        """Records since the last sample, as they came: the next one is probably made of them."""
        self._waiting: dict[Word, list[_Record]] = {}
        """Older records by the words that they lack."""
        self._open: list[_Record] = []
        """Records whose words are still looked for in other forms."""
        self._lacking = Lacking()
        """The words of those of them that are not large; often these lack the same."""
        self._samples = 0
        self._texts: list[str] = []
        """Of the last samples, in which no record has been looked for yet."""
        self._letters = 0
        self._pending = 0
        """Records that are kept."""
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

    def source_rows(self, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        """Many rows of a table. Each is known by all that it says, as `wire.sqlite` tells single ones."""
        places = self._places
        for values in rows:
            if (place := hash((names, values))) not in places:
                places.add(place)
                self._new.append(TableRow(names, values))
                if len(self._new) >= PENDING:
                    self._open_new(_NOBODY)

    def hear(self, data: Any, value: Any) -> None:
        """What a text says that the reader has just decoded: if it is the record that came last, nobody need decode it
        again. Only its words are kept, as a reader may change what it was given."""
        if type(data) is list:
            self._new = with_heard_rows(self._new, data, value)
        elif self._new and self._new[-1] is data and isinstance(data, bytes) and not isinstance(value, str):
            self._new[-1] = Heard(data, *words_in(value))

    def broken(self) -> None:
        """The last record could not be read: it is reported as such, and not value by value."""
        if self._new and type(self._new[-1]) is Heard and type(self._new[-1].data) is list:
            return  # these rows were read; what is broken is what they belong to
        if self._new:
            words, count = words_in(decoded(self._new[-1:]))
            self._values += count
            self._is_ours = self._is_ours or CARRIER in words
            self._new.pop()
        elif self._records:
            self._records.pop()

    def model(self, plain: Any, data: bytes = b"") -> None:
        """A sample or a header that was made of what came, as plain values and as the JSON that says them."""
        held = Held(plain)
        self._samples += 1
        # Of a file of ours that says its samples word by word, the words are never needed.
        for word in self._waiting.keys() & held.words if self._waiting else ():
            for each in self._waiting.pop(word):
                each.drop(word)
        is_long_sought = self._look_again(held) if self._open else False
        if len(self._new) == 1 and isinstance(self._new[0], bytes) and self._new[0].rstrip() == data:
            # A record of ours, unchanged.
            self._values += held.count
            self._is_ours = self._is_ours or held.says(CARRIER)
            self._new = []
        elif self._new:
            is_long_sought = self._open_new(held) or is_long_sought
        if is_long_sought:
            self._keep(held.long_texts)

    def _open_new(self, held: Held) -> bool:
        """Look for what the new records say, in all of them together: mostly nothing is lacking. Gives whether a long
        text is, which may stand inside a longer one."""
        new, self._new = self._new, []
        heard = [each for each in new if isinstance(each, Heard)]
        unheard = decoded([each for each in new if not isinstance(each, Heard)])
        walk = Walk(unheard)
        said = walk.words().union(*[each.words for each in heard]) if unheard or len(heard) != 1 else heard[0].words
        self._values += walk.count + sum([each.values for each in heard])
        self._is_ours = self._is_ours or CARRIER in said
        lacking = said - self._known - held.words
        spared = 0
        if len(lacking) <= FEW:
            lacking = {word for word in lacking if not held.holds_in_other_form(word)}
            if small := [word for word in lacking if type(word) is not str and is_weak(word)]:
                lacking.difference_update(small)
                spared = len(small)
        if 0 < len(lacking) <= FEW:
            record = _Record(unheard + decoded(heard), lacking, 0, spared, None if heard else walk)
            if len(lacking) + spared <= SOME:
                if self._declared:
                    self._needed |= record.excused(self._declared)
                else:
                    record.sift()
            if record.words:
                self._wait(record)
            return any(map(is_long, record.words))
        is_long_sought = False
        for value in unheard + decoded(heard) if lacking else ():
            words = words_in(value)[0]
            # Too many to be looked for in every sample that comes, but all of them once in this one: it may be the only
            # one, as a long session is.
            if missed := {word for word in words & lacking if not held.holds_in_other_form(word)}:
                record = _Record([value], missed, len(words - self._known))
                self._wait(record)
                is_long_sought = is_long_sought or (not record.is_large and any(map(is_long, missed)))
        return is_long_sought

    def _wait(self, record: _Record) -> None:
        record.since = self._samples
        self._records.append(record)
        self._open.append(record)
        if not record.is_large:
            self._lacking.add(record.words)
        for word in record.words:
            self._waiting.setdefault(word, []).append(record)
        self._pending += record.size
        while self._pending > PENDING and len(self._records) > 1:
            self._close(self._records.popleft())

    def _look_again(self, held: Held) -> bool:
        """In other forms, for what is still lacking. Gives whether a long text is among that."""
        found = self._lacking.take(held)
        for each in self._open:
            if each.is_large:
                each.words.difference_update([word for word in each.near() if held.holds_otherwise(word)])
                # Samples that repeat each other leave little that would show where they stand; then all is looked at.
                if len(each.words) <= FEW:
                    each.words.difference_update([word for word in each.words if held.holds_in_other_form(word)])
            elif found:
                each.words -= found
        is_tidied = self._samples % TIDY == 0
        for each in self._open:
            if not each.is_sifted and (len(each.words) <= SOME or (is_tidied and not each.is_large)):
                each.sift()
        if found or is_tidied:
            self._open = [each for each in self._open if not each.is_done(self._samples)]
            self._lacking.keep({word for each in self._open if not each.is_large for word in each.words})
        return any(map(is_long, self._lacking.words))

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
                inside = bare if len(bare) >= LONG else word
                if any(inside in text for text in self._texts):
                    record.drop(word)

    def closed(self) -> Unread:
        """The balance."""
        if self._new:
            self._open_new(_NOBODY)
        while self._records:
            self._close(self._records.popleft())
        return Unread(self._values, self._missing, frozenset(self._needed))

    def _close(self, record: _Record) -> None:
        """Name the paths of what was not found."""
        self._pending -= record.size
        if record.words and self._texts:
            self._look_into_texts(record, [*record.words])
        if not record.words:
            return
        for path, key, value in record.leaves():
            is_missing = sought(key, value) in record.words
            if is_missing and not (self._is_ours and (key not in record.words or CARRIER in path)):
                declared = _reason(path, self._declared)
                if declared is None:
                    self._missing[path] += 1
                else:
                    self._needed.add(declared)


@lru_cache(1 << 14)
def _reason(path: str, declared: tuple[str, ...]) -> str | None:
    return next((each for each in declared if each == path or fnmatchcase(path, each)), None)


_NOBODY = Held(None)
