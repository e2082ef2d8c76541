"""OpenInference (Arize): `openinference.span.kind`, flattened `llm.input_messages.N.message.*`, `input.value`.

Spec: github.com/Arize-ai/openinference/tree/main/spec
Token counts: prompt includes cached tokens, completion includes reasoning.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Text, Usage

from ..attribute_values import unpacked
from ..messages import message_from, messages_from, tools_from
from ..span import Kind, Message, Span, SpanContent
from . import genai
from .events import scores_of

_KINDS: dict[str, Kind] = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}

_SPAN_KINDS = (*_KINDS, "CHAIN", "RETRIEVER", "RERANKER", "EMBEDDING", "GUARDRAIL", "EVALUATOR", "PROMPT")
"""Phoenix's API has the kind beside the attributes, as `span_kind`."""


def recognise(span: Span) -> bool:
    return (
        "openinference.span.kind" in span.attributes
        or span.plain.get("span_kind") in _SPAN_KINDS
        # Some exporters drop the kind; these attributes are OpenInference's alone.
        or any(key.startswith("llm.input_messages.") for key in span.attributes.values)
    )


def read(span: Span) -> SpanContent:
    given = span.attributes
    kind = _KINDS.get(given.text("openinference.span.kind") or span.plain.get("span_kind") or "LLM", "other")
    told = SpanContent(kind=kind, conversation=genai.conversation_of(span))
    told.agent = given.text("agent.name", "gen_ai.agent.name")  # Phoenix adds its own attributes to other dialects'
    if kind == "model":
        _model(told, span)
    elif kind == "tool":
        told.name = given.text("tool.name") or span.name
        told.description = given.text("tool.description")
        told.call_id = given.text("tool.id", "tool_call.id")
        told.arguments = _arguments(span)
        told.output = _output(span)
    elif kind == "agent":
        # Outside of a graph the span is named after the code that ran, not after an agent.
        told.name = told.agent or (span.name if "graph.node.id" in given else None)
        _input_and_output(told, span)
    told.scores = scores_of(span)
    return genai.with_failure(told, span)


def _model(told: SpanContent, span: Span) -> None:
    given = span.attributes
    told.model = given.text("llm.model_name")
    settings = given.json("llm.invocation_parameters")
    told.settings = settings if isinstance(settings, dict) and settings else None
    told.stop = given.text("llm.finish_reason")
    if heard := given.nested("llm.input_messages"):
        told.heard = [each for raw in heard if (each := _message(raw, "user")) is not None]
    if said := given.nested("llm.output_messages"):
        told.said = [each for raw in said if (each := _message(raw, "assistant")) is not None]
    if told.heard is None and told.said is None:
        _input_and_output(told, span)
    else:
        _add_instructions(told, span)
    declared = [each.get("tool", {}).get("json_schema") for each in given.nested("llm.tools")]
    told.tools = tools_from([each for each in declared if each is not None])
    found = Usage(
        input=given.count("llm.token_count.prompt"),
        output=given.count("llm.token_count.completion"),
        cache_read=given.count("llm.token_count.prompt_details.cache_read"),
        cache_write=given.count("llm.token_count.prompt_details.cache_write"),
        reasoning=given.count("llm.token_count.completion_details.reasoning"),
        total=given.count("llm.token_count.total"),
        cost_usd=given.number("llm.cost.total"),
    )
    told.usage = found if found != Usage() else None


def _message(raw: dict[str, Any], role: str) -> Message | None:
    inner = raw.get("message", raw)
    return message_from(inner, role) if isinstance(inner, dict) else None


def _add_instructions(told: SpanContent, span: Span) -> None:
    """Add instructions of OpenAI's Responses, which are only in the output's value."""
    given = span.attributes
    response = unpacked(given.values.get("output.value"))
    if isinstance(response, dict) and isinstance(text := response.get("instructions"), str):
        told.instructions = text
        given.taken.add("output.value")


def _input_and_output(told: SpanContent, span: Span) -> None:
    """Take input and output from the whole values, if no single messages are recorded."""
    given = span.attributes
    heard, said = given.json("input.value"), given.json("output.value")
    told.heard = _texts(heard, "user")
    told.said = _texts(said, "assistant")


def _texts(value: Any, role: str) -> list[Message] | None:
    if value is None:
        return None
    match value:
        case {"messages": list(listed)}:
            return messages_from(listed)
        case {"generations": [[{"message": dict(message)}, *_], *_]}:
            found = message_from(message, role)
            return [found] if found is not None else []
        case [{"role": str()} | {"type": str()} | {"kwargs": dict()}, *_]:
            return messages_from(value)
        case {"role": str()} | {"content": _}:
            found = message_from(value, role)
            return [found] if found is not None else []
        case str(text):
            return [Message("user" if role == "user" else "assistant", (Text(text=text),))]
    return None


def _arguments(span: Span) -> Any:
    """A tool's arguments: `input.value`, else `tool.parameters`, which some instrumentations use for the schema."""
    given = span.attributes
    value = given.json("input.value")
    if not isinstance(value, dict):
        parameters = unpacked(given.values.get("tool.parameters"))
        # With `properties` it is a JSON Schema, not the arguments.
        if isinstance(parameters, dict) and "properties" not in parameters:
            return given.json("tool.parameters")
    match value:
        case {"args": list(), "kwargs": dict(inner)}:
            return inner
    return value


def _output(span: Span) -> Any:
    value = span.attributes.get("output.value")
    match unpacked(value):
        case {"type": "tool", "data": {"content": content}} | {"kwargs": {"content": content, "tool_call_id": _}}:
            return content
    return value
