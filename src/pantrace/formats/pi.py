"""Sessions of Pi, and of OpenClaw, which is built on it: lines that form a tree.

Spec: github.com/badlogic/pi-mono, packages/coding-agent/docs/session.md (versions 1 to 3)
Detect: a line of type `session` with id and timestamp, and no events of `pi --mode json` after it.
Lost: nothing is written.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Failure,
    Kind,
    Media,
    Origin,
    Part,
    Role,
    Sample,
    Step,
    StepError,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
)
from pantrace.wire import files
from pantrace.wire.extra_keys import as_extra, rest_of, texts_in
from pantrace.wire.field_map import ANYTHING, INTEGER, TEXT, TIME, FieldMap
from pantrace.wire.head import Head
from pantrace.wire.mixed_output import split
from pantrace.wire.optional import text_of
from pantrace.wire.read_listener import listening

from .format import Format

NAME = "pi"
ENTRIES = (
    "message",
    "model_change",
    "thinking_level_change",
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
)
LINE = FieldMap(NAME, Step, {"id": ("id", TEXT), "parentId": ("parent", TEXT), "timestamp": ("at", TIME)})
THOUGHT = FieldMap(NAME, Thinking, {"thinking": ("text", TEXT), "thinkingSignature": ("signature", TEXT)})
CALL = FieldMap(NAME, ToolCall, {"id": ("id", TEXT), "name": ("name", TEXT), "arguments": ("arguments", ANYTHING)})
IMAGE = FieldMap(NAME, Media, {"data": ("data", TEXT), "mimeType": ("mime", TEXT)})
COUNTS = {"output": "output", "cacheRead": "cache_read", "cacheWrite": "cache_write", "totalTokens": "total"}
# A result has no field for these: the bash tool says them in the last line of its text.
_EXIT = re.compile(r"Command exited with code (\d+)\Z")
_ENDINGS: tuple[tuple[str, Failure], ...] = (("Command aborted", "cancelled"), ("Command timed out after", "timeout"))


def detect(head: Head) -> str | None:
    """Recognise the header, which Pi writes first; programs built on Pi may put a line of their own before it."""
    records = [each for each in head.records if isinstance(each, dict)]
    header = next((each for each in records[:3] if each.get("type") == "session"), None)
    if header is None or not isinstance(header.get("id"), str) or "timestamp" not in header:
        return None
    kinds = {each["type"] for each in records if isinstance(each.get("type"), str)} - {"session"}
    # Output of `pi --mode json` begins with the same header.
    if "agent_start" in kinds or (kinds and not kinds & {*ENTRIES}):
        return None
    version = header.get("version", 1)
    return f"version {version}" if isinstance(version, int) else ""


def load(row: Any) -> Sample:
    """All lines of a file as a sample."""
    lines = [each for each in (row if isinstance(row, list) else [row]) if isinstance(each, dict)]
    header = next((each for each in lines if each.get("type") == "session"), None)
    if header is None:
        raise ReadError("not a session of Pi: no line is its header", remedy="is --from right?")
    name = header["id"] if isinstance(header.get("id"), str) else NAME
    steps = tuple(_step(each) for each in lines if each is not header)
    titles = [
        each["name"] for each in lines if each.get("type") == "session_info" and isinstance(each.get("name"), str)
    ]
    parent = header.get("parentSession", header.get("branchedFrom"))
    # A path whose name has the time and id of the session: 2025-12-09T00-52-54-397Z_d97339c6-....jsonl
    forked = PurePath(parent).stem.rpartition("_")[2] if isinstance(parent, str) else None
    models = [header.get("modelId"), *(step.model for step in steps)]
    held: FieldMap[Trajectory] = FieldMap(NAME, Trajectory, {"id": ("id", TEXT), "timestamp": ("created", TIME)})
    trajectory = held.load(
        header,
        {"type"},
        title=titles[-1] if titles else None,
        origin=Origin(kind="forked", trajectory=forked) if forked else None,
        agents=(Agent(name=NAME, model=next((each for each in models if isinstance(each, str)), None)),),
        steps=_with_replaced(steps),
        leaf=_leaf(steps, name),
    )
    return Sample(id=name, trajectory=trajectory)


def _leaf(steps: tuple[Step, ...], session: str) -> str | None:
    """The last line, if some lines are not on its path to the root. None if the path is broken: then all lines count,
    so that none is dropped because of a missing id."""
    parents = {step.id: step.parent for step in steps if step.id is not None}
    last = next((step.id for step in reversed(steps) if step.id is not None), None)
    path: set[str] = set()
    at = last
    while at is not None and at != session and at not in path:
        if at not in parents:
            return None
        path.add(at)
        at = parents[at]
    return last if parents.keys() - path else None


def _with_replaced(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Compactions with the steps that the model no longer saw: all before the first one that was kept."""
    found = list(steps)
    places = {step.id: place for place, step in enumerate(steps) if step.id is not None}
    for place, step in enumerate(steps):
        if step.kind != "compaction":
            continue
        first = places.get(step.extra.get(NAME, {}).get("firstKeptEntryId"), 0)
        gone = [each.id for each in steps[:first] if each.id is not None and each.kind == "message"]
        found[place] = replace(step, replaces=tuple(gone))
    return tuple(found)


