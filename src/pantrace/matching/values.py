"""Decides whether two JSON values are alike."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from pantrace.model import Record


class Likeness(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How strictly values are compared. True and false never equal a number; 1 equals 1.0."""

    normalise: bool = False
    """Ignore case and white space in texts."""
    tolerance: float = 0.0
    """How far two numbers may differ, absolutely or relative to the larger one."""

    def __post_init__(self) -> None:
        if not self.tolerance >= 0:
            raise ValueError(f"a tolerance is 0 or more, not {self.tolerance}")


STRICT = Likeness()


def normalise_text(text: str) -> str:
    """A text in lower case, with single spaces and none at the ends."""
    return " ".join(text.casefold().split())


def alike(left: Any, right: Any, how: Likeness = STRICT) -> bool:
    """Whether two values are the same, at every depth."""
    # In Python 1 == True; in JSON they are different values.
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        if left == right or not how.tolerance:
            return left == right
        # Integers beyond the range of floats have no distance as floats; only equal ones are alike.
        try:
            return math.isclose(left, right, rel_tol=how.tolerance, abs_tol=how.tolerance)
        except OverflowError:
            return False
    if isinstance(left, str) and isinstance(right, str):
        return left == right or (how.normalise and normalise_text(left) == normalise_text(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(alike(value, right[key], how) for key, value in left.items())
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(alike, left, right, (how,) * len(left)))
    return left is None and right is None


def canonical(value: Any, how: Likeness = STRICT) -> Hashable:
    """A key that two values share if and only if they are alike without tolerance."""
    if isinstance(value, str):
        return normalise_text(value) if how.normalise else value
    if isinstance(value, dict):
        return frozenset([(key, canonical(each, how)) for key, each in value.items()])
    if isinstance(value, list | tuple):
        return tuple([canonical(each, how) for each in value])
    # Tagged, because True and 1 are the same key in Python; with a type, as no list of JSON values holds one.
    if isinstance(value, bool):
        return (bool, value)
    return value if isinstance(value, int | float | None) else repr(value)
