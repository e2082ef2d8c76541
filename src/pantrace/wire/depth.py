"""Nesting depth and the length of numbers, both checked without recursion."""

from __future__ import annotations

import gc
import re
from typing import Any

from pantrace.errors import ReadError

from .limits import limits

OURS = 50
"""Levels that the model's own structs may add around a foreign value."""

# Possessive quantifiers (*+, ++): a hostile text must not make the pattern try again from each quote.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]|[^\s\[\]{},:"]++', re.DOTALL)


def is_too_deep(value: Any, most: int) -> bool:
    """Whether lists, objects and structs are nested more than `most` levels deep.

    The garbage collector's list of what an object refers to is several times faster than a walk in Python. It does not
    track objects that contain only plain values, so one level more may pass."""
    level = [value]
    for _ in range(most):
        # One level at a time, without recursion, which is what a deep value would break.
        level = [each for each in filter(gc.is_tracked, gc.get_referents(*level)) if not isinstance(each, type)]
        if not level:
            return False
    return True


def must_be_shallow(value: Any, place: str) -> Any:
    """A foreign value, or a ReadError if it is nested too deeply."""
    # What the collector does not track contains no lists or objects.
    if gc.is_tracked(value) and is_too_deep(value, limits().depth):
        raise ReadError(f"nested deeper than {limits().depth} levels", place=place, remedy=_REMEDY)
    return value


_REMEDY = "keep what lies deeper as text"


def refusal(data: bytes) -> ReadError | None:
    """Why a JSON text is beyond the limits, and where; None if it is within them."""
    now, depth = limits(), 0
    for token in _TOKEN.finditer(data):
        mark = token.group()
        depth += (mark in (b"[", b"{")) - (mark in (b"]", b"}"))
        if depth > now.depth:
            return ReadError(
                f"nested deeper than {now.depth} levels",
                place=_place(data, token.start()),
                remedy=_REMEDY,
            )
        # int() of more digits raises an error without a place, and takes quadratic time before that.
        if len(mark) > now.digits and mark.lstrip(b"-").isdigit():
            return ReadError(
                f"a number of more than {now.digits:,} digits",
                place=_place(data, token.start()),
                remedy="keep it as text",
            )
    return None


def _place(data: bytes, offset: int) -> str:
    before, newline = data[:offset], b"\n"
    return f"line {before.count(newline) + 1}, column {offset - before.rfind(newline)}"
