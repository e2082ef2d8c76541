"""Turns sessions in the shape of `opencode export`, `{"info": ..., "messages": ...}`, into trajectories.

Every source (database, tree, stream, export) is brought to this shape first. Data beyond it (todo, session_diff,
project) is kept beside `info` and `messages`, and is written back there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Sample, Source, Step, ToolCall, ToolResult, Trajectory
from pantrace.wire.json import unknown_keys
from pantrace.wire.rows import OnBroken

from .messages import BESIDE, Message, load_steps
from .taken_keys import NAME, Raw, take_text, take_times, without_invented
from .usage import take_usage
from .v2_rows import load_rows

CALLER, SAMPLE = "caller", "sample"
"""Where earlier versions of pantrace wrote the call that started a sub-agent, and the sample's id if it is not the
session's. Both are still read; today they are kept under `pantrace` like everything else."""
ROWS = "session_message"


def load_document(document: Any) -> Sample:
    """One export document as a sample."""
    if not isinstance(document, dict) or not isinstance(document.get("info"), dict):
        raise ReadError("not an export of OpenCode: it has no object `info`", remedy="is --from right?")
    info = document["info"]
    if not isinstance(info.get("id"), str):
        raise ReadError("the session has no id", place="info.id")
    messages = document.get("messages")
    if not isinstance(messages, list):
        raise ReadError("not an export of OpenCode: it has no list `messages`", remedy="is --from right?")
    beside = {key: value for key, value in document.items() if key not in ("info", "messages")}
    name = take_text(beside, SAMPLE)
    trajectory = load_session(info, [_message(raw, place) for place, raw in enumerate(messages)], beside)
    return Sample(id=name or info["id"], trajectory=trajectory)


def _message(raw: Any, place: int) -> Message:
    if not isinstance(raw, dict) or not isinstance(raw.get("info"), dict) or not isinstance(raw.get("parts"), list):
        raise ReadError("not a message: it needs an object `info` and a list `parts`", place=f"messages[{place}]")
    beside = {BESIDE: unknown_keys(raw, ("info", "parts"))} if len(raw) > 2 else {}
    return {**raw["info"], **beside}, [_copy_part(part) for part in raw["parts"]]


def _copy_part(part: Any) -> Any:
    """A copy of a part that may be changed: reading removes keys, and the document belongs to the caller."""
    if type(part) is not dict:
        return part
    return {**part, "state": dict(part["state"])} if type(part.get("state")) is dict else dict(part)


def load_session(info: Raw, messages: Iterable[Message], beside: Raw, source: Source | None = None) -> Trajectory:
    """A trajectory without its children; `beside` is the data beside the session. The messages are consumed."""
    rest = without_invented(info)
    session = take_text(rest, "id")
    steps: list[Step]
    steps, agents = load_steps(messages, session, info.get("version"))
    # In 1.18 the V2 tables have only prompts. If there are messages as well, these are the real record.
    if not steps and type(beside.get(ROWS)) is list:
        beside = dict(beside)
        steps = load_rows(beside.pop(ROWS))
    caller = beside.get(CALLER)
    if type(caller) is str:
        beside = {key: value for key, value in beside.items() if key != CALLER}
    usage = take_usage(rest)  # sessions have counts since 1.14; by then output no longer included reasoning
    created, _ = take_times(rest, "created", "")
    return Trajectory(
        id=session,
        title=take_text(rest, "title"),
        created=created,
        source=source,
        parent=take_text(rest, "parentID"),
        caller=caller if type(caller) is str else None,
        agents=tuple(agents),
        steps=tuple(steps),
        usage=None if usage is None else {"": usage},
        extra={NAME: {"info": rest, **beside}},
    )


def root_sample(
    session: str,
    read: Callable[[str], Trajectory],
    children_of: Callable[[str], list[str]],
    path: Path,
    on_broken: OnBroken,
) -> Iterator[Sample]:
    """The sample of a root session, sub-agents inside; nothing if they are nested too deeply, which is reported."""
    if type(session) is not str:  # SQLite keeps any value in any column
        on_broken(ReadError("the id of this session is not text", path=str(path), place=f"session {session!r}"))
        return
    try:
        trajectory = with_children(session, read, children_of)
    except RecursionError:
        on_broken(ReadError("sub-agents are nested too deeply", path=str(path), place=f"session {session}"))
        return
    yield Sample(id=session, trajectory=trajectory)


def with_children(
    session: str,
    read: Callable[[str], Trajectory],
    children_of: Callable[[str], list[str]],
    above: tuple[str, ...] = (),
) -> Trajectory:
    """A session with its sub-agents' sessions inside, each with the call that started it."""
    trajectory = read(session)
    above = (*above, session)
    # A damaged database may have a ring of parents.
    names = [name for name in children_of(session) if name not in above]
    if not names:
        return trajectory
    children = [with_children(name, read, children_of, above) for name in names]
    callers = _callers(trajectory)
    linked = [msgspec.structs.replace(child, caller=_caller_of(child, callers)) for child in children]
    return msgspec.structs.replace(trajectory, children=tuple(linked))


def _callers(trajectory: Trajectory) -> list[tuple[ToolCall, list[Any]]]:
    """Calls of sub-agents, with the session ids that their results name."""
    found: list[tuple[ToolCall, list[Any]]] = []
    for step in trajectory.steps:
        for place, part in enumerate(step.parts):
            if not isinstance(part, ToolCall):
                continue
            behind = step.parts[place + 1] if place + 1 < len(step.parts) else None
            left = behind.extra.get(NAME) if isinstance(behind, ToolResult) else part.extra[NAME].get("state")
            metadata = left.get("metadata") if type(left) is dict else None
            named: list[Any] = []
            if type(metadata) is dict:
                named.append(metadata.get("sessionId"))
                # 0.5 names no session, but repeats the child's tool parts, which do.
                summary = metadata.get("summary")
                if type(summary) is list:
                    named += [each.get("sessionID") for each in summary if type(each) is dict]
            if part.name == "task" or any(named):
                found.append((part, named))
    return found


def _caller_of(child: Trajectory, callers: list[tuple[ToolCall, list[Any]]]) -> str | None:
    for call, named in callers:
        if child.id in named:
            return call.id
    for call, named in callers:
        asked = call.arguments.get("description") if type(call.arguments) is dict else None
        # Without any link (0.5): the title of a sub-agent's session begins with the call's description.
        if not any(named) and asked and child.title and child.title.startswith(f"{asked} (@"):
            return call.id
    return None
