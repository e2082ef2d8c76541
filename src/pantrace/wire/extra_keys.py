"""Extra keys: data of a foreign record that the model has no field for.

A reader keeps it in the `extra` of the nearest struct, under its format's name; the writer of the same format puts it
back. Other formats do not look at it, and the loss report names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pantrace.model import Extra

from .json import unknown_keys


def rest_of(row: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """The keys that a reader does not know, without those that are null."""
    return {key: value for key, value in unknown_keys(row, known).items() if value is not None}


def as_extra(name: str, rest: dict[str, Any]) -> Extra:
    """Unknown keys as the `extra` of a struct; {} if there are none."""
    return {name: rest} if rest else {}


def rest_in(extra: Extra, name: str) -> dict[str, Any]:
    """What `extra` has for a format; {} if nothing, or if another program put something else there."""
    found = extra.get(name)
    return found if isinstance(found, dict) else {}
