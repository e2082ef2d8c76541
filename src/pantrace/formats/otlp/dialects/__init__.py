"""Dialects: one small module for each way of recording an agent's run in spans.

The span itself shows its dialect: the first entry of `TABLE` that recognises a span reads it. A dialect turns a span
into `SpanContent`; trees, turns and steps are made in `..assemble`, in the same way for all dialects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..span import Span, SpanContent
from . import (
    adk,
    adot,
    agent_framework,
    claude_code,
    genai,
    langfuse,
    mlflow,
    openinference,
    openllmetry,
    pydantic_ai,
    strands,
)


class Dialect(NamedTuple):
    """How spans of one kind of instrumentation are recognised and read."""

    name: str
    recognise: Callable[[Span], bool]
    read: Callable[[Span], SpanContent]


# From the most specific to the most general: nearly all of them also use `gen_ai.*` attributes.
TABLE = (
    Dialect("claude-code", claude_code.recognise, claude_code.read),
    Dialect("langfuse", langfuse.recognise, langfuse.read),
    Dialect("mlflow", mlflow.recognise, mlflow.read),
    Dialect("adot", adot.recognise, adot.read),
    Dialect("openinference", openinference.recognise, openinference.read),
    Dialect("strands", strands.recognise, strands.read),
    Dialect("adk", adk.recognise, adk.read),
    Dialect("pydantic-ai", pydantic_ai.recognise, pydantic_ai.read),
    Dialect("agent-framework", agent_framework.recognise, agent_framework.read),
    Dialect("openllmetry", openllmetry.recognise, openllmetry.read),
    Dialect("genai", genai.recognise, genai.read),
)


def dialect_of(span: Span) -> str | None:
    """The dialect of a span; None if it says nothing about agents."""
    return next((each.name for each in TABLE if each.recognise(span)), None)


def read_span(span: Span) -> str | None:
    """Read a span's content by its dialect; returns the dialect's name."""
    for each in TABLE:
        if each.recognise(span):
            span.told = each.read(span)
            return each.name
    return None
