"""Model calls that a logger wrote as info events: `{"event": "info", "data": {"type": "model_call", ...}}`.

The logger of Health Universe's A2A SDK does this, with tokens under OpenAI's names, and leaves `model_usage` at zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from pantrace.wire.json import encode
from pantrace.wire.times import from_iso, time_text

from .shapes import EVENTS

_COUNTS = {
    "input_tokens": ("prompt_tokens", "input_tokens"),
    "output_tokens": ("completion_tokens", "output_tokens"),
    "total_tokens": ("total_tokens",),
    "input_tokens_cache_read": ("cache_read_input_tokens",),
    "input_tokens_cache_write": ("cache_creation_input_tokens",),
    "reasoning_tokens": ("reasoning_tokens",),
}
"""Inspect's names of counts, and those of the providers."""


def as_model_event(event: dict[str, Any]) -> dict[str, Any] | None:
    """The model event that Inspect would have written; None for any other info event.

    It has no span, because that logger's spans only group events and do not belong to one agent."""
    data = event.get("data")
    if not isinstance(data, dict) or data.get("type") != "model_call" or not isinstance(data.get("model"), str):
        return None
    response, error = data.get("response"), data.get("error")
    message = {"role": "assistant", "content": response if isinstance(response, str) else ""}
    found: dict[str, Any] = {
        "event": "model",
        "model": data["model"],
        "input": list(_input_messages(data.get("messages"))),
        "output": {"choices": [{"message": message}], "usage": _usage(data.get("usage"))},
        "timestamp": event.get("timestamp"),
    }
    if isinstance(error, str):
        found["error"] = error
    ended, seconds = from_iso(event.get("timestamp")), data.get("duration_seconds")
    if ended is not None and isinstance(seconds, (int, float)) and seconds > 0:  # 0.0 means "not measured"
        found["timestamp"] = time_text(ended - seconds)
        found["completed"] = event.get("timestamp")
    return found


def _input_messages(messages: Any) -> Iterator[dict[str, Any]]:
    """The inputs of a model call, with ids by which a message of an earlier call is recognised."""
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") in ("system", "user") and message.get("content"):
            yield {"id": f"asked-{sha256(encode(message)).hexdigest()[:12]}", **message}


def _usage(raw: Any) -> dict[str, int] | None:
    if not isinstance(raw, dict):
        return None
    found = {ours: raw[name] for ours, names in _COUNTS.items() for name in names if type(raw.get(name)) is int}
    cached = _detail(raw, "prompt_tokens_details", "cached_tokens")
    if cached is not None and "input_tokens" in found:  # OpenAI's input includes them, Inspect's does not
        found |= {"input_tokens": found["input_tokens"] - cached, "input_tokens_cache_read": cached}
    reasoning = _detail(raw, "completion_tokens_details", "reasoning_tokens")
    return found if reasoning is None else {**found, "reasoning_tokens": reasoning}


def _detail(raw: dict[str, Any], key: str, name: str) -> int | None:
    details = raw.get(key)
    value = details.get(name) if isinstance(details, dict) else None
    return value if type(value) is int else None


def is_known(event: Any) -> bool:
    """Whether Inspect knows this type of event; an unknown one makes it refuse the whole sample."""
    return isinstance(event, dict) and event.get("event") in EVENTS


def as_info(event: Any) -> dict[str, Any]:
    """An event of an unknown type as an info event, which every reader shows."""
    around = ("uuid", "span_id", "timestamp", "working_start")
    frame = {key: event[key] for key in around if key in event} if isinstance(event, dict) else {}
    return {**frame, "event": "info", "source": "unknown event", "data": event}
