"""OpenLLMetry (Traceloop): `traceloop.*`, and before 0.50 indexed `gen_ai.prompt.N.*` and `gen_ai.completion.N.*`.

Newer versions record content as the conventions do. Spans of LangChain's tasks repeat their model calls.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..attribute_values import unpacked
from ..messages import message_from, plain_output, tools_from
from ..span import Kind, Message, Span, SpanContent
from . import genai

_KINDS: dict[str, Kind] = {"tool": "tool", "agent": "agent"}


def recognise(span: Span) -> bool:
    given = span.attributes.values
    return any(key.startswith(("traceloop.", "gen_ai.prompt.", "gen_ai.completion.", "llm.request.")) for key in given)


def read(span: Span) -> SpanContent:
    told = genai.read_attributes(span)
    given = span.attributes
    # Versions before the conventions' `gen_ai.operation.name` have kinds of their own.
    if told.kind == "other" and "gen_ai.operation.name" not in given:
        kind = _KINDS.get(given.text("traceloop.span.kind") or "", "other")
        told.kind = "model" if given.text("llm.request.type") in ("chat", "completion") else kind
        if told.kind == "model":
            told.usage = genai.usage_of(span)
    if told.kind in ("model", "agent"):
        _content(told, span)
    elif told.kind == "tool":
        told.name = told.name or given.text("traceloop.entity.name")
        if told.arguments is None:
            told.arguments = _input(given.json("traceloop.entity.input", "gen_ai.task.input"))
        if told.output is None:
            told.output = _output(given.json("traceloop.entity.output", "gen_ai.task.output"))
        # LangChain's message around the tool's answer; an answer that is JSON itself must stay as it is.
        told.output = _output(unpacked(told.output)) if _is_langchain(unpacked(told.output)) else told.output
    if told.kind == "agent":
        told.name = told.name or given.text("traceloop.entity.name")
    return genai.with_failure(told, span)


def complete(call: Span, task: Span) -> None:
    """Add the reasoning tokens that only LangChain's task around a model call reports."""
    usage = call.told.usage
    if usage is None or usage.reasoning is not None:
        return
    match unpacked(task.attributes.values.get("traceloop.entity.output")):
        case {
            "outputs": {
                "kwargs": {
                    "response_metadata": {"id": str(answer)},
                    "usage_metadata": {"output_token_details": {"reasoning": int(count)}},
                }
            }
        } if answer == call.attributes.values.get("gen_ai.response.id") and 0 <= count <= (usage.output or 0):
            # The ids must agree: a task may hold several model calls.
            call.told.usage = msgspec.structs.replace(usage, reasoning=count)


def _content(told: SpanContent, span: Span) -> None:
    given = span.attributes
    if heard := given.nested("gen_ai.prompt"):
        told.heard = _messages(heard, "user")
    if said := given.nested("gen_ai.completion"):
        told.said = _messages(said, "assistant")
        reason = said[-1].get("finish_reason")
        told.stop = reason if isinstance(reason, str) else told.stop
    if functions := given.nested("llm.request.functions"):
        told.tools = tools_from(functions)


def _messages(listed: list[dict[str, Any]], role: str) -> list[Message]:
    unpacked_ = [{**each, "content": unpacked(each.get("content"))} for each in listed]
    found = []
    for each in unpacked_:
        # What a tool answered, or an answer that happens to be a JSON object, is text and no message.
        if not isinstance(each["content"], (str, list)) or each.get("role") == "tool":
            each["content"] = listed[unpacked_.index(each)].get("content")
        if (message := message_from(each, role)) is not None:
            found.append(message)
    return found


def _is_langchain(value: Any) -> bool:
    return isinstance(value, dict) and ("output" in value or "outputs" in value)


def _input(value: Any) -> Any:
    """A tool's arguments, which LangChain wraps, as an object or as text."""
    match value:
        case {"inputs": dict(inner)}:
            return inner
        case {"input_str": str(text)}:
            return unpacked(text)
    return value


def _output(value: Any) -> Any:
    match value:
        case {"output": {"kwargs": {"content": content}}}:
            return plain_output(content)
        case {"output": content} | {"outputs": content}:
            return plain_output(content)
    return value
