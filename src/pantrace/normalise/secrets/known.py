"""Known secrets: keys of this very process, found whatever they look like.

Sent to another process they are sealed: how each begins, how long it is and a salted hash. That finds them there and
does not tell them; only one that is short could be guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from secrets import token_bytes
from typing import NamedTuple

from .tokens import Span

KIND = "configured-key"
_BEGINNING = 3


class _Sealed(NamedTuple):
    beginning: str
    length: int
    digest: bytes


class KnownSecrets:
    """Finds them in a text, the longest first."""

    def __init__(self, values: Iterable[str]):
        self._values = sorted(values, key=len, reverse=True)
        self._sealed: list[_Sealed] = []
        self._salt = b""

    def __bool__(self) -> bool:
        return bool(self._values or self._sealed)

    def spans(self, text: str) -> Iterator[Span]:
        """Where they stand."""
        for value in self._values:
            place = text.find(value)
            while place >= 0:
                yield place, place + len(value), KIND
                place = text.find(value, place + len(value))
        for beginning, length, digest in self._sealed:
            place = text.find(beginning)
            while 0 <= place <= len(text) - length:
                end = place + length
                if _digest(self._salt, text[place:end]) == digest:
                    yield place, end, KIND
                    place = text.find(beginning, end)
                else:
                    place = text.find(beginning, place + 1)

    def __getstate__(self) -> dict[str, object]:
        salt = self._salt or token_bytes(16)
        sealed = [
            _Sealed(value[: min(_BEGINNING, len(value) // 4)], len(value), _digest(salt, value))
            for value in self._values
        ]
        return {"_values": [], "_sealed": self._sealed or sealed, "_salt": salt}


def _digest(salt: bytes, text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), key=salt, digest_size=20).digest()
