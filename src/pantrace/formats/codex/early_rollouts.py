"""Early rollouts (April to September 2025), whose records had no type and payload, brought into the current shape.

The first command line, in TypeScript, wrote one document, `{"session": ..., "items": [...]}`; the one in Rust wrote
the session's line and then one line for each item. Neither has tokens, models or times of items.
"""

from __future__ import annotations

from typing import Any


def is_early(records: list[Any]) -> bool:
    """Whether these are the first records of such a rollout."""
    match records:
        case [{"session": {"id": str(), "timestamp": str()}, "items": list()}]:
            return True
        case [{"id": str(), "timestamp": str()} as first, *rest] if "type" not in first and "payload" not in first:
            # An id and a time alone could begin many kinds of files.
            return "instructions" in first or any(map(_is_own, rest))
    return False


def _is_own(record: Any) -> bool:
    match record:
        case {"record_type": "state"} | {"type": "function_call" | "local_shell_call" | "custom_tool_call"}:
            return True
        case {"type": "message", "role": str(), "content": [{"type": "input_text" | "output_text"}, *_]}:
            return True
    return False


def add_envelopes(records: list[Any]) -> list[Any]:
    """Early records, each in the envelope that later versions write; others unchanged."""
    if not is_early(records):
        return records
    match records:
        case [{"session": session, "items": list(items), **rest}]:
            # Other keys of the document have no line of their own, so they stay with the session.
            session = {**session, **rest}
        case _:
            session, *items = records
    head = {"timestamp": session["timestamp"], "type": "session_meta", "payload": session}
    return [head, *(_wrap(each) for each in items)]


def _wrap(item: Any) -> Any:
    own = isinstance(item, dict) and isinstance(item.get("type"), str)
    return {"type": "response_item", "payload": item} if own else item
