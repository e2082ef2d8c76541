"""Strands Agents: messages of Bedrock in events; `invoke_agent` spans repeat the sums of their calls."""

from __future__ import annotations

from ..span import Span, Told
from . import genai


def recognise(span: Span) -> bool:
    given = span.attributes.values
    return "strands-agents" in (given.get("gen_ai.system"), given.get("gen_ai.provider.name")) or span.scope.startswith(
        "strands."
    )


def read(span: Span) -> Told:
    told = genai.read_attributes(span)
    if span.attributes.text("gen_ai.tool.status") == "error":
        told.failed = True
    if told.kind == "agent" and told.tools is None and told.said is not None:
        # A structured answer is told as text, with a newline behind it.
        told.said = told.said[-1:]
    return genai.with_failure(told, span)
