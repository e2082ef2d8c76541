"""Usage: Inspect's `input_tokens` excludes cached prompt tokens; the model's input includes them.

Inspect has no "not reported" for input, output and total: if every count is 0, nothing was counted."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from pantrace.model import Usage, add_usage

_Tokens = Annotated[int, msgspec.Meta(ge=-(2**51), le=2**51)]
"""So small that the sum of three still fits into a count of the model."""


class _Counts(msgspec.Struct, gc=False):
    """Inspect's counts; other numbers are kept as they are."""

    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None
    total_tokens: _Tokens | None = None
    input_tokens_cache_write: _Tokens | None = None
    input_tokens_cache_read: _Tokens | None = None
    reasoning_tokens: _Tokens | None = None
    total_cost: _Tokens | float | None = None


_KNOWN = frozenset(_Counts.__struct_fields__)


def to_usage(raw: Any) -> Usage | None:
    """Tokens and cost of one or many model calls; None if nothing was counted."""
    if not isinstance(raw, dict):
        return None
    try:
        counts = msgspec.convert(raw, _Counts)
    except msgspec.ValidationError:
        return None
    fresh, output, total = counts.input_tokens, counts.output_tokens, counts.total_tokens
    read, write = counts.input_tokens_cache_read, counts.input_tokens_cache_write
    reasoning, cost = counts.reasoning_tokens, counts.total_cost
    cached = (read or 0) + (write or 0)
    # Inspect writes 0 for what was not counted.
    if not (fresh or output or cached or reasoning):
        if not total and not cost:
            return None
        fresh = output = None
    extra: dict[str, Any] = {}
    if not raw.keys() <= _KNOWN:
        extra = {key: value for key, value in raw.items() if key not in _KNOWN and value is not None}
    if cached and fresh is not None and total == fresh + (output or 0):
        # In logs of early versions, the total shows that the input already includes the cached tokens.
        extra["input_includes_cache"] = True
        cached = 0
    return Usage(
        input=None if fresh is None else fresh + cached,
        output=output,
        cache_read=read,
        cache_write=write,
        reasoning=reasoning,
        total=total,
        cost_usd=cost,
        extra={"inspect": extra} if extra else {},
    )


def from_usage(usage: Usage) -> dict[str, Any]:
    """Inspect's counts, which have no "not reported": missing input and output are written as 0."""
    extra = dict(usage.extra.get("inspect") or {})
    inclusive = extra.pop("input_includes_cache", False)
    cached = 0 if inclusive else (usage.cache_read or 0) + (usage.cache_write or 0)
    total = usage.total if usage.total is not None else (usage.input or 0) + (usage.output or 0)
    found: dict[str, Any] = {
        # Not below 0: cached tokens may be known while the input is not.
        "input_tokens": max((usage.input or 0) - cached, 0),
        "output_tokens": usage.output or 0,
        "total_tokens": total,
    }
    for key, value in (
        ("input_tokens_cache_write", usage.cache_write),
        ("input_tokens_cache_read", usage.cache_read),
        ("reasoning_tokens", usage.reasoning),
        ("total_cost", usage.cost_usd),
    ):
        if value is not None:
            found[key] = value
    return found | extra


def by_model(pairs: list[tuple[str, Usage]]) -> dict[str, Any]:
    """Counts summed by model name."""
    groups: dict[str, list[Usage]] = {}
    for model, usage in pairs:
        groups.setdefault(model, []).append(usage)
    return {model: from_usage(total) for model, usages in groups.items() if (total := add_usage(usages)) is not None}
