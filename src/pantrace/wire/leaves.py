"""Leaves: where in a record a word stands, and by which word a value is found (`wire.unread`)."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from .words import CONTAINERS, Word

SHORT = 3
"""A text of so few letters may be anywhere."""
SMALL = 1_000
"""A whole or half number below may be anywhere."""

Leaf = tuple[str, str, Any]
"""Path without numbers, the nearest key, the value."""


def leaves_with(words: Set[Word], values: list[Any]) -> Iterator[Leaf]:
    """Where a key or a value stands that is among these words; null is nowhere."""
    waiting: list[tuple[Any, _Way]] = [(value, None) for value in values]
    for item, way in waiting:
        key = way[1] if way is not None else ""
        # Paths are made only for what is told: of a hundred values one is.
        if type(item) is dict:
            for name, inner in item.items():
                if inner is None:
                    continue
                if type(inner) in CONTAINERS:
                    waiting.append((inner, (way, name, name)))
                elif name in words or inner in words:
                    yield _path((way, name, name)), name, inner
        elif type(item) in CONTAINERS:
            inside = (way, key, "[]")
            is_told = key in words
            for inner in item:
                if type(inner) in CONTAINERS:
                    waiting.append((inner, inside))
                elif inner is not None and (is_told or inner in words):
                    yield _path(inside), key, inner
        elif item in words:
            yield "", "", item


_Way = tuple[Any, str, str] | None
"""How a value is reached: the way to what holds it, the nearest key, and the step from there."""


def _path(way: _Way) -> str:
    steps: list[str] = []
    while way is not None:
        way, _, step = way
        steps.append(step)
    return ".".join(reversed(steps)).replace(".[]", "[]")


def sought(key: str, value: Any) -> Word | None:
    """The word by which a value is found; None for what says nothing."""
    if value is None or (isinstance(value, str) and (not value or value.isspace())):
        return None
    return key if is_weak(value) else value


def is_weak(value: Any) -> bool:
    """Whether a value may be anywhere, and proves nothing."""
    if isinstance(value, str):
        return len(value) <= SHORT
    # Whole and half numbers; 10 may come back as 10.0.
    return isinstance(value, bool) or (-SMALL < value < SMALL and (2 * value) % 1 == 0)
