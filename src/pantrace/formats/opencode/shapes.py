"""Shapes of OpenCode's objects. `document` marks keys that today's OpenCode requires and older versions did not write:
without them a file is readable, so `validate` only warns."""

from __future__ import annotations

from typing import Any

from pantrace.wire.shape import ANY, document, one_of

Shape = dict[str, Any]

TOKENS: Shape = {
    "input": float,
    "output": float,
    "reasoning": document(float),
    "cache": document({"read": float, "write": float}),
    "total?": float,
}

SESSION: Shape = {
    "id": str,
    "title": document(str),
    "version": document(str),
    "projectID": document(str),
    "slug": document(str),
    "directory": document(str),
    "parentID?": str,
    "time": {"created": float, "updated": document(float)},
    "cost?": float,
    "tokens?": TOKENS,
}

USER: Shape = {
    "role": one_of("user"),
    "time": {"created": float},
    "agent": document(str),
    "model": document({"providerID": str, "modelID": str}),
}

ASSISTANT: Shape = {
    "role": one_of("assistant"),
    "time": {"created": float, "completed?": float},
    "parentID": document(str),
    "modelID": str,
    "providerID": str,
    "mode": document(str),
    "agent": document(str),
    "path": document({"cwd": str, "root": str}),
    "cost": float,
    "tokens": TOKENS,
    "finish?": str,
    "error?": {"name": str, "data": document(dict)},
}

_FILE: Shape = {"mime": str, "url": str, "filename?": str}
_SPAN: Shape = {"start": float, "end": float}

# By `state.status` of a tool part.
STATES: dict[str, Shape] = {
    "pending": {"input": document(dict), "raw": document(str)},
    "running": {"input": ANY, "time": document({"start": float})},
    "completed": {
        "input": ANY,
        "output": str,
        "title": document(str),
        "metadata": document(dict),
        "time": _SPAN,
        "attachments?": [_FILE],
    },
    "error": {"input": ANY, "error": str, "time": _SPAN},
}

# As of 1.18.33; `_part` in `validation` only warns about other types.
PARTS: dict[str, Shape] = {
    "text": {"text": str, "synthetic?": bool, "ignored?": bool},
    "reasoning": {"text": str, "time": document({"start": float})},
    "file": _FILE,
    "tool": {"tool": str, "callID": document(str), "state": {"status": one_of(*STATES)}},
    "step-start": {"snapshot?": str},
    "step-finish": {"reason": document(str), "cost": float, "tokens": TOKENS},
    "snapshot": {"snapshot": str},
    "patch": {"hash": str, "files": [str]},
    "agent": {"name": str},
    "subtask": {"prompt": str, "description": document(str), "agent": document(str)},
    "retry": {"attempt": float, "error": dict},
    "compaction": {"auto": document(bool)},
}

LINE: Shape = {"type": str, "timestamp": float, "sessionID": str}
