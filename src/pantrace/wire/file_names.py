"""File names made from ids: valid and unique on every system."""

from __future__ import annotations

import hashlib
import re
import unicodedata

LONGEST = 255
"""Maximum bytes of a file name on Linux, macOS and Windows."""

_RESERVED = re.compile(r"(CON|PRN|AUX|NUL|COM\d|LPT\d)", re.IGNORECASE)
"""Device names of Windows, which are reserved with any suffix."""


class FileNames:
    """Names for the files of one folder.

    An id that cannot be a file name is cleaned, cut, and followed by a hash: the same id always gets the same name, and
    no other id does, even in a folder that is written to again."""

    def __init__(self, suffix: str):
        self.suffix = suffix
        self._taken: set[str] = set()

    def name(self, stem: str) -> str:
        """The name of the next file."""
        plain = clean(stem)
        name = f"{plain}{self.suffix}"
        # A hash only if necessary: most ids stay readable.
        if plain != stem or len(name.encode()) > LONGEST or _same(name) in self._taken:
            name = f"{hashed_name(stem, LONGEST - len(self.suffix.encode()))}{self.suffix}"
        number = 2
        while _same(name) in self._taken:
            name = f"{hashed_name(f'{stem}#{number}', LONGEST - len(self.suffix.encode()))}{self.suffix}"
            number += 1
        self._taken.add(_same(name))
        return name


def clean(text: str) -> str:
    """The text with `_` in place of characters that a file name should not have."""
    safe = "".join(letter if letter.isalnum() or letter in "-_.@+" else "_" for letter in text)
    # "." and ".." are folders, and "" is nothing.
    if not safe.strip("."):
        return "sample"
    if safe[0] in ".-":
        safe = f"_{safe[1:]}"  # must be neither hidden nor look like an option
    head = unicodedata.normalize("NFKC", safe.partition(".")[0])
    return f"_{safe}" if _RESERVED.fullmatch(head) else safe


def name_of(text: str, longest: int = 200) -> str:
    """A folder's name for an id: the id itself if possible, otherwise cleaned, shortened and with a hash."""
    plain = clean(text)
    return plain if plain == text and len(plain.encode()) <= longest else hashed_name(text, longest)


def hashed_name(text: str, longest: int) -> str:
    """The cleaned text, cut to `longest` bytes, followed by a hash of the whole text."""
    digest = "-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return clean(text).encode()[: longest - len(digest)].decode("utf-8", "ignore") + digest


def _same(name: str) -> str:
    """A key that is equal for names which some file systems treat as one (case, composed accents)."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
