"""Patches: what a record says beyond what a foreign shape could say of it, as a list of places and values.

A writer that has a free corner in its format (ADK's `custom_metadata`) puts the patch there; its reader applies it.
What the foreign shape adds (an invocation's id, the name of an agent) stays, except inside parts, usage, errors,
outcomes and scores, where an addition would be a claim that nobody made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pantrace.errors import ReadError

Entry = list[Any]
"""[path, value], or [path] for a key that is to be removed; a path is a list of keys and indices."""

_EXACT = {"arguments", "output", "state", "state_delta", "raw", "parameters", "config", "dataset", "labels"}
"""Fields that hold data: a value that differs at all is brought back whole."""

_NOTHING_ADDED = {"parts", "usage", "error", "outcome", "scores"}


def difference(before: Any, after: Any) -> list[Entry]:
    """What must be set in `after` so that it says all that `before` says; both plain values without `source`."""
    return [[list(path), *value] for path, value in _differences((), before, after)]


def _differences(path: tuple[Any, ...], before: Any, after: Any) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    if type(before) is type(after) and before == after:
        return
    exact = bool(path) and (path[-1] in _EXACT or path[-2:-1] == ("extra",))
    if not exact and isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key == "source":
                continue
            if key in after:
                yield from _differences((*path, key), value, after[key])
            else:
                yield (*path, key), (value,)
        for key in after:
            if key not in before and not _NOTHING_ADDED.isdisjoint((*path, key)):
                yield (*path, key), ()
    elif not exact and isinstance(before, list) and isinstance(after, list) and _aligned(before, after):
        for index, (item, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences((*path, index), item, other)
    else:
        yield path, (before,)


def _aligned(before: list[Any], after: list[Any]) -> bool:
    """Whether the items of two lists stand for each other; if not, the list is brought back whole."""
    return len(before) == len(after) and all(
        isinstance(item, dict)
        and isinstance(other, dict)
        and all(item.get(key) == other.get(key) for key in ("type", "role", "name"))
        for item, other in zip(before, after, strict=True)
    )


def applied(value: Any, patch: Any) -> Any:
    """The value with a patch applied; changes the plain value it is given. ReadError when the patch does not fit."""
    try:
        for path, *new in patch:
            place = value
            for key in path[:-1]:
                place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
            if new:
                place[path[-1]] = new[0]
            else:
                place.pop(path[-1], None)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise ReadError("the pantrace notes in it do not fit the record", remedy="was it edited by hand?") from None
    return value
