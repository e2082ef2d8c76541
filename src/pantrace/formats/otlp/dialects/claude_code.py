"""Claude Code's own telemetry: spans and events `claude_code.*`. Prompts and answers are redacted by default.

Token counts follow Anthropic's convention: input excludes tokens that were read from or written to the cache.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import StepError, Text, Usage

from ..attribute_values import unpacked
from ..span import Kind, Message, Span, SpanContent
from . import genai

_KINDS: dict[str, Kind] = {
    "interaction": "agent",
    "user_prompt": "agent",
    "llm_request": "model",
    "api_request": "model",
    "api_error": "model",
    "tool": "tool",
    "tool_result": "tool",
}
_PREFIX = "claude_code."
REDACTED = "<REDACTED>"
_ARGUMENTS = {"full_command": "command", "file_path": "file_path"}


def recognise(span: Span) -> bool:
    return span.name.startswith(_PREFIX)


def read(span: Span) -> SpanContent:
    given = span.attributes
    told = SpanContent(kind=_KINDS.get(span.name.removeprefix(_PREFIX), "other"))
    told.conversation = genai.conversation_of(span)
    if told.kind == "agent":
        told.name = "claude-code"
        prompt = given.text("user_prompt", "prompt")
        # Prompts are redacted unless the user enables them; a placeholder is not a prompt.
        if prompt is not None and prompt != REDACTED:
            told.heard = [Message("user", (Text(text=prompt),))]
    elif told.kind == "model":
        told.model = given.text("model")
        told.usage = _usage(span)
        told.first_token = _seconds(given.number("ttft_ms"))
        told.stop = given.text("stop_reason")
    elif told.kind == "tool":
        told.name = given.text("tool_name") or "tool"
        told.call_id = given.text("tool_use_id")
        told.arguments = unpacked(given.get("tool_input")) if "tool_input" in given else _arguments(span)
    told = genai.with_failure(told, span)
    # Events have it as a text. A failed tool need not set the status of its span.
    if given.get("success") in (False, "false"):
        told.failed = True
        told.error = told.error or StepError(kind=given.text("error_type"), message=given.text("error"))
    return told


def _usage(span: Span) -> Usage | None:
    given = span.attributes
    read, written = given.count("cache_read_tokens"), given.count("cache_creation_tokens")
    fresh = given.count("input_tokens")
    # The model's input includes cached tokens, so they are added.
    whole = None if fresh is None else fresh + (read or 0) + (written or 0)
    found = Usage(
        input=whole,
        output=given.count("output_tokens"),
        cache_read=read,
        cache_write=written,
        cost_usd=given.number("cost_usd"),
        derived=("input",) if whole is not None and whole != fresh else (),
    )
    return found if found != Usage() else None


def _arguments(span: Span) -> dict[str, Any] | None:
    found = {name: span.attributes.get(key) for key, name in _ARGUMENTS.items() if key in span.attributes}
    return found or None


def _seconds(milliseconds: int | float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
