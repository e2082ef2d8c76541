"""Microsoft Agent Framework: agent spans repeat usage and messages of their calls; lists of reasons are JSON texts."""

from __future__ import annotations

from ..span import Span, SpanContent
from . import genai


def recognise(span: Span) -> bool:
    return span.scope == "agent_framework"


def read(span: Span) -> SpanContent:
    told = genai.read_attributes(span)
    if told.kind == "agent" and told.said:
        # Its calls tell all before the last answer. What stands behind it nobody else tells: how a handover went.
        answers = [place for place, each in enumerate(told.said) if each.role == "assistant"]
        told.said = told.said[answers[-1] :] if answers else []
    return genai.with_failure(told, span)
