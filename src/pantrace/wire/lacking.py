"""Words that no sample has had yet, by the other forms in which a sample may have them.

A list of all samples in front of a log lacks hundreds of words until the last sample has come. What a word's other
forms are does not depend on the sample, so they are made once, and each sample is asked for all of them together.
"""

from __future__ import annotations

from collections.abc import Iterable

from .words import Held, Word, bare_words, other_forms

STALE = 1_024
"""So many words more than are lacking may be known, before those that were found are forgotten."""


class Lacking:
    """The words, and where to look for them."""

    def __init__(self) -> None:
        self.words: set[Word] = set()
        self._known: set[Word] = set()
        """Those whose forms are below, some of which have been found since."""
        self._forms: dict[Word, list[Word]] = {}
        self._keys: dict[str, list[Word]] = {}
        self._others: set[Word] = set()
        """Those whose forms depend on the sample."""
        self._asked: set[Word] | None = None
        """The words of the last sample, if all that is lacking now was lacking then: they need not be asked again."""

    def add(self, words: Iterable[Word]) -> None:
        new = {*words} - self.words
        if new:
            self._asked = None
        self.words |= new
        for word in new - self._known:
            forms = other_forms(word)
            if forms is None:
                self._others.add(word)
                continue
            if forms.exact or forms.key is not None:
                self._known.add(word)
            for form in forms.exact:
                self._forms.setdefault(form, []).append(word)
            if forms.key is not None:
                self._keys.setdefault(forms.key, []).append(word)

    def keep(self, words: set[Word]) -> None:
        """Forget all others."""
        self.words = words
        self._others &= words
        if len(self._known) > len(words) + STALE:
            self._known, self._forms, self._keys = set(), {}, {}
            self.words = set()
            self.add(words)

    def take(self, held: Held) -> set[Word]:
        """Those that a sample has in other forms; they are not lacking any more."""
        if not self.words:
            return set()
        found: set[Word] = set()
        words = held.words if self._asked is None else held.words - self._asked
        self._asked = held.words
        for form in self._forms.keys() & words:
            found.update(self._forms[form])
        if self._keys:
            for key in self._keys.keys() & bare_words(words):
                found.update(self._keys[key])
        found.update([word for word in self._others if held.holds_in_other_form(word)])
        found &= self.words
        self.words -= found
        self._others -= found
        return found
