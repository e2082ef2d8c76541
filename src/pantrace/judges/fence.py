"""Fences: text from a recording must not be able to give the judge instructions.

Each line of it begins with a bar, so no line can look like one of ours. It is placed between two fence lines with a
word that comes from a hash of all the material and does not occur in it: its author could not know the word.
Characters that are invisible or change what a reader sees (controls, direction marks, tags) become escapes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

BAR = "| "

BREAKS = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_JOINERS = "\u200c\u200d"
"""Invisible, but part of words and emoji."""


def fence_word(texts: Iterable[str]) -> str:
    """A word that none of the texts contains, the same for the same texts."""
    # A judge may read full-width letters as plain ones, so they must not be able to imitate a fence.
    plain = [unicodedata.normalize("NFKC", text).casefold() for text in texts]
    # A hash, not a random word: the prompt must be the same in the next run, or the cache would never hit.
    digest = sha256("\x00".join(plain).encode("utf-8", "surrogatepass"))
    while (word := digest.hexdigest()[:12]) and any(word in text for text in plain):
        digest.update(b"again")
    return word


def fence(name: str, text: str, word: str) -> str:
    """A text between its fence lines."""
    lines = [BAR + visible(line) for line in BREAKS.split(text)]
    return "\n".join([f"<<<{word} {name}>>>", *lines, f"<<<end {word}>>>"])


def visible(line: str) -> str:
    """A line in which every invisible character is an escape."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(_escape(letter) if _is_hidden(letter) else letter for letter in line)


def _is_hidden(letter: str) -> bool:
    if letter == "\t" or letter in _JOINERS:
        return False
    # Variation selectors beyond the first sixteen can smuggle bytes that a model reads and a person does not see.
    return unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") or "\U000e0100" <= letter <= "\U000e01ef"


def _escape(letter: str) -> str:
    return f"\\u{{{ord(letter):x}}}"
