"""Microsoft Agent Framework: agent spans repeat usage and messages of their calls; lists of reasons are JSON texts."""

from __future__ import annotations

from ..span import Span, Told
from . import genai


def recognise(span: Span) -> bool:
    return span.scope == "agent_framework"


def read(span: Span) -> Told:
    told = genai.read_attributes(span)
    if told.kind == "agent" and told.said:
        told.said = [each for each in told.said if each.role == "assistant"][-1:]
    return genai.with_failure(told, span)
