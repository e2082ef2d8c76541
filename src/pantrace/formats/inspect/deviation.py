"""Deviations: how a log differs from what would be written for the sample that was read from it.

`tool_calls: []` and no `tool_calls` mean the same, and so do the shapes of early logs and current ones; but a log that
is written again should be the log that was read. The difference is kept under `extra["inspect"]["exact"]`. Computing it
takes as long as reading, so rows that are exactly as Inspect writes them now are skipped: `is_current`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Sample
from pantrace.wire.difference import SAME, apply_difference, difference
from pantrace.wire.times import from_iso, iso

from .content import own_extra
from .usage import from_usage, to_usage

EXACT = "exact"

_OBJECTS, _LISTS = ("attachments", "metadata", "model_usage", "scores", "store"), ("events", "messages")
_MESSAGE = {
    "system": frozenset({"id", "content", "role", "source", "metadata"}),
    "user": frozenset({"id", "content", "role", "source", "metadata", "tool_call_id"}),
    "assistant": frozenset({"id", "content", "role", "source", "metadata", "model", "tool_calls"}),
    "tool": frozenset({"id", "content", "role", "source", "metadata", "tool_call_id", "function", "error"}),
}
_CALL = {"id", "function", "arguments", "type"}
_PART = {"text": {"type", "text"}, "reasoning": {"type", "reasoning", "summary", "signature", "redacted"}}
_SCORE = {"value", "answer", "explanation", "metadata", "history"}


def deviation(written: Any, read: Any) -> dict[str, Any]:
    """The change from what would be written to what was read, as a note for `extra`; empty if there is none."""
    change = difference(written, read)
    return {} if change is SAME else {EXACT: change}


def restore(written: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """The written record with the deviation of a note applied."""
    return apply_difference(written, kept[EXACT]) if EXACT in kept else written


def annotate(sample: Sample, notes: dict[str, Any]) -> Sample:
    """A sample with notes under `extra["inspect"]`."""
    return msgspec.structs.replace(sample, extra={**sample.extra, "inspect": {**own_extra(sample.extra), **notes}})


def is_current(row: dict[str, Any]) -> bool:
    """Whether a sample would certainly be written exactly as it is."""
    # May say no too often, never yes: a wrong no costs time, a wrong yes would lose how the log was written.
    if None in row.values() or "error" in row or "limit" in row:
        return False
    return (
        all(type(row.get(key)) is dict for key in _OBJECTS)
        and all(type(row.get(key)) is list for key in _LISTS)
        and all(iso(from_iso(row[key]) or 0.0) == row[key] for key in ("started_at", "completed_at") if key in row)
        and all(map(_is_current_message, row["messages"]))
        and all(map(_is_current_score, row["scores"].values()))
        and all(map(_is_current_usage, row["model_usage"].values()))
    )


def _is_current_message(message: dict[str, Any]) -> bool:
    known = _MESSAGE.get(message.get("role", ""))
    if known is None or not message.keys() <= known:
        return False
    content = message["content"]
    # Empty values are left out when writing, except for an empty content, which is required.
    if not all(message.values()) and (content != "" or not all(message[key] for key in message if key != "content")):
        return False
    for call in message.get("tool_calls", ()):
        if call.keys() != _CALL or call["type"] != "function":
            return False
    return type(content) is str or all(map(_is_current_part, content))


def _is_current_part(part: dict[str, Any]) -> bool:
    known = _PART.get(part.get("type", ""))
    return known is not None and part.keys() <= known and all(part.values())


def _is_current_score(score: dict[str, Any]) -> bool:
    return score.keys() <= _SCORE and score.get("history") == [] and None not in score.values()


def _is_current_usage(counts: dict[str, Any]) -> bool:
    usage = to_usage(counts)
    return usage is not None and from_usage(usage) == counts
