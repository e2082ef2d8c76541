"""Langfuse SDK: observations in `langfuse.observation.*`, with OpenAI's requests and answers inside."""

from __future__ import annotations

from typing import Any

from pantrace.model import Text, Usage

from ..messages import message_from, messages_from, tools_from
from ..span import Kind, Message, Span, SpanContent
from . import genai

_KINDS: dict[str, Kind] = {"generation": "model", "tool": "tool", "agent": "agent"}
_PREFIX = "langfuse.observation."


def recognise(span: Span) -> bool:
    return any(key.startswith(_PREFIX) for key in span.attributes.values)


def read(span: Span) -> SpanContent:
    given = span.attributes
    told = SpanContent(kind=_KINDS.get(given.text("langfuse.observation.type") or "", "other"))
    told.conversation = genai.conversation_of(span)
    heard, said = given.json("langfuse.observation.input"), given.json("langfuse.observation.output")
    if told.kind == "model":
        told.model = given.text("langfuse.observation.model.name")
        settings = given.json("langfuse.observation.model.parameters")
        told.settings = settings if isinstance(settings, dict) else None
        # With tools, the input is an object that holds the messages beside them.
        if isinstance(heard, dict):
            told.tools = tools_from(heard.get("tools"))
            heard = heard.get("messages")
        told.heard = messages_from(heard) if heard is not None else None
        if said is not None:
            message = message_from(said, "assistant")
            told.said = [message] if message is not None else []
        told.usage = _usage(given.json("langfuse.observation.usage_details"))
    elif told.kind == "tool":
        told.name, told.arguments = _call(heard, span.name)
        told.output = said
    elif told.kind == "agent":
        told.name = span.name
        told.heard = _argument(heard)
        told.said = [Message("assistant", (Text(text=said),))] if isinstance(said, str) else None
    told = genai.with_failure(told, span)
    # Langfuse has its own mark for errors, beside the span's status.
    if told.kind == "tool" and given.text("langfuse.observation.level") == "ERROR":
        told.failed = True
    return told


def _call(heard: Any, name: str) -> tuple[str, Any]:
    """A tool's name and arguments. The decorated function may take both, as a dispatcher, or the arguments alone."""
    match heard:
        case {"args": [str(tool), dict(arguments)], "kwargs": {}}:
            return tool, arguments
        case {"args": [], "kwargs": dict(arguments)}:
            return name, arguments
    return name, heard


def _argument(heard: Any) -> list[Message] | None:
    match heard:
        case {"args": [str(text), *_]}:
            return [Message("user", (Text(text=text),))]
    return messages_from(heard) if isinstance(heard, (str, list)) else None


def _usage(raw: Any) -> Usage | None:
    """Usage, under OpenAI's names or Langfuse's own."""
    if not isinstance(raw, dict):
        return None

    def count(*keys: str) -> int | None:
        return next((raw[key] for key in keys if type(raw.get(key)) is int), None)

    def detail(of: str, key: str) -> int | None:
        inner = raw.get(of)
        return inner[key] if isinstance(inner, dict) and type(inner.get(key)) is int else None

    found = Usage(
        input=count("prompt_tokens", "input", "input_tokens"),
        output=count("completion_tokens", "output", "output_tokens"),
        cache_read=detail("prompt_tokens_details", "cached_tokens"),
        reasoning=detail("completion_tokens_details", "reasoning_tokens"),
        total=count("total_tokens", "total"),
    )
    return found if found != Usage() else None
