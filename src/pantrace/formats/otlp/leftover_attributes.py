"""Leftover attributes: data of spans that their trajectory does not have, kept so that nothing is dropped.

Attributes that a dialect has read are left out, unless a word of them is missing in the trajectory. So repeated history
is kept once, and history in other words is kept.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Trajectory
from pantrace.wire.extra_keys import as_extra
from pantrace.wire.json import to_plain
from pantrace.wire.words import words_in

from .assemble import Built
from .attribute_values import unpacked
from .plain_spans import Plain
from .span import NAME, Attributes, Span

SHAPE = frozenset(
    {
        "ai",
        "annotations",
        "args",
        "arguments",
        "assistant",
        "call_id",
        "content",
        "contents",
        "data",
        "description",
        "finish_reason",
        "function",
        "functionCall",
        "functionResponse",
        "function_call",
        "function_call_output",
        "human",
        "id",
        "index",
        "input",
        "inputSchema",
        "input_text",
        "inputs",
        "kwargs",
        "message",
        "message_content",
        "messages",
        "model",
        "name",
        "output",
        "output_text",
        "outputs",
        "parameters",
        "parts",
        "reasoning",
        "reasoningContent",
        "reasoningText",
        "refusal",
        "response",
        "result",
        "role",
        "status",
        "stop",
        "stringValue",
        "success",
        "summary",
        "summary_text",
        "system",
        "text",
        "text_call_response",
        "thinking",
        "thought",
        "tool",
        "toolResult",
        "toolResults",
        "toolSpec",
        "toolUse",
        "toolUseId",
        "tool_call",
        "tool_call_id",
        "tool_call_response",
        "tool_calls",
        "tool_use",
        "tools",
        "type",
        "user",
    }
)
"""Keys and types of messages in any vendor's form: they carry no data of their own, only their values do."""


def words_of(trajectory: Trajectory) -> set[Any]:
    """Every text and number in a trajectory."""
    found = set(words_in(to_plain(trajectory))[0])
    found |= {word.strip() for word in found if isinstance(word, str)}
    for word in list(found):
        if isinstance(word, str) and word[:1] in ("{", "["):
            # A tool's output may be kept as JSON text where a span has the decoded value.
            found.update(words_in(unpacked(word))[0] if not isinstance(unpacked(word), str) else ())
    return found


def with_kept(built: Built, words: set[Any]) -> Trajectory:
    """The trajectory with the leftovers of its spans: at the steps that they became, or else at the trajectory."""
    resources: list[Plain] = []
    scopes: list[Plain] = []

    def rest(span: Span) -> Plain:
        return _rest(span, words, resources, scopes)

    steps = tuple(
        step if span is None else msgspec.structs.replace(step, extra=as_extra(NAME, rest(span)))
        for step, span in zip(built.trajectory.steps, built.spans, strict=True)
    )
    children = tuple(with_kept(each, words) for each in built.children)
    loose = [rest(span) for span in built.loose]
    own: dict[str, Any] = {}
    for key, value in (("resources", resources), ("scopes", scopes), ("spans", loose)):
        if any(value):
            own[key] = value
    return msgspec.structs.replace(built.trajectory, steps=steps, children=children, extra=as_extra(NAME, own))


def _rest(span: Span, words: set[Any], resources: list[Plain], scopes: list[Plain]) -> Plain:
    found: Plain = {}
    for key, value in span.plain.items():
        if key == "attributes":
            value = _unsaid_attributes(span.attributes, words)
        elif key == "events":
            continue
        elif key in ("resource", "scope"):
            value = _place_in(value, resources if key == "resource" else scopes)
        # Nearly every span belongs to the first resource and scope: 0 is left out to keep `extra` small.
        if value not in (None, "", {}, []) and not (value == 0 and key in ("resource", "scope")):
            found[key] = value
    for key, is_log in (("events", False), ("logs", True)):
        events = [event for event in span.events if event.is_log == is_log]
        # An event that was read is kept as well if a word of it did not reach the trajectory.
        if kept := [event.plain for event in events if not event.taken or not _is_said(event.plain, words)]:
            found[key] = kept
    return found


def _place_in(value: Plain, known: list[Plain]) -> int:
    """The place of a resource or scope in the list of known ones; nearly always the first."""
    if value not in known:
        known.append(value)
    return known.index(value)


def _unsaid_attributes(attributes: Attributes, words: set[Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in attributes.values.items()
        if key not in attributes.taken or not _is_said(value, words)
    }


def _is_said(value: Any, words: set[Any]) -> bool:
    """Whether the trajectory has every text and number of a value."""
    value = unpacked(value)
    if isinstance(value, dict):
        return all(
            # A key with a dot is an attribute's name, not somebody's data.
            (key in words or key in SHAPE or "." in key) and _is_said(each, words)
            for key, each in value.items()
        )
    if isinstance(value, list):
        return all(_is_said(each, words) for each in value)
    # Too common to prove anything, and nothing is lost without them.
    if value is None or value == "" or isinstance(value, bool):
        return True
    if isinstance(value, str):
        return value in words or value.strip() in words or value in SHAPE
    return value in words
