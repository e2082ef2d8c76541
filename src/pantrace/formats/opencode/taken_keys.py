"""Removes known keys from foreign objects and puts them back; what is left over is kept.

OpenCode requires keys that other recordings do not have (a cost, a start time). The writer fills them in with a neutral
value and lists their paths under `unreported`; the reader removes them again, so that an invented 0 is never taken
for a measured one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAME = "opencode"
UNREPORTED = "unreported"

Raw = dict[str, Any]

# Above this a float cannot hold every integer.
_LIMIT = 2**53


def take_text(rest: Raw, key: str) -> str | None:
    """Remove and return the text under a key; anything but text stays."""
    value = rest.get(key)
    if type(value) is not str:
        return None
    del rest[key]
    return value


def take_times(rest: Raw, first: str, second: str) -> tuple[float | None, float | None]:
    """Remove two times from the object `time` and return them in seconds; the rest of it stays."""
    time = rest.get("time")
    if type(time) is not dict or not time:
        return None, None
    one, two = time.get(first), time.get(second)
    # `type(...) is int` and not isinstance: true and false are ints to Python, and this is the fast path of every part.
    at = one / 1000 if type(one) is int and -_LIMIT < one < _LIMIT else None
    ended = two / 1000 if type(two) is int and -_LIMIT < two < _LIMIT else None
    if len(time) == (at is not None) + (ended is not None):
        del rest["time"]
    else:
        taken = (None if at is None else first, None if ended is None else second)
        rest["time"] = {key: value for key, value in time.items() if key not in taken}
    return at, ended


def put_times(raw: Raw, **moments: float | None) -> None:
    """Put times into the object `time`, in milliseconds."""
    time = {key: round(value * 1000) for key, value in moments.items() if value is not None}
    if time:
        raw["time"] = time


def merge(built: Raw, rest: Mapping[str, Any]) -> Raw:
    """The object built from the model, overlaid with what was left over from the source."""
    for key, value in rest.items():
        there = built.get(key)
        built[key] = merge(there, value) if type(there) is dict and type(value) is dict else value
    return built


def fill(raw: Raw, required: Mapping[str, Any]) -> Raw:
    """Fill in every required path that is missing, and list those paths in the object."""
    invented = [path for path, value in required.items() if _put(raw, path.split("."), value)]
    if invented:
        raw[UNREPORTED] = invented
    return raw


def _put(raw: Raw, path: list[str], value: Any) -> bool:
    """Put a value where there is none. Objects on the way are copied, because the sample may share them."""
    first, *inner = path
    if not inner:
        if first in raw:
            return False
        raw[first] = value
        return True
    below = raw.get(first, {})
    # What the source really wrote there, even an empty object, is not overwritten.
    if type(below) is not dict or (not below and first in raw):
        return False
    below = dict(below)
    if not _put(below, inner, value):
        return False
    raw[first] = below
    return True


def without_invented(raw: Raw) -> Raw:
    """A copy of the object without the values that its writer invented."""
    paths = raw.get(UNREPORTED)
    if type(paths) is not list:
        return dict(raw)
    kept = {key: value for key, value in raw.items() if key != UNREPORTED}
    for path in paths:
        if type(path) is str:
            kept = _without(kept, path.split("."))
    return kept


def _without(raw: Raw, path: list[str]) -> Raw:
    first, *inner = path
    left = {key: value for key, value in raw.items() if key != first}
    if inner and type(raw.get(first)) is dict:
        below = _without(raw[first], inner)
        if below:
            left[first] = below
    return left
