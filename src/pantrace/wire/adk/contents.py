"""Contents that are not in ADK's shape: chat messages, bare texts, objects with unknown keys.

None of them is read as empty: what is understood becomes parts, anything else becomes one part that is kept unchanged.
"""

from __future__ import annotations

from typing import Any

from pantrace.wire.extra_keys import said_again
from pantrace.wire.json import unknown_keys

from .schema import Content

_MESSAGE = {"content", "content_parts", "reasoning_content", "tool_calls"}
_ANSWER = {"tool_id", "tool_call_id", "tool_name"}
_ROLES = {"assistant": "model", "tool": "user"}


def as_content(raw: Any) -> Any:
    """A content with a list of parts; one that has a list already, or is empty, is returned unchanged."""
    if raw is None or isinstance(raw, Content):
        return raw
    if isinstance(raw, str):
        return {"parts": [{"text": raw}]}
    if not isinstance(raw, dict):
        return {"parts": raw if isinstance(raw, list) else [{"content": raw}]}
    parts = raw.get("parts")
    if isinstance(parts, list):
        return raw
    if parts is not None:
        part = parts if isinstance(parts, dict) else {"text": parts} if isinstance(parts, str) else {"parts": parts}
        return {**raw, "parts": [part]}
    if is_message(raw):
        return _content_of_message(raw)
    # Neither parts nor a message: one part with all of it, so that an unknown shape is never read as silence.
    strange = {key: value for key, value in raw.items() if value is not None and key != "role"}
    if not strange:
        return raw
    return {"parts": [strange], **({"role": raw["role"]} if raw.get("role") is not None else {})}


def is_message(raw: Any) -> bool:
    """Whether a content is a chat message, with `content` in place of `parts`."""
    return isinstance(raw, dict) and raw.get("parts") is None and bool(raw.keys() & _MESSAGE)


def _content_of_message(message: dict[str, Any]) -> dict[str, Any]:
    role = message.get("role")
    parts: list[Any] = []
    if role == "tool":
        # In a chat, a tool's answer is a separate message; in Gemini, a part.
        parts.append({"function_response": answer_of(message)})
        known = set(message)
    else:
        # A thought comes first, as the model produced it before the text.
        known = _MESSAGE | {"reasoning_signature"}
        if (thought := message.get("reasoning_content")) is not None:
            signature = message.get("reasoning_signature")
            signed = {} if signature is None else {"thought_signature": signature}
            parts.append({"text": thought, "thought": True, **signed})
        for key in ("content", "content_parts"):
            if (said := message.get(key)) is not None:
                parts += [_part(each) for each in (said if isinstance(said, list) else [said])]
        parts += [{"function_call": call_of(call)} for call in message.get("tool_calls") or ()]
    rest = {key: value for key, value in message.items() if key not in known and value is not None}
    return {**rest, "parts": parts, **({"role": _ROLES.get(role, role)} if isinstance(role, str) else {})}


def _part(said: Any) -> Any:
    # OpenAI's content part; with further keys it is kept whole, as an unknown part.
    if isinstance(said, dict) and said.keys() <= {"type", "text"} and "text" in said:
        return {"text": said["text"]}
    return said if isinstance(said, dict) else {"text": said}


def call_of(call: Any) -> Any:
    """A chat message's tool call as a function call; anything else unchanged."""
    if not isinstance(call, dict) or not isinstance(function := call.get("function"), dict):
        return call
    rest = unknown_keys(call, ("function", *said_again(call, type="function")))
    if inner := unknown_keys(function, ("name", "arguments")):
        rest["function"] = inner
    return {**rest, "name": function.get("name"), "args": function.get("arguments")}


def answer_of(message: dict[str, Any]) -> dict[str, Any]:
    """A tool's message as a function response."""
    return {
        **unknown_keys(message, {*_ANSWER, "content", *said_again(message, role="tool")}),
        "id": message.get("tool_id", message.get("tool_call_id")),
        "name": message.get("tool_name"),
        "response": message.get("content"),
    }
