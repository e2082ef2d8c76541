"""File names made of ids: every system takes them, and no two are the same."""

from __future__ import annotations

import hashlib
import re
import unicodedata

LONGEST = 255
"""Bytes in the name of a file, at most: what Linux, macOS and Windows take."""

_RESERVED = re.compile(r"(CON|PRN|AUX|NUL|COM\d|LPT\d)", re.IGNORECASE)
"""Devices of Windows, whatever stands behind a dot."""


class FileNames:
    """Names for the files of one folder.

    An id that no file can be named after is cleaned, cut, and led to by a hash: the same id always gets the same name,
    and another id never does, also in a folder that is written to again."""

    def __init__(self, suffix: str):
        self.suffix = suffix
        self._taken: set[str] = set()

    def name(self, stem: str) -> str:
        """The name of the next file."""
        plain = clean(stem)
        name = f"{plain}{self.suffix}"
        if plain != stem or len(name.encode()) > LONGEST or _same(name) in self._taken:
            name = f"{mark(stem, LONGEST - len(self.suffix.encode()))}{self.suffix}"
        number = 2
        while _same(name) in self._taken:
            name = f"{mark(f'{stem}#{number}', LONGEST - len(self.suffix.encode()))}{self.suffix}"
            number += 1
        self._taken.add(_same(name))
        return name


def clean(text: str) -> str:
    """The text with `_` for all that a file name should not hold."""
    safe = "".join(letter if letter.isalnum() or letter in "-_.@+" else "_" for letter in text)
    if not safe.strip("."):
        return "sample"
    if safe[0] in ".-":
        safe = f"_{safe[1:]}"  # neither hidden nor taken for an option
    head = unicodedata.normalize("NFKC", safe.partition(".")[0])
    return f"_{safe}" if _RESERVED.fullmatch(head) else safe


def name_of(text: str, longest: int = 200) -> str:
    """The name of a folder for an id: the id itself where it can be one, else cleaned, cut and with a hash."""
    plain = clean(text)
    return plain if plain == text and len(plain.encode()) <= longest else mark(text, longest)


def mark(text: str, longest: int) -> str:
    """The cleaned text, cut to so many bytes, with a hash of the whole behind it."""
    mark = "-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return clean(text).encode()[: longest - len(mark)].decode("utf-8", "ignore") + mark


def _same(name: str) -> str:
    """What two names share that some systems take for one: case and the way accents are put together."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
