"""Words: what a value says as texts, numbers and keys, and whether it says a word in another form."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from pantrace.errors import ReadError

from .json import decode
from .times import from_iso

Word = str | int | float


LONG = 24
"""A text of so many letters is also found inside a longer one; a shorter one might be there by chance."""
KEY = 64
"""Longer than any key."""

NOTHING = ("", "{}", "[]", "null")
"""Texts that say nothing, as JSON or otherwise."""


def is_long(word: Word) -> bool:
    return isinstance(word, str) and len(word) >= LONG


def words_in(value: Any) -> tuple[set[Word], int]:
    """All keys and values but null, and how many values there are."""
    words: set[Any] = set()
    said: list[Any] = []
    waiting = [value]
    for item in waiting:
        kind = type(item)
        if kind is dict:
            words.update(item)
            waiting += item.values()
        elif kind is list or kind is tuple:
            waiting += item
        else:
            said.append(item)
    words.update(said)
    words.discard(None)
    return words, len(said) - said.count(None)


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


class Held:
    """The words of a record of the model."""

    def __init__(self, plain: Any) -> None:
        self.words, self.count = words_in(plain)

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
        if word[:1] in ("{", "["):
            return self._holds_decoded(word)
        if word.startswith("data:"):
            # A picture in an address is held as its type and its data.
            return word.partition(",")[2] in self.words
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
        return all(word in self.words or self.holds_otherwise(word) for word in words.difference(NOTHING))


def _time(text: str) -> float | None:
    """A moment; databases write it without a zone, and mean UTC."""
    if text[4:5] != "-" or text[7:8] != "-":
        return None
    found = from_iso(text)
    return found if found is not None else from_iso(f"{text.replace(' ', 'T', 1)}Z")
