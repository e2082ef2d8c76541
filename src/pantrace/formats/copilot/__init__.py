"""Sessions of GitHub Copilot: events of its command line, and chats in VS Code.

Spec: events of `~/.copilot/session-state/ID/events.jsonl`; `chatSessions/ID.json` of a VS Code workspace
Detect: events such as `user.message` with `data`; or `requests` beside `sessionId` and `creationDate`.
Lost: nothing is written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pantrace.model import Sample
from pantrace.wire.head import Head

from ..format import Format
from . import chat, events
from .events import NAME

TYPES = ("session.", "user.", "assistant.", "tool.", "subagent.", "skill.")
_LOOSE = re.compile(rb'"type":\s*"(?:user|assistant)\.message"')


def detect(head: Head) -> str | None:
    record = head.record
    if isinstance(record.get("requests"), list) and "creationDate" in record and "sessionId" in record:
        return "VS Code chat"
    if _is_event(record):
        return "events"
    # If each event is spread over many lines, the file is neither JSON lines nor one document.
    loose = head.kind == "json" and not record and b'"parentId"' in head.data
    return "events" if loose and _LOOSE.search(head.data) else None


def _is_event(record: Any) -> bool:
    kind = record.get("type") if isinstance(record, dict) else None
    return isinstance(kind, str) and kind.startswith(TYPES) and "data" in record and "timestamp" in record


def load(row: Any) -> Sample:
    """A chat, or all events of a session, as a sample."""
    match row:
        case [{"requests": _} as document] | ({"requests": _} as document):
            return chat.sample_of(document)
    return events.sample_of(row if isinstance(row, list) else [row])


def name_in_file(name: str, path: Path) -> str:
    """The id from the path, for sessions that do not have one: the folder's name for the command line, the file's name
    for a chat."""
    if name != NAME:
        return name
    return path.parent.name if path.name == "events.jsonl" else path.stem


FORMAT = Format(
    name=NAME,
    title="GitHub Copilot: events of its command line, chats of VS Code",
    spec="https://docs.github.com/copilot",
    detect=detect,
    load=load,
    name_in_file=name_in_file,
    layout="log",
    suffix=".jsonl",
    nests=True,
    note="verified with fixtures from other tools' tests, not with our own sessions",
)

__all__ = ["FORMAT"]
