"""Taking known keys out of foreign objects and putting them back: what is left over is kept, nothing is guessed.

OpenCode demands keys that other recordings do not know (a cost, a start time). A writer fills them with a neutral value
and lists their paths under `unreported`; a reader takes them out again, so that a filled 0 is never taken for a
measured one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pantrace.model import Usage

NAME = "opencode"
UNREPORTED = "unreported"

Raw = dict[str, Any]

_LIMIT = 2**53
_COUNTS = frozenset({"input", "output", "reasoning", "total"})


def take_text(rest: Raw, key: str) -> str | None:
    """The text under a key, taken out; anything but text stays where it is."""
    value = rest.get(key)
    if type(value) is not str:
        return None
    del rest[key]
    return value


def take_times(rest: Raw, first: str, second: str) -> tuple[float | None, float | None]:
    """Two moments of the object `time`, milliseconds to seconds; what else is in it stays."""
    time = rest.get("time")
    if type(time) is not dict or not time:
        return None, None
    one, two = time.get(first), time.get(second)
    at = one / 1000 if type(one) is int and -_LIMIT < one < _LIMIT else None
    ended = two / 1000 if type(two) is int and -_LIMIT < two < _LIMIT else None
    if len(time) == (at is not None) + (ended is not None):
        del rest["time"]
    else:
        taken = (None if at is None else first, None if ended is None else second)
        rest["time"] = {key: value for key, value in time.items() if key not in taken}
    return at, ended


def put_times(raw: Raw, **moments: float | None) -> None:
    """Moments into the object `time`, seconds to milliseconds."""
    time = {key: round(value * 1000) for key, value in moments.items() if value is not None}
    if time:
        raw["time"] = time


def _count(counts: Raw, key: str) -> int | None:
    value = counts.get(key)
    return value if type(value) is int else None


def take_usage(rest: Raw) -> Usage | None:
    """Tokens and cost in the model's convention.

    OpenCode counts `input` without cached and `output` without reasoning tokens. It writes zeros before a model has
    answered and where the provider counts nothing: all zeros mean that nothing was reported."""
    tokens, cost = rest.get("tokens"), rest.get("cost")
    if type(cost) not in (int, float):
        cost = None
    if type(tokens) is not dict:
        tokens = {}
    cache = tokens.get("cache")
    if type(cache) is not dict:
        cache = {}
    given, output, reasoning = _count(tokens, "input"), _count(tokens, "output"), _count(tokens, "reasoning")
    read, written, total = _count(cache, "read"), _count(cache, "write"), _count(tokens, "total")
    if not (given or output or reasoning or total or read or written or cost):
        return None
    if cost is not None:
        del rest["cost"]
    left = {
        key: value
        for key, value in tokens.items()
        if key not in _COUNTS or (value is not None and type(value) is not int)
    }
    if "cache" in left and cache:
        kept = {key: value for key, value in cache.items() if key not in ("read", "write") or type(value) is not int}
        if kept:
            left["cache"] = kept
        else:
            del left["cache"]
    if left:
        rest["tokens"] = left
    else:
        rest.pop("tokens", None)
    return Usage(
        input=None if given is None else given + (read or 0) + (written or 0),
        output=None if output is None else output + (reasoning or 0),
        cache_read=read,
        cache_write=written,
        reasoning=reasoning,
        total=total,
        cost_usd=cost,
    )


def put_usage(raw: Raw, usage: Usage | None) -> None:
    """Tokens and cost in OpenCode's convention; what is not reported is left out."""
    if usage is None:
        return
    tokens: Raw = {}
    if usage.total is not None:
        tokens["total"] = usage.total
    if usage.input is not None:
        tokens["input"] = usage.input - (usage.cache_read or 0) - (usage.cache_write or 0)
    if usage.output is not None:
        tokens["output"] = usage.output - (usage.reasoning or 0)
    if usage.reasoning is not None:
        tokens["reasoning"] = usage.reasoning
    cache = {
        key: value for key, value in (("read", usage.cache_read), ("write", usage.cache_write)) if value is not None
    }
    if cache:
        tokens["cache"] = cache
    if tokens:
        raw["tokens"] = tokens
    if usage.cost_usd is not None:
        raw["cost"] = usage.cost_usd


def merged(built: Raw, rest: Mapping[str, Any]) -> Raw:
    """What was built from the model, with what was left over from the source laid over it."""
    for key, value in rest.items():
        there = built.get(key)
        built[key] = merged(there, value) if type(there) is dict and type(value) is dict else value
    return built


def fill(raw: Raw, required: Mapping[str, Any]) -> Raw:
    """The object with every required path present; those that had to be invented are listed in it."""
    invented = [path for path, value in required.items() if _put(raw, path.split("."), value)]
    if invented:
        raw[UNREPORTED] = invented
    return raw


def _put(raw: Raw, path: list[str], value: Any) -> bool:
    """Put a value where none is; objects on the way are copied, as the sample may hold them."""
    first, *inner = path
    if not inner:
        if first in raw:
            return False
        raw[first] = value
        return True
    below = raw.get(first, {})
    if type(below) is not dict or (not below and first in raw):
        return False
    below = dict(below)
    if not _put(below, inner, value):
        return False
    raw[first] = below
    return True


def without_invented(raw: Raw) -> Raw:
    """A copy of the object without what its writer had to invent."""
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
