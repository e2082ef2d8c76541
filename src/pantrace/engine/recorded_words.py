"""Recorded words: whether a recording contains texts, or only who acted when and at what cost."""

from __future__ import annotations

from pantrace.model import Part, Text, Thinking, ToolCall, ToolResult, Trajectory


def has_words(trajectory: Trajectory) -> bool:
    """Whether a recording says what was said and done, and not only who acted when and at what cost."""
    return any(_says_something(part) for step in trajectory.steps if step.kind != "note" for part in step.parts)


def _says_something(part: Part) -> bool:
    if type(part) is Text:
        return not part.synthetic and not part.text.isspace() and part.text != ""
    if type(part) is Thinking:
        return bool(part.text or part.summary)
    if type(part) is ToolCall:
        return bool(part.arguments)
    if type(part) is ToolResult:
        return part.output is not None or part.error is not None
    return True
