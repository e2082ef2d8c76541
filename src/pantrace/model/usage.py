"""Usage: tokens and cost, in one convention."""

from __future__ import annotations

from typing import Literal

from .record import Extra, Record


class Usage(Record, frozen=True, kw_only=True, gc=False):
    """Tokens and cost of model calls. None means not reported; it never means zero."""

    input: int | None = None
    """Prompt tokens, cached ones included."""
    output: int | None = None
    """Generated tokens, reasoning included."""
    cache_read: int | None = None
    """The part of `input` that came from a cache."""
    cache_write: int | None = None
    """The part of `input` that was written to a cache."""
    reasoning: int | None = None
    """The part of `output` that was reasoning."""
    total: int | None = None
    cost_usd: float | None = None
    provenance: Literal["reported", "derived", "absent"] = "reported"
    """derived: computed by pantrace from other numbers of the source."""
    extra: Extra = {}


_COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning", "total", "cost_usd")


def add_usage(usages: list[Usage]) -> Usage | None:
    """The sum of several usages: each number over those that report it, None where none does."""
    if not usages:
        return None
    sums: dict[str, float | None] = {}
    for name in _COUNTS:
        reported = [value for usage in usages if (value := getattr(usage, name)) is not None]
        sums[name] = sum(reported) if reported else None
    return Usage(**sums, provenance="derived" if len(usages) > 1 else usages[0].provenance)  # type: ignore[arg-type]


def answer_tokens(usage: Usage) -> int | None:
    """The part of `output` that is not reasoning."""
    return usage.output if usage.output is None else usage.output - (usage.reasoning or 0)


def tool_prompt_tokens(usage: Usage) -> int | None:
    """The part of `input` that tools of the provider wrote (Gemini's tool_use_prompt_token_count)."""
    for kept in usage.extra.values():
        if isinstance(kept, dict) and isinstance(count := kept.get("tool_use_prompt_token_count"), int):
            return count
    return None


def prompt_tokens(usage: Usage) -> int | None:
    """The part of `input` that was the prompt itself."""
    return usage.input if usage.input is None else usage.input - (tool_prompt_tokens(usage) or 0)


def reports(usage: Usage) -> bool:
    """Whether it tells tokens or cost."""
    return not (usage.input is None and usage.output is None and usage.total is None and usage.cost_usd is None)


def total_tokens(usage: Usage) -> int | None:
    """The total as reported, else input and output together; None when nothing is reported."""
    if usage.total is not None or (usage.input is None and usage.output is None):
        return usage.total
    return (usage.input or 0) + (usage.output or 0)
