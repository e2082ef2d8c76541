"""Pydantic AI: agent spans have all messages of a run and `gen_ai.aggregated_usage.*`, which repeat their calls."""

from __future__ import annotations

from ..messages import messages_from
from ..span import Message, Span, SpanContent
from . import genai


def recognise(span: Span) -> bool:
    return span.scope in ("pydantic-ai", "logfire.pydantic_ai") or "model_request_parameters" in span.attributes


def read(span: Span) -> SpanContent:
    given = span.attributes
    if "gen_ai.operation.name" not in given and "agent_name" in given and "final_result" in given:
        told = SpanContent(kind="agent", conversation=genai.conversation_of(span))
    elif "gen_ai.operation.name" not in given and span.name.startswith("running tool"):
        # Before version 3 of its format, the tool's arguments and result had names of their own.
        told = SpanContent(
            kind="tool" if span.name != "running tools" else "other", name=given.text("gen_ai.tool.name")
        )
        told.call_id = given.text("gen_ai.tool.call.id")
        told.arguments = given.json("tool_arguments")
        told.output = given.get("tool_response")
    else:
        told = genai.read_attributes(span)
    if told.kind == "agent":
        told.name = told.name or given.text("agent_name")
        told.model = told.model or given.text("model_name")
        every = messages_from(given.json("pydantic_ai.all_messages", "all_messages_events") or [])
        if told.heard is None and every:
            told.heard = _until_answered(every)
            # The agent's span has the whole run; what lies between is read from its model calls.
            told.said = every[-1:] if every[-1].role == "assistant" else None
        final = given.get("final_result")
        if told.said is None and isinstance(final, str):
            told.said = [genai.bare("assistant", final)]
    return genai.with_failure(told, span)


def _until_answered(messages: list[Message]) -> list[Message]:
    return messages[:-1] if messages[-1].role == "assistant" else messages