def copy_of(path: Path) -> Path | None:
    """The session that a checkpoint copies: before it compacts a session, OpenClaw copies it to a file of its own,
    `<session>.checkpoint.<id>.jsonl`. A checkpoint with lines that the session lacks is no copy."""
    session = path.with_name(f"{path.name.partition('.')[0]}.jsonl")
    if session == path or not session.is_file():
        return None
    try:
        with listening(None):  # a comparison, which must not count as reading the files
            return session if files.read_all(session).startswith(files.read_all(path).rstrip()) else None
    except ReadError:
        return None


_KINDS: dict[str, tuple[Role, Kind]] = {
    "compaction": ("system", "compaction"),
    "branch_summary": ("user", "synthetic"),
    "custom_message": ("user", "synthetic"),
}
"""Entries other than messages that the model sees. All others only set or mark something."""


def _step(line: dict[str, Any]) -> Step:
    kind, message = line.get("type"), line.get("message")
    if kind == "message" and isinstance(message, dict):
        return _message_step(line, message)
    if not isinstance(kind, str) or kind not in _KINDS:
        return LINE.load(line, set(), role="system", kind="note")
    role, step_kind = _KINDS[kind]
    key = "content" if kind == "custom_message" else "summary"
    return LINE.load(line, _said(line, key), role=role, kind=step_kind, parts=tuple(_content(line.get(key))))


def _message_step(line: dict[str, Any], message: dict[str, Any]) -> Step:
    role = message.get("role")
    if role == "assistant":
        return _answer_step(line, message)
    if role == "toolResult":
        known = ["role", *_said(message, "content"), *texts_in(message, "toolCallId", "toolName")]
        extra = as_extra(NAME, {"message": rest_of(message, known)})
        return LINE.load(line, {"type", "message"}, role="tool", parts=(_result(message),), extra=extra)
    if role == "bashExecution":
        # The user typed this command in Pi's prompt; it is not a call of the agent.
        code = message["exitCode"] if type(message.get("exitCode")) is int else None
        failure: Failure | None = "cancelled" if message.get("cancelled") is True else "exit_code" if code else None
        ran = (
            ToolCall(name="bash", arguments={"command": message.get("command")}),
            ToolResult(
                name="bash",
                output=message.get("output"),
                exit_code=code,
                failure=failure,
                truncated=message.get("truncated") is True,
            ),
        )
        known = ["command", "output", *(("exitCode",) if code is not None else ())]
        extra = as_extra(NAME, {"message": rest_of(message, known)})
        return LINE.load(line, {"type", "message"}, role="user", kind="user_shell", parts=ran, extra=extra)
    key = "content" if "content" in message else "summary"
    extra = as_extra(NAME, {"message": rest_of(message, _said(message, key))})
    parts = tuple(_content(message.get(key)))
    kind: Kind = "message" if role == "user" else "compaction" if role == "compactionSummary" else "synthetic"
    return LINE.load(line, {"type", "message"}, role="user", kind=kind, parts=parts, extra=extra)


