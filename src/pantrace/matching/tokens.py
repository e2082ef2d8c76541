"""Sums of the usage of model calls, computed once for all token metrics."""

from __future__ import annotations

from pantrace.model import Usage

Sum = tuple[int | None, int]
"""The sum of the reported counts (None if there are none), and how many calls report nothing."""


class Tokens:
    """The counts of several model calls. A field that a call leaves out is unknown, not 0; it adds nothing."""

    __slots__ = ("answers", "cached", "input", "output", "prompts", "reasoning", "thoughts", "tool_prompt", "totals")

    def __init__(self, usages: list[Usage]) -> None:
        inputs = [usage.input for usage in usages]
        outputs = [usage.output for usage in usages]
        self.thoughts = [usage.reasoning for usage in usages]
        """Reasoning tokens of each call."""
        self.input = total(inputs)
        self.output = total(outputs)
        self.cached = total([usage.cache_read for usage in usages])
        self.reasoning = total(self.thoughts)
        tools = [usage.tool_prompt for usage in usages]
        self.tool_prompt = total(tools)
        self.prompts = inputs
        """The input of each call, without tool prompts."""
        if self.tool_prompt[0] is not None:
            both = zip(inputs, tools, strict=True)
            self.prompts = [given if given is None else given - (tool or 0) for given, tool in both]
        self.answers = outputs
        """The output of each call, without reasoning."""
        if self.reasoning[0] is not None:
            pairs = zip(outputs, self.thoughts, strict=True)
            self.answers = [given if given is None else given - (thought or 0) for given, thought in pairs]
        self.totals = [
            # The same rule as `total_tokens`, written out for speed: the reported total, or else input + output.
            usage.total if usage.total is not None or (given is None and made is None) else (given or 0) + (made or 0)
            for usage, given, made in zip(usages, inputs, outputs, strict=True)
        ]
        """All tokens of each call."""


def total(counts: list[int | None]) -> Sum:
    """The sum of the reported counts, and how many are missing."""
    if None in counts:
        missing = counts.count(None)
        return None if missing == len(counts) else sum(filter(None, counts)), missing
    return (sum(counts) if counts else None), 0  # type: ignore[arg-type]
