"""Decoding JSON with a limit on nesting, because every walk over a value recurses."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec

from pantrace.errors import ReadError

from .depth import is_too_deep, refusal
from .limits import limits

T = TypeVar("T")

_decoder = msgspec.json.Decoder()


# One object for the process, so that the number of bytes counts over all files.
class BoundedDecoder:
    """A decoder that refuses texts nested too deeply. Checking the depth takes a fifth of the decoding time. A decoder
    for a type of few levels checks it for free, but building one takes as long as reading a megabyte. So it is built
    only after many bytes were read, and after a deeper text it is not tried again for as many."""

    _WORTH = 1 << 22
    _LEVELS = 12
    """Levels of an Inspect log, the deepest of all formats: an argument of a call in a message of a choice, in the
    output of an event of a sample."""

    def __init__(self) -> None:
        self._left = self._WORTH

    def decode(self, data: bytes | memoryview) -> Any:
        """Any JSON value as msgspec decodes it; ReadError names the place where a text is nested too deeply."""
        if self._left <= 0 and limits().depth >= self._LEVELS:
            try:
                return _few_levels(self._LEVELS).decode(data)
            except msgspec.ValidationError:
                # Deeper than the type allows, though perhaps not too deep: read such texts the usual way for a while.
                self._left = self._WORTH
        self._left -= len(data)
        return decode_shallow(_decoder.decode(data), data)


@cache
def _few_levels(most: int) -> msgspec.json.Decoder[Any]:
    """A decoder for JSON with at most `most` levels, in which lists of lists contain only texts and numbers: allowing
    every shape would double the number of types at each level."""
    flat: Any = None | bool | int | float | str
    lists = list.__class_getitem__(flat)
    levels = [flat, flat | lists | _object(flat)]
    for below in range(most - 1):
        items = list.__class_getitem__(flat | lists | _object(levels[below]))
        levels.append(flat | _object(levels[-1]) | items)
    return msgspec.json.Decoder(levels[most])


def _object(values: Any) -> Any:
    return dict.__class_getitem__((str, values))


bounded = BoundedDecoder()


def decode_shallow(value: T, data: bytes | memoryview, more: int = 0) -> T:
    """The decoded value, or a ReadError if it is nested too deeply."""
    most = limits().depth + more
    # A level takes at least two bytes, so a short text cannot be too deep.
    if len(data) > 2 * most and opens_more_than(most, data) and is_too_deep(value, most):
        raise depth_error(data)
    return value


_SHORT = 1 << 14


def opens_more_than(most: int, data: bytes | memoryview) -> bool:
    """Whether a text may open more brackets than levels are allowed. Brackets inside strings count too; a text that has
    few is certainly fine. Only short texts are counted: for a long one, walking through the value is faster."""
    return len(data) > _SHORT or not isinstance(data, bytes) or data.count(b"{") + data.count(b"[") > most


def depth_error(data: bytes | memoryview) -> ReadError:
    """The error for a text that is nested too deeply, with its place."""
    return refusal(bytes(data)) or ReadError("nested too deeply to be read")
