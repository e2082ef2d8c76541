"""Words: what a value says as texts, numbers and keys, and whether it says a word in another form."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from pantrace.errors import ReadError

from .json import decode
from .times import from_iso

Word = str | int | float


LONG = 24
"""A text of so many letters is also found inside a longer one; a shorter one might be there by chance."""
KEY = 64
"""Longer than any key."""
FEW = 16
"""So many keys are searched in a text; for more, a set of all words takes less time."""

CONTAINERS = frozenset({dict, list, tuple})

NOTHING = ("", "{}", "[]", "null")
"""Texts that say nothing, as JSON or otherwise."""


def is_long(word: Word) -> bool:
    return isinstance(word, str) and len(word) >= LONG


class Walk:
    """All objects in a value, and all that is neither an object nor a list."""

    def __init__(self, value: Any) -> None:
        self.objects: list[dict[str, Any]] = []
        self.values: list[Any] = []
        waiting = [value] if type(value) in CONTAINERS else []
        if not waiting:
            self.values.append(value)
        # What is done here for each value is a good part of all measuring: two loops, and no method is looked up.
        enter, say = waiting.append, self.values.append
        for item in waiting:
            if type(item) is dict:
                self.objects.append(item)
                for inner in item.values():
                    if type(inner) in CONTAINERS:
                        enter(inner)
                    else:
                        say(inner)
            else:
                for inner in item:
                    if type(inner) in CONTAINERS:
                        enter(inner)
                    else:
                        say(inner)

    @property
    def count(self) -> int:
        """How many values there are, without null."""
        return len(self.values) - self.values.count(None)

    def words(self) -> set[Word]:
        """All keys and values but null."""
        words = set(self.values)
        words.update(*self.objects)
        words.discard(None)
        return words

    def unsaid(self, words: set[Word]) -> set[Word]:
        """Those of some words that are here, but only as keys of null."""
        keys: set[Any] = words.difference(self.values)
        for item in self.objects:
            if not keys:
                break
            if not keys.isdisjoint(item):
                keys -= {key for key in keys if item.get(key) is not None}
        return keys


def words_in(value: Any) -> tuple[set[Word], int]:
    """All keys and values but null, and how many values there are."""
    walk = Walk(value)
    return walk.words(), walk.count


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
        elif kind is list or kind is tuple:
            stack += item
        elif item is not None:
            found.append(item)
    return found


@lru_cache(1 << 12)
def _bare(word: str) -> str:
    """A key as it may have changed on its way: with a prefix ("user:tier", "adk_score.tools"), or from camelCase."""
    return word.rpartition(":")[2].rpartition(".")[2].replace("_", "").lower()


def bare_words(words: Iterable[Word]) -> set[str]:
    """Short words as keys may have changed on their way."""
    bare = _bare_text(words)[1:-1].replace(":", ".").split("\n")
    return {*bare, *[word.rpartition(".")[2] for word in bare if "." in word]}


def _bare_text(words: Iterable[Word]) -> str:
    # All of them as one text: a sample has thousands, and each would cost a call.
    short = "\n".join([word for word in words if type(word) is str and len(word) < KEY])
    return f"\n{short}\n".replace("_", "").lower()


_OPENING = ("{", "[")


class Forms(NamedTuple):
    """How else the model may hold a word of the source."""

    exact: tuple[Word, ...] = ()
    key: str | None = None
    """As a key that has changed on its way."""


def other_forms(word: Word) -> Forms | None:
    """The other forms of a word; None if each sample must be asked, as for JSON inside a text."""
    if not isinstance(word, str):
        return Forms((word / 1000, str(word)) if abs(word) < 1e300 else (str(word),))
    if word[:1] in _OPENING or word.startswith("data:") or word.strip() != word or not word:
        return None
    if (at := _time(word)) is not None:
        return Forms((at,))
    if len(word) >= KEY:
        return Forms()
    return Forms(key=key) if (key := _bare(word)) else None


class Held:
    """The words of a record of the model."""

    def __init__(self, plain: Any) -> None:
        self._walk = Walk(plain)
        self._looked_up = 0
        """Keys, so far."""

    @cached_property
    def words(self) -> set[Word]:
        words = self._walk.words()
        # Many sources count the input without its cached tokens, which the model includes.
        for item in self._walk.objects:
            if "cache_read" in item or "cache_write" in item:
                words.update(_uncached(item))
        return words

    @property
    def count(self) -> int:
        """How many values it has."""
        return self._walk.count

    def says(self, word: str) -> bool:
        """Whether a word is among its words, without making all of them."""
        return word in self._walk.values or any(word in item for item in self._walk.objects)

    def holds_otherwise(self, word: Word) -> bool:
        """Whether it says a word of the source in another form or inside a longer text."""
        inside = isinstance(word, str) and len(word) >= LONG and word in self.long_texts
        return inside or self.holds_in_other_form(word)

    def holds_in_other_form(self, word: Word) -> bool:
        if not isinstance(word, str):
            # Milliseconds are seconds in the model.
            return (abs(word) < 1e300 and word / 1000 in self.words) or str(word) in self.words
        bare = word.strip()
        if not bare or (bare != word and (bare in self.words or self.holds_otherwise(bare))):
            return True
        if (at := _time(bare)) is not None:
            return at in self.words
        if word[:1] in _OPENING:
            return self._holds_decoded(word)
        if word.startswith("data:"):
            # A picture in an address is held as its type and its data.
            return word.partition(",")[2] in self.words
        return len(word) < KEY and self._holds_key(_bare(word))

    @cached_property
    def long_texts(self) -> str:
        return "\0".join([word for word in self.words if isinstance(word, str) and len(word) >= LONG])

    def _holds_key(self, key: str) -> bool:
        self._looked_up += 1
        if self._looked_up > FEW or "\n" in key:
            return key in self._bare_words
        text = self._bare_text
        return f"\n{key}\n" in text or f":{key}\n" in text or f".{key}\n" in text

    @cached_property
    def _bare_text(self) -> str:
        return _bare_text(self.words)

    @cached_property
    def _bare_words(self) -> set[str]:
        return bare_words(self.words)

    def _holds_decoded(self, text: str) -> bool:
        """JSON inside a text may be held as the value that it says."""
        try:
            words = words_in(decode(text.encode("utf-8", "surrogatepass")))[0]
        except ReadError:
            return False
        return all(word in self.words or self.holds_otherwise(word) for word in words.difference(NOTHING))


def _uncached(usage: dict[str, Any]) -> list[Word]:
    counts = [usage.get(key) or 0 for key in ("input", "cache_read", "cache_write")]
    return [counts[0] - counts[1] - counts[2]] if all(type(each) is int for each in counts) else []


def _time(text: str) -> float | None:
    """A moment; databases write it without a zone, and mean UTC."""
    if text[4:5] != "-" or text[7:8] != "-":
        return None
    found = from_iso(text)
    return found if found is not None else from_iso(f"{text.replace(' ', 'T', 1)}Z")
