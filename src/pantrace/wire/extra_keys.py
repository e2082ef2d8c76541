"""Extra keys: data of a foreign record that the model has no field for.

A reader keeps it in the `extra` of the nearest struct, under its format's name; the writer of the same format puts it
back. Other formats do not look at it, and the loss report names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pantrace.model import Extra

from .json import unknown_keys


def rest_of(row: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """The keys that a reader does not know, without those that are null."""
    return {key: value for key, value in unknown_keys(row, known).items() if value is not None}


def texts_in(row: Mapping[str, Any], *keys: str) -> list[str]:
    """Those of some keys that hold a text: a reader that takes nothing but texts knows only these."""
    return [key for key in keys if isinstance(row.get(key), str)]


def said_again(row: Mapping[str, Any], **known: Any) -> list[str]:
    """Those of some keys whose value is known without them: a type that all have, a number that is the place."""
    return [key for key, value in known.items() if key in row and type(row[key]) is type(value) and row[key] == value]


def as_extra(name: str, rest: dict[str, Any]) -> Extra:
    """Unknown keys as the `extra` of a struct; {} if there are none."""
    return {name: rest} if rest else {}


def rest_in(extra: Extra, name: str) -> dict[str, Any]:
    """What `extra` has for a format; {} if nothing, or if another program put something else there."""
    found = extra.get(name)
    return found if isinstance(found, dict) else {}
