"""AWS Distro for OpenTelemetry: content of OpenInference spans, moved into an event named after the library.

The body has `input.messages` and `output.messages`. Their contents are JSON texts of LangChain; the shape of these
texts shows whether a span is a model call or a tool.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Text, ToolCall
from pantrace.wire.optional import text_of

from ..attribute_values import unpacked
from ..messages import call_from, messages_from
from ..span import Event, Message, Span, SpanContent
from . import genai


def recognise(span: Span) -> bool:
    # Spans that still have their attributes are read by the OpenInference dialect, which knows more.
    return "openinference.span.kind" not in span.attributes and _event(span) is not None


def _event(span: Span) -> Event | None:
    for event in span.events:
        body = event.plain.get("body")
        if event.name == span.scope and isinstance(body, dict) and isinstance(body.get("output"), dict):
            return event
    return None


def read(span: Span) -> SpanContent:
    event = _event(span)
    told = SpanContent(conversation=genai.conversation_of(span))
    if event is None:
        return told
    body = event.plain["body"]
    given, answer = _content(body.get("input")), _content(body["output"])
    match answer:
        # LangChain's result of a model call.
        case {"generations": [[dict(generation), *_], *_]}:
            told.kind = "model"
            told.heard = messages_from((body.get("input") or {}).get("messages") or [])
            told.said = [_output_message(generation)]
        case {"type": "tool", "content": output, **rest}:
            told.kind, told.name, told.call_id = "tool", text_of(rest.get("name")), text_of(rest.get("tool_call_id"))
            told.arguments, told.output = given, output
            told.failed = rest.get("status") == "error"
    # An event that was not understood stays in `extra`.
    event.taken = told.kind != "other"
    return genai.with_failure(told, span)


def _content(side: Any) -> Any:
    messages = side.get("messages") if isinstance(side, dict) else None
    match messages:
        case [{"content": content}, *_]:
            return unpacked(content)
    return None


def _output_message(raw: dict[str, Any]) -> Message:
    message = raw.get("message")
    listed = message.get("tool_calls") if isinstance(message, dict) else None
    calls: list[ToolCall] = [call for each in listed or () if (call := call_from(each)) is not None]
    text = raw.get("text")
    return Message("assistant", (*((Text(text=text),) if isinstance(text, str) and text else ()), *calls))
