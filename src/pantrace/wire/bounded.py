"""Bounded: decoding JSON that is not nested too deeply, as every walk over a value recurses."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec

from pantrace.errors import ReadError

from .depth import is_too_deep, refusal
from .limits import limits

T = TypeVar("T")

_decoder = msgspec.json.Decoder()


class BoundedDecoder:
    """A decoder of texts that are not nested too deeply. Looking for depth takes a fifth of decoding; a decoder whose
    type has few levels sees it for nothing, but takes as long to be made as a megabyte to be read. So it is made when
    many bytes were looked at, and after a text that is deeper it is not tried for as many."""

    _WORTH = 1 << 22
    _LEVELS = 12
    """Those of a log of Inspect, the deepest of all formats: an argument of a call in a message of a choice, in the
    output of an event of a sample."""

    def __init__(self) -> None:
        self._left = self._WORTH

    def decode(self, data: bytes | memoryview) -> Any:
        """Any JSON value as msgspec decodes it; a ReadError says where a text is nested too deeply."""
        if self._left <= 0 and limits().depth >= self._LEVELS:
            try:
                return _few_levels(self._LEVELS).decode(data)
            except msgspec.ValidationError:
                self._left = self._WORTH
        self._left -= len(data)
        return shallow(_decoder.decode(data), data)


@cache
def _few_levels(most: int) -> msgspec.json.Decoder[Any]:
    """A decoder of any JSON of at most so many levels in which lists of lists hold nothing but texts and numbers: with
    all shapes, twice as many types would be needed for each level."""
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


def shallow(value: T, data: bytes | memoryview, more: int = 0) -> T:
    """The value of a text, unless it is nested too deeply: every walk over it recurses."""
    most = limits().depth + more
    if len(data) > 2 * most and opens_more_than(most, data) and is_too_deep(value, most):
        raise beyond(data)
    return value


_SHORT = 1 << 14


def opens_more_than(most: int, data: bytes | memoryview) -> bool:
    """Whether a text may have more opening brackets than levels are allowed, those in its words included: one that has
    not cannot be too deep. In a short text they are few, and counted sooner than its value is gone through."""
    return len(data) > _SHORT or not isinstance(data, bytes) or data.count(b"{") + data.count(b"[") > most


def beyond(data: bytes | memoryview) -> ReadError:
    """The error of a text that is nested too deeply, with its place."""
    return refusal(bytes(data)) or ReadError("nested too deeply to be read")
