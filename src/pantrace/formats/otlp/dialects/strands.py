"""Strands Agents: messages of Bedrock in events; `invoke_agent` spans repeat the tokens of their calls."""

from __future__ import annotations

from pantrace.model import Tool

from ..span import Span, SpanContent
from . import genai


def recognise(span: Span) -> bool:
    given = span.attributes.values
    return "strands-agents" in (given.get("gen_ai.system"), given.get("gen_ai.provider.name")) or span.scope.startswith(
        "strands."
    )


def read(span: Span) -> SpanContent:
    told = genai.read_attributes(span)
    if span.attributes.text("gen_ai.tool.status") == "error":
        told.failed = True
    names = span.attributes.json("gen_ai.agent.tools") if told.kind == "agent" else None
    if told.tools is None and isinstance(names, list):
        # Only names here; the spans of the tools themselves have description and schema.
        told.tools = tuple(Tool(name=name) for name in names if isinstance(name, str)) or None
    elif told.kind == "tool":
        told.schema = span.attributes.json("gen_ai.tool.json_schema")
    return genai.with_failure(told, span)
