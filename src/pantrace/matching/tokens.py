"""What model calls report, summed up once for all metrics of tokens."""

from __future__ import annotations

from pantrace.model import Usage

Sum = tuple[int | None, int]
"""The sum of what is reported, None if nothing is, and how many calls report nothing."""


class Tokens:
    """The counts of several model calls. A field that a call leaves out is not 0; it adds nothing."""

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
        """Input of each call without what tools added to it."""
        if self.tool_prompt[0] is not None:
            both = zip(inputs, tools, strict=True)
            self.prompts = [given if given is None else given - (tool or 0) for given, tool in both]
        self.answers = outputs
        """Output of each call without reasoning."""
        if self.reasoning[0] is not None:
            pairs = zip(outputs, self.thoughts, strict=True)
            self.answers = [given if given is None else given - (thought or 0) for given, thought in pairs]
        self.totals = [
            # As `total_tokens` says: the total as reported, else input and output together.
            usage.total if usage.total is not None or (given is None and made is None) else (given or 0) + (made or 0)
            for usage, given, made in zip(usages, inputs, outputs, strict=True)
        ]
        """All tokens of each call."""


def total(counts: list[int | None]) -> Sum:
    """The sum of what is reported and how many report nothing."""
    if None in counts:
        missing = counts.count(None)
        return None if missing == len(counts) else sum(filter(None, counts)), missing
    return (sum(counts) if counts else None), 0  # type: ignore[arg-type]
