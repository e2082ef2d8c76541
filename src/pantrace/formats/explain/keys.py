"""Keys, read in any case as the original program does, and written back as they were spelled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

NAME = "explain"

Fits = Callable[[Any], bool]


class Vocabulary(msgspec.Struct, frozen=True):
    """The keys an object may have, each with a test of its value."""

    fits: dict[str, Fits]
    by_lower: dict[str, str]


def vocabulary(fits: dict[str, Fits]) -> Vocabulary:
    return Vocabulary(fits, {key.lower(): key for key in fits})


def split_known(
    row: dict[str, Any], words: Vocabulary, *, always: Collection[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The known values of an object, and a note of what else is needed to write it again.

    null counts as not stated. A key that is unknown, or whose value has the wrong type, is kept under `unknown`.
    A known key in another spelling is kept under `spelling`; with a null only if the key is `always` written."""
    values: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    spelling: dict[str, str] = {}
    for key, value in row.items():
        name = key if key in words.fits else words.by_lower.get(key.lower())
        # Two spellings of one key: the first counts, the second is kept as it is.
        if name is None or name in values:
            unknown[key] = value
        elif value is None:
            if key != name and name in always:
                spelling[name] = key
        # A value of the wrong type is not lost: it is written back as an unknown key.
        elif not words.fits[name](value):
            unknown[key] = value
        else:
            values[name] = value
            if key != name:
                spelling[name] = key
    note: dict[str, Any] = {}
    if unknown:
        note["unknown"] = unknown
    if spelling:
        note["spelling"] = spelling
    return values, note


def restore(row: dict[str, Any], note: Mapping[str, Any], *, always: Collection[str] = ()) -> dict[str, Any]:
    """An object with its source's spelling and unknown keys; values that were not stated are left out, or null for keys
    that are `always` there."""
    spelling = note.get("spelling", {})
    present = {spelling.get(key, key): value for key, value in row.items() if value is not None or key in always}
    return {**present, **note.get("unknown", {})}


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def is_anything(value: Any) -> bool:
    return True
