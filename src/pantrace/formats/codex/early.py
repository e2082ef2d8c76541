"""Early: rollouts before their records had a type and a payload (April to September 2025), in the shape of today.

The first command line, in TypeScript, wrote one document, `{"session": ..., "items": [...]}`; the one in Rust wrote
the session's line and then one line for each item. Both tell neither tokens, nor models, nor times of items.
"""

from __future__ import annotations

from typing import Any


def is_early(records: list[Any]) -> bool:
    """Whether these are the first records of such a rollout."""
    match records:
        case [{"session": {"id": str(), "timestamp": str()}, "items": list()}]:
            return True
        case [{"id": str(), "timestamp": str()} as first, *rest] if "type" not in first and "payload" not in first:
            return "instructions" in first or any(map(_is_own, rest))
    return False


def _is_own(record: Any) -> bool:
    match record:
        case {"record_type": "state"} | {"type": "function_call" | "local_shell_call" | "custom_tool_call"}:
            return True
        case {"type": "message", "role": str(), "content": [{"type": "input_text" | "output_text"}, *_]}:
            return True
    return False


def enveloped(records: list[Any]) -> list[Any]:
    """Early records, each in an envelope as later versions write it; all others as they are."""
    if not is_early(records):
        return records
    match records:
        case [{"session": session, "items": list(items), **rest}]:
            # What else the document says has no line of its own: it stays with the session.
            session = {**session, **rest}
        case _:
            session, *items = records
    head = {"timestamp": session["timestamp"], "type": "session_meta", "payload": session}
    return [head, *(_wrapped(each) for each in items)]


def _wrapped(item: Any) -> Any:
    own = isinstance(item, dict) and isinstance(item.get("type"), str)
    return {"type": "response_item", "payload": item} if own else item
