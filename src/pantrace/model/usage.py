"""Usage: tokens and cost, in one convention."""

from __future__ import annotations

from typing import Any

from .record import Count, Extra, Record


class Usage(Record, frozen=True, kw_only=True, gc=False):
    """Tokens and cost of model calls. None means not reported; it never means zero."""

    input: Count | None = None
    """Prompt tokens, cached ones included."""
    output: Count | None = None
    """Generated tokens, reasoning included."""
    cache_read: Count | None = None
    """The part of `input` that came from a cache."""
    cache_write: Count | None = None
    """The part of `input` that was written to a cache."""
    reasoning: Count | None = None
    """The part of `output` that was reasoning."""
    tool_prompt: Count | None = None
    """The part of `input` that tools of the provider wrote (Gemini's tool_use_prompt_token_count)."""
    total: Count | None = None
    cost_usd: Count | float | None = None
    derived: tuple[str, ...] = ()
    """Names of the numbers above that pantrace computed; the others are as reported by the source."""
    partial: tuple[str, ...] = ()
    """Names of the numbers above that are incomplete sums, because a part was not reported: lower bounds."""
    # Claude Code writes output_tokens 2 when a response begins, and never corrects it if the stream is cut.
    interrupted: bool = False
    """Reported at the start of a response that never ended. It is not in any total: the final usage is unknown."""
    extra: Extra = {}


NUMBERS = ("input", "output", "cache_read", "cache_write", "reasoning", "tool_prompt", "total", "cost_usd")
"""The fields of a usage that count something."""


def add_usage(usages: list[Usage]) -> Usage | None:
    """The sum of several usages: each number over those that report it, None where none does.

    A number that one usage reports and another does not is `partial`: how much is missing is unknown."""
    # A single usage stays as reported: as a sum, all of its numbers would be marked as derived.
    if len(usages) < 2:
        return usages[0] if usages else None
    sums: dict[str, Any] = {}
    partial: list[str] = []
    for name in NUMBERS:
        reported = [value for usage in usages if (value := getattr(usage, name)) is not None]
        # None if none reports it: 0 would claim that nothing was used.
        sums[name] = sum(reported) if reported else None
        if reported and (len(reported) < len(usages) or any(name in usage.partial for usage in usages)):
            partial.append(name)
    return Usage(**sums, derived=tuple([name for name in NUMBERS if sums[name] is not None]), partial=tuple(partial))


def answer_tokens(usage: Usage) -> int | None:
    """The part of `output` that is not reasoning."""
    return usage.output if usage.output is None else usage.output - (usage.reasoning or 0)


def prompt_tokens(usage: Usage) -> int | None:
    """The part of `input` that was the prompt itself."""
    return usage.input if usage.input is None else usage.input - (usage.tool_prompt or 0)


def reports(usage: Usage) -> bool:
    """Whether a usage states any tokens or cost."""
    return not (usage.input is None and usage.output is None and usage.total is None and usage.cost_usd is None)


def total_tokens(usage: Usage) -> int | None:
    """The total as reported, otherwise input and output together; None if nothing is reported."""
    # The reported total wins: some providers count tokens in it that are neither input nor output.
    if usage.total is not None or (usage.input is None and usage.output is None):
        return usage.total
    return (usage.input or 0) + (usage.output or 0)
