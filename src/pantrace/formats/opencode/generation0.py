"""Converts generation 0 (0.1 and 0.2), whose messages hold their parts and a `metadata` object, to today's shape.

Written from the source of 0.1.174. We had no recording of it, so this is unverified.
"""

from __future__ import annotations

from typing import Any

from .taken_keys import Raw

_KNOWN = ("parts", "metadata")


def is_oldest(message: Raw) -> bool:
    """Whether a message file belongs to generation 0."""
    return type(message.get("parts")) is list and type(message.get("metadata")) is dict


def modern(message: Raw) -> tuple[Raw, list[Any]]:
    """A message and its parts in today's shape; keys without a place there keep their old names."""
    metadata = dict(message["metadata"])
    info = {key: value for key, value in message.items() if key not in _KNOWN}
    tools = metadata.pop("tool", None)
    assistant = metadata.pop("assistant", None)
    for key in ("time", "error", "sessionID"):
        if key in metadata:
            info[key] = metadata.pop(key)
    if type(assistant) is dict:
        # Keys of the message itself win, as `assistant` may repeat them.
        info = {**assistant, **info}
    if metadata:
        info["metadata"] = metadata
    about = tools if type(tools) is dict else {}
    return info, [_part(part, about) if type(part) is dict else part for part in message["parts"]]


def _part(part: Raw, tools: Raw) -> Raw:
    kind = part.get("type")
    if kind == "tool-invocation" and type(part.get("toolInvocation")) is dict:
        return _tool(part, tools)
    if kind == "file" and "mediaType" in part:
        return {("mime" if key == "mediaType" else key): value for key, value in part.items()}
    return part


_STATUS = {"partial-call": "pending", "call": "running", "result": "completed"}


def _tool(part: Raw, tools: Raw) -> Raw:
    invocation = dict(part["toolInvocation"])
    call = invocation.pop("toolCallId", None)
    known = tools.get(call) if type(call) is str else None
    about = dict(known) if type(known) is dict else {}
    state: Raw = {"status": _STATUS.get(str(invocation.pop("state", None)), "pending")}
    for old, new in (("args", "input"), ("result", "output")):
        if old in invocation:
            state[new] = invocation.pop(old)
    for key in ("title", "time"):
        if key in about:
            state[key] = about.pop(key)
    # This generation has no error state: a failed tool has a result like any other, and a mark beside it.
    if about.get("error") is True and state["status"] == "completed":
        state["status"], state["error"] = "error", state.pop("output", None)
    if about:
        state["metadata"] = about
    raw: Raw = {"type": "tool", "tool": invocation.pop("toolName", None), "state": state}
    if call is not None:
        raw["callID"] = call
    if invocation:
        raw["toolInvocation"] = invocation
    return raw
