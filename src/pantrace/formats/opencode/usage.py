"""Tokens and cost of a message, whose meaning changed between OpenCode's versions.

`catalog/token_conventions.toml` says how each version counts. `input` leaves out cached tokens. `output` leaves out
reasoning in newer versions; in older ones it was the provider's own number, which includes reasoning with all
providers but Google. If a record has a total, the reading that adds up to it wins: a session keeps the version that
began it, even if a newer one continues it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pantrace.catalog import convention
from pantrace.model import Usage

from .taken_keys import NAME, Raw

OURS = "pantrace"
"""The version in files that pantrace writes; they count as the newest OpenCode does."""
NOTE = "note"
_INCLUSIVE = "output_includes_reasoning"
# The model counts to 2**53, and four of these may be added up.
_MOST = 2**51


def output_holds_reasoning(version: Any) -> bool | None:
    """Whether this version of OpenCode includes reasoning in the output; None if the version is unknown."""
    return _holds_reasoning(version) if type(version) is str else None


@lru_cache(256)
def _holds_reasoning(version: str) -> bool | None:
    if version == OURS:
        return False
    found = convention(NAME, version)
    return None if found is None else found.reasoning not in found.output


def take_usage(rest: Raw, by_version: bool | None = False) -> Usage | None:
    """Tokens and cost in the model's convention; `by_version` says whether output includes reasoning.

    OpenCode writes zeros before a model has answered, and if the provider reports nothing. So all zeros mean "not
    reported"."""
    tokens, cost = rest.get("tokens"), rest.get("cost")
    if tokens is None and cost is None:
        return None
    if type(cost) is not float and not (type(cost) is int and -_MOST < cost < _MOST):
        cost = None
    left = dict(tokens) if type(tokens) is dict else {}
    cached = left.get("cache")
    cache = dict(cached) if type(cached) is dict else {}
    given, output, reasoning = _take_count(left, "input"), _take_count(left, "output"), _take_count(left, "reasoning")
    read, written, total = _take_count(cache, "read"), _take_count(cache, "write"), _take_count(left, "total")
    # Sessions that were migrated from JSON files have zeros, too, whatever was used.
    if not (given or output or reasoning or total or read or written or cost):
        return None
    if cost is not None:
        del rest["cost"]
    if cache:
        left["cache"] = cache
    elif cached and type(cached) is dict:
        del left["cache"]
    if left:
        rest["tokens"] = left
    elif tokens and type(tokens) is dict:
        del rest["tokens"]
    about: Raw = {}
    if reasoning and output is not None:
        # Gemini reports thoughts apart from its output, whatever the version of OpenCode.
        if by_version and str(rest.get("providerID")).startswith("google"):
            by_version = False
        apart = None if total is None else total - (given or 0) - output - (read or 0) - (written or 0)
        about = _about_reasoning(reasoning, output, apart, by_version)
    return Usage(
        input=None if given is None else given + (read or 0) + (written or 0),
        output=output if output is None or _INCLUSIVE in about else output + (reasoning or 0),
        cache_read=read,
        cache_write=written,
        reasoning=reasoning,
        total=total,
        cost_usd=cost,
        extra={NAME: about} if about else {},
    )


def _take_count(counts: Raw, key: str) -> int | None:
    value = counts.get(key)
    # A larger number is not a count; it is kept as it is.
    if type(value) is not int or not -_MOST < value < _MOST:
        return None
    del counts[key]
    return value


def _about_reasoning(reasoning: int, output: int, apart: int | None, by_version: bool | None) -> Raw:
    """Whether `output` includes the reasoning, and what is uncertain; `apart` is how much the total exceeds the sum of
    the other counts."""
    # The total is proof. The version is not: it is that of the OpenCode which began the session.
    by_total = {0: True, reasoning: False}.get(apart) if apart is not None else None
    inclusive = by_total if by_total is not None else bool(by_version) and output >= reasoning
    about: Raw = {_INCLUSIVE: True} if inclusive else {}
    counted = "part of" if inclusive else "apart from"
    if by_total is not None:
        if by_version is not None and by_total != by_version:
            about[NOTE] = f"by its total, reasoning is {counted} output, which is not what this version usually writes"
    elif apart is not None:
        about[NOTE] = f"the total is not the sum of the counts; reasoning was counted as {counted} output"
    elif by_version is None:
        about[NOTE] = f"neither total nor version says where reasoning is; it was counted as {counted} output"
    elif inclusive != by_version:
        about[NOTE] = f"output is smaller than the reasoning it should include; it was counted as {counted} output"
    return about


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
        # A session of an older version must come back with that version's numbers.
        held = _INCLUSIVE in usage.extra.get(NAME, {})
        tokens["output"] = usage.output if held else usage.output - (usage.reasoning or 0)
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
