"""The files of a session: its own, stubs that a resume leaves beside it, and those of its sub-agents.

A session is `chats/session-<minute>-<id>.jsonl`; a resume in another minute adds a file with the same id. Sub-agents
are in `chats/<session id>/<agent id>.jsonl`, or beside the session if somebody has put all files into one folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import ToolCall, Trajectory
from pantrace.wire import files
from pantrace.wire.carry_rest import Load
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.head import Head
from pantrace.wire.json import encode
from pantrace.wire.rows import OnBroken, read_log

from .messages import NAME

PREFIX = "session-"


def head_of(path: Path) -> dict[str, Any]:
    """The first record of a file; empty if the file is not a session."""
    try:
        record = Head(path).record
    except (ReadError, OSError):
        return {}
    return record if isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str) else {}


def records(path: Path, on_broken: OnBroken) -> list[Any]:
    """All records of a file."""
    return read_log(path, on_broken)


def session_files(path: Path, name: str) -> list[Path]:
    """The files of a session beside one of them, in order."""
    if not path.name.startswith(PREFIX):
        return [path]
    # The file itself always belongs to its session, even if it was renamed or its id was changed.
    found = {path, *(each for each in _named_for(path.parent, name) if head_of(each).get("sessionId") == name)}
    return sorted(found, key=lambda each: (each.name.partition(".")[0], each.name))


def _named_for(folder: Path, name: str) -> list[Path]:
    """Sessions of a folder whose file names end with the beginning of an id."""
    try:
        # Gemini CLI puts the first eight characters of the id into the file's name.
        return _by_ending(folder, folder.stat().st_mtime_ns).get(name[:8], [])
    except OSError:
        return []


@lru_cache(16)
def _by_ending(folder: Path, changed: int) -> dict[str, list[Path]]:
    """Files of a folder by the end of their name. A folder is listed once, not for each session in it."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob(f"{PREFIX}*.json*")):
        found.setdefault(path.name.partition(".")[0].rpartition("-")[2], []).append(path)
    return found


def owner(path: Path) -> Path | None:
    """The session that a file is only a part of."""
    head = head_of(path)
    if not head:
        return None
    if head.get("kind") == "subagent":
        return _parent(path, path.parent.parent) or _parent(path, path.parent)
    first = session_files(path, head["sessionId"])[0]
    return None if first == path else first


def _parent(path: Path, folder: Path) -> Path | None:
    """The first session of a folder that started a sub-agent: the sub-agent's folder is named after it, or it contains
    the sub-agent's name."""
    named = encode(path.name.partition(".")[0])
    for other in _likely_first(folder, path.parent.name):
        head = head_of(other) if other != path else {}
        if not head or head.get("kind") == "subagent":
            continue
        # The second condition is for files that somebody has put into one folder.
        if path.parent.name == head["sessionId"] or (folder == path.parent and named in _bytes(other)):
            return session_files(other, head["sessionId"])[0]
    return None


def _likely_first(folder: Path, name: str) -> Iterator[Path]:
    yield from _named_for(folder, name)
    yield from sorted(folder.glob("*.json*"))


def _bytes(path: Path) -> bytes:
    try:
        return files.read_all(path)
    except ReadError:
        return b""


def with_children(trajectory: Trajectory, path: Path, load: Load, on_broken: OnBroken) -> Trajectory:
    """A session with its sub-agents, each under the call that started it."""
    callers = {
        agent: part.id
        for step in trajectory.steps
        for part in step.parts
        if isinstance(part, ToolCall) and isinstance(agent := rest_in(part.extra, NAME).get("agentId"), str)
    }
    children = []
    for child_path in _children(path, trajectory.id):
        try:
            child = load(records(child_path, on_broken)).trajectory
        except ReadError as error:
            on_broken(error.at(path=str(child_path)))
            continue
        if child is not None:
            caller = callers.get(child.id or "", child.caller)
            children.append(msgspec.structs.replace(child, parent=trajectory.id, caller=caller))
    # In the order of their calls; those that no call names come last.
    order = list(callers)
    children.sort(key=lambda each: order.index(each.id) if each.id in order else len(order))
    return msgspec.structs.replace(trajectory, children=(*trajectory.children, *children)) if children else trajectory


def _children(path: Path, name: str | None) -> Iterator[Path]:
    own = path.parent / name if name and name == Path(name).name else None
    if own is not None and os.path.isdir(own):  # noqa: PTH112 -- a name may be too long to be asked for
        yield from (each for each in sorted(own.glob("*.jsonl")) if head_of(each).get("kind") == "subagent")
    yield from _beside(path.parent).get(path, ())


def _beside(folder: Path) -> dict[Path, list[Path]]:
    """The sub-agents that somebody has put into one folder with their sessions, by the session that owns each."""
    try:
        return _agents_of(folder, folder.stat().st_mtime_ns)
    except OSError:
        return {}


@lru_cache(16)
def _agents_of(folder: Path, changed: int) -> dict[Path, list[Path]]:
    found: dict[Path, list[Path]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        if head_of(path).get("kind") == "subagent" and (main := owner(path)) is not None and main.parent == folder:
            found.setdefault(main, []).append(path)
    return found
