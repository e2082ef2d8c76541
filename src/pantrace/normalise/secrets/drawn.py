"""Random or made of words: tells a key from an identifier in a program, if the form alone says too little."""

from __future__ import annotations

import math
import re
from collections import Counter

from .names import is_word

_RUN = re.compile(r"[A-Z]?[a-z]{4,}|[A-Z]{4,}")
_VOWELS = frozenset("aeiouyAEIOUY")
# Words of most languages have vowels; five consonants in a row occur in keys.
_MANY_CONSONANTS = re.compile(r"(?i)[bcdfghjklmnpqrstvwxz]{5}")
_NUMBERS = re.compile(r"[0-9]+")
_DATE = re.compile(r"(?:19|20)[0-9]{2}[-_]?[0-9]{2}[-_]?[0-9]{2}")
_SIGN = re.compile(r"[^\w.\s-]")
_PIECE = re.compile(r"[A-Za-z0-9]{9,}")
_TURN = re.compile(r"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]")
_SAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LONG = 64
"""In a longer value, a placeholder such as %s may occur by chance."""


def entropy(value: str) -> float:
    """Shannon entropy, in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0


def _in_words(value: str) -> int:
    """The number of letters in pronounceable runs."""
    return sum(
        len(run)
        for run in _RUN.findall(value)
        if _MANY_CONSONANTS.search(run) is None and 4 * sum(each in _VOWELS for each in run) >= len(run)
    )


def is_wordless(value: str) -> bool:
    """Whether most letters of a value are not part of a word."""
    # At most three fifths of the letters in words: keys contain short words by chance.
    return 5 * _in_words(value) <= 3 * sum(each.isalpha() for each in value)


def is_drawn(value: str) -> bool:
    """Whether a value of the right form is not made of words: `authentication1` after `dropbox` is no token."""
    # Few different characters: "xxxxxxxx" and "aaaa1111" are placeholders, though a number may have only few digits.
    if (len(value) < _LONG and is_word(value)) or (len(set(value)) < 6 and not value.isdigit()) or len(set(value)) < 3:
        return False
    return (len(_NUMBERS.findall(value)) > 1 and _DATE.search(value) is None) or is_wordless(value)


def is_random(value: str) -> bool:
    """The same if the form says nearly nothing: many different characters, digits among them, hardly a word."""
    if not any(each.isdigit() for each in value) or entropy(value) <= 3.5 or _DATE.match(value):
        return False
    if not is_drawn(value) or not is_wordless(value):
        return False
    # Names have digits, too: pkcs7_issuer, win32api.RegOpenKeyEx, "X.509 Certificate". But letters and digits do not
    # alternate in them.
    if "=" in value.rstrip("=") or len(set(_SIGN.findall(value))) > 1:
        return True
    if len(_TURN.findall(value)) > 3:
        return True
    pieces = _PIECE.findall(value)
    return any(len(_TURN.findall(each)) > 2 or _is_broken_up(each) for each in pieces)


def _is_broken_up(piece: str) -> bool:
    """Whether small and large letters and digits alternate faster than in names: FlaskOAuth1App has runs of 2.8."""
    runs = len(_SAME.findall(piece))
    return runs > 5 and 2 * len(piece) <= 5 * runs