def _answer_step(line: dict[str, Any], message: dict[str, Any]) -> Step:
    stop, words = message.get("stopReason"), message.get("errorMessage")
    wrong = stop in ("error", "aborted") or isinstance(words, str)
    usage = _usage(message.get("usage"))
    taken = ["role", *_said(message, "content"), *texts_in(message, "model", "stopReason", "errorMessage")]
    taken += ["usage"] if usage is not None else []
    return LINE.load(
        line,
        {"type", "message"},
        role="agent",
        agent=NAME,
        parts=tuple(_content(message.get("content"))),
        model=message["model"] if isinstance(message.get("model"), str) else None,
        stop=text_of(stop),
        error=StepError(kind=str(stop), message=text_of(words)) if wrong else None,
        usage=usage,
        extra=as_extra(NAME, {"message": rest_of(message, taken)}),
    )


def _said(message: dict[str, Any], key: str) -> list[str]:
    """The key of a message's content, if it is content: a text or a list of blocks."""
    return [key] if isinstance(message.get(key), (str, list)) else []


def _content(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [Text(text=content)]
    return [_part(each) for each in content] if isinstance(content, list) else []


def _part(block: Any) -> Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text=text, extra=as_extra(NAME, rest_of(block, ("type", "text"))))
        case {"type": "thinking", "thinking": str()}:
            return THOUGHT.load(block, {"type"}, redacted=block.get("redacted") is True)
        case {"type": "toolCall", "name": str()}:
            return CALL.load(block, {"type"})
        case {"type": "image", "data": str()}:
            return IMAGE.load(block, {"type"})
    return Unknown(kind=f"{NAME}:part", raw=block)


def _result(message: dict[str, Any]) -> ToolResult:
    """A tool result. A failed command is an error whose text ends with the exit code."""
    content, name, call = message.get("content"), message.get("toolName"), message.get("toolCallId")
    output, media, _ = split(content, _part) if isinstance(content, list) else (content, (), None)
    # Only `isError` counts: a tool may well print the word "error".
    failure: Failure | None = "error" if message.get("isError") is True else None
    code = None
    # Other tools may print the same words as data.
    if failure and name == "bash" and isinstance(output, str):
        last = output.rstrip().rpartition("\n")[2]
        code = int(found[1]) if (found := _EXIT.search(last)) else None
        ended = next((each for words, each in _ENDINGS if last.startswith(words)), failure)
        failure = "exit_code" if code is not None else ended
    return ToolResult(
        call_id=text_of(call),
        name=text_of(name),
        output=output,
        media=media,
        failure=failure,
        exit_code=code,
    )


def _usage(raw: Any) -> Usage | None:
    """Usage. Pi's `input` excludes cached tokens, so they are added. All zeros, as in aborted answers, mean that
    nothing was reported."""
    if not isinstance(raw, dict) or not any(type(raw.get(key)) is int and raw[key] for key in ("input", *COUNTS)):
        return None
    held: FieldMap[Usage] = FieldMap(NAME, Usage, {key: (name, INTEGER) for key, name in COUNTS.items()})
    parts = [raw[key] for key in ("input", "cacheRead", "cacheWrite") if type(raw.get(key)) is int]
    cost = raw["cost"].get("total") if isinstance(raw.get("cost"), dict) else None
    return held.load(
        raw,
        set(),
        input=sum(parts) if type(raw.get("input")) is int else None,
        cost_usd=cost if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None,
        derived=("input",) if len(parts) > 1 else (),
    )


FORMAT = Format(
    name=NAME,
    title="Pi sessions, and those of OpenClaw, which is built on Pi: a tree of lines",
    spec="github.com/badlogic/pi-mono, packages/coding-agent/docs/session.md",
    detect=detect,
    load=load,
    copy_of=copy_of,
    layout="log",
    suffix=".jsonl",
    note="verified with two long sessions from Pi's own tests, and with fixtures from other tools' tests",
)
