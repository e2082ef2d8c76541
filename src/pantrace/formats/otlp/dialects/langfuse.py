"""Langfuse SDK: observations in `langfuse.observation.*`, with OpenAI's requests and answers inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pantrace.model import Text, Tool, ToolCall, Usage
from pantrace.wire.field_map import is_number
from pantrace.wire.optional import object_of
from pantrace.wire.usage_check import settled

from ..messages import message_from, messages_from, tools_from
from ..span import Kind, Message, Span, SpanContent
from . import genai
from .events import scores_of

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
        told.heard, told.tools = _heard(heard)
        told.said = _said(said) if said is not None else None
        told.usage = _usage(
            given.json("langfuse.observation.usage_details"), given.json("langfuse.observation.cost_details")
        )
    elif told.kind == "tool":
        told.name, told.arguments = _call(heard, span.name)
        told.output = said
    elif told.kind == "agent":
        told.name = span.name
        told.heard = _argument(heard)
        told.said = [Message("assistant", (Text(text=said),))] if isinstance(said, str) else None
    told.scores = scores_of(span)
    told = genai.with_failure(told, span)
    # Langfuse has its own mark for errors, beside the span's status.
    if told.kind == "tool" and given.text("langfuse.observation.level") == "ERROR":
        told.failed = True
    return told


def _heard(heard: Any) -> tuple[list[Message] | None, tuple[Tool, ...] | None]:
    """What a model was told, and its tools: a list of messages, or the body of the request, which holds them."""
    tools, first = None, list[Message]()
    if isinstance(heard, dict) and (key := next((each for each in _BODIES if each in heard), None)) is not None:
        settings = object_of(heard.get("config"))
        tools = tools_from(heard.get("tools", settings.get("tools")))
        instruction = message_from(heard.get("system_instruction", settings.get("system_instruction")), "system")
        first = [instruction] if instruction is not None else []
        heard = heard[key]
    if isinstance(heard, list):
        heard = list(_with_roles(heard))
    if isinstance(heard, list) and (declared := [each["content"] for each in heard if _is_tool(each)]):
        # The callback of LangChain puts the declared tools among the messages.
        tools, heard = tools_from(declared), [each for each in heard if not _is_tool(each)]
    return ([*first, *messages_from(heard)] if heard is not None else None), tools


_BODIES = ("messages", "contents", "input")
"""Where requests of OpenAI's chat, of Gemini, and of OpenAI's Responses have their messages."""


def _with_roles(heard: list[Any]) -> Iterator[Any]:
    """Messages, with the role `tool` for those that have the name of a called tool instead, as LangChain's callback in
    JavaScript writes them."""
    called: dict[str, str | None] = {}
    for each in heard:
        role = object_of(each).get("role")
        if isinstance(role, str) and role in called:
            yield {"tool_call_id": called.pop(role), "name": role, **each, "role": "tool"}
            continue
        for part in message.parts if (message := message_from(each)) is not None else ():
            if isinstance(part, ToolCall):
                called.setdefault(part.name, part.id)
        yield each


def _is_tool(raw: Any) -> bool:
    return (
        isinstance(raw, dict) and raw.get("role") == "tool" and object_of(raw.get("content")).get("type") == "function"
    )


def _said(said: Any) -> list[Message]:
    """What a model answered: a message, several, or the body of the response around them."""
    match said:
        case {"candidates": [{"content": dict(content)}, *_]} | {"content": {"parts": list()} as content}:
            said = content
        case {"choices": [{"message": dict(answer)}, *_]}:
            said = answer
        case {"object": "response", "output": list(items)}:
            said = items
        case [{"toolName": str()}, *_]:
            calls = [{"id": each.get("toolCallId"), "name": each.get("toolName"), **each} for each in said]
            said = {"role": "assistant", "tool_calls": calls}
    listed = said if isinstance(said, list) else [said]
    return [message for each in listed if (message := message_from(each, "assistant")) is not None]


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


def _usage(raw: Any, cost: Any) -> Usage | None:
    """Usage, under OpenAI's names or Langfuse's own, and the cost."""
    raw = object_of(raw)

    def count(*keys: str) -> int | None:
        return next((raw[key] for key in keys if type(raw.get(key)) is int), None)

    def detail(of: str, key: str) -> int | None:
        inner = raw.get(of)
        return inner[key] if isinstance(inner, dict) and type(inner.get(key)) is int else None

    cached = count("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
    thought = count("output_reasoning_tokens", "output_reasoning")
    found = Usage(
        input=count("prompt_tokens", "input", "input_tokens"),
        output=count("completion_tokens", "output", "output_tokens"),
        cache_read=cached if cached is not None else detail("prompt_tokens_details", "cached_tokens"),
        cache_write=count("input_cache_creation", "cache_creation_input_tokens"),
        reasoning=thought if thought is not None else detail("completion_tokens_details", "reasoning_tokens"),
        total=count("total_tokens", "total"),
        cost_usd=total if is_number(total := object_of(cost).get("total")) and total else None,
    )
    # Langfuse stores kinds of tokens apart from each other: then its total has more than input and output.
    return settled(found) if found != Usage() else None
