"""Fences: text from a recording made unable to speak to the judge.

Each line of it begins with a bar, so no line of it can look like one of ours. It stands between two fence lines with a
word that follows from a hash of all the material and does not occur in it: whoever wrote the text could not know it.
Characters that are invisible or steer a reader (controls, direction marks, tags) are written out as escapes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

BAR = "| "

BREAKS = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_JOINERS = "\u200c\u200d"
"""Invisible, but part of the writing of words and emoji."""


def fence_word(texts: Iterable[str]) -> str:
    """A word that none of the texts contains, the same for the same texts."""
    # A judge may read full-width letters as plain ones, so a fence must not be imitated by them either.
    plain = [unicodedata.normalize("NFKC", text).casefold() for text in texts]
    digest = sha256("\x00".join(plain).encode("utf-8", "surrogatepass"))
    while (word := digest.hexdigest()[:12]) and any(word in text for text in plain):
        digest.update(b"again")
    return word


def fence(name: str, text: str, word: str) -> str:
    """A text between its fence lines."""
    lines = [BAR + visible(line) for line in BREAKS.split(text)]
    return "\n".join([f"<<<{word} {name}>>>", *lines, f"<<<end {word}>>>"])


def visible(line: str) -> str:
    """A line in which every invisible character is written out."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(_escape(letter) if _is_hidden(letter) else letter for letter in line)


def _is_hidden(letter: str) -> bool:
    if letter == "\t" or letter in _JOINERS:
        return False
    # Variation selectors beyond the sixteen of writing can carry hidden bytes.
    return unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") or "\U000e0100" <= letter <= "\U000e01ef"


def _escape(letter: str) -> str:
    return f"\\u{{{ord(letter):x}}}"
