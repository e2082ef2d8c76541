"""Microsoft Agent Framework: agent spans repeat the usage and messages of their calls; stop reasons are JSON text."""

from __future__ import annotations

from ..span import Span, SpanContent
from . import genai


def recognise(span: Span) -> bool:
    return span.scope == "agent_framework"


def read(span: Span) -> SpanContent:
    told = genai.read_attributes(span)
    if told.kind == "agent" and told.said:
        # The model calls have everything before the last answer. What follows it, how a handover went, is only here.
        answers = [place for place, each in enumerate(told.said) if each.role == "assistant"]
        told.said = told.said[answers[-1] :] if answers else []
    return genai.with_failure(told, span)
