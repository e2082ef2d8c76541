"""Sessions of Strands Agents, as its FileSessionManager stores them: a folder with a file for each message.

Spec: https://strandsagents.com/ (strands/types/session.py, strands/types/content.py)
Detect: a directory with session.json and agents/agent_*/agent.json.
Lost: nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Failure,
    Media,
    Part,
    Role,
    Run,
    Sample,
    Source,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
)
from pantrace.wire.claimed_files import Claim, of_patterns
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.field_map import ANYTHING, INTEGER, TEXT, FieldMap
from pantrace.wire.head import Head
from pantrace.wire.mixed_output import split
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source
from pantrace.wire.times import from_iso, from_milliseconds
from pantrace.wire.usage_check import settled
from pantrace.wire.whole_document import object_in

from .format import Format

NAME = "strands"
_SESSION, _AGENT, _AGENTS, _MESSAGES = "session.json", "agent.json", "agents/agent_*", "messages/message_*.json"
_FILES = (_SESSION, f"{_AGENTS}/{_AGENT}", f"{_AGENTS}/{_MESSAGES}")
_CALL = FieldMap(NAME, ToolCall, {"toolUseId": ("id", TEXT), "name": ("name", TEXT), "input": ("arguments", ANYTHING)})
_RESULT = FieldMap(NAME, ToolResult, {"toolUseId": ("call_id", TEXT)})
_USAGE = FieldMap(
    NAME,
    Usage,
    {
        "inputTokens": ("input", INTEGER),
        "outputTokens": ("output", INTEGER),
        "totalTokens": ("total", INTEGER),
        "cacheReadInputTokens": ("cache_read", INTEGER),
        "cacheWriteInputTokens": ("cache_write", INTEGER),
    },
)
_MIMES = {"image": "image", "video": "video", "document": "application"}
_NUMBER = re.compile(r"message_(\d+)\.json\Z")
_FAILURES: tuple[tuple[str, Failure], ...] = (
    ("Unknown tool: ", "invalid_tool"),
    ("Error: Validation failed for input parameters", "invalid_arguments"),
)
"""Texts with which Strands answers a call that never reached a tool."""


def detect(head: Head) -> str | None:
    if head.kind != "directory" or not (head.path / _SESSION).is_file():
        return None
    return "" if head.has(f"{_AGENTS}/{_AGENT}") else None


def claim(folder: Path) -> Claim:
    return of_patterns(folder, *_FILES)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """The agents of a session, each with its own messages."""
    if not path.is_dir() or not (path / _SESSION).is_file():
        remedy = "name the directory of the session"
        raise ReadError(f"a session is a directory with {_SESSION} and agents", path=str(path), remedy=remedy)
    source = Source(format=NAME, path=str(path))

    def samples() -> Iterator[Sample]:
        try:
            session = object_in(path / _SESSION)
        except ReadError as error:
            on_broken(error)
            session = {}
        name = text_of(session.get("session_id")) or path.name.removeprefix("session_")
        folders = sorted(path.glob(_AGENTS))
        for folder in folders:
            conversation = _conversation(folder, name, session, on_broken)
            whose = folder.name.removeprefix("agent_")
            identity = name if len(folders) == 1 else f"{name} {whose}"
            yield with_source(Sample(id=identity, trajectory=conversation), source)

    return Run(name=path.name, source=source, samples=samples())


def _conversation(folder: Path, name: str, session: dict[str, Any], on_broken: OnBroken) -> Trajectory:
    about: dict[str, Any] = {}
    steps: list[Step] = []
    # Sorted by number: by name, message_10 would come before message_9.
    paths = sorted(folder.glob(_MESSAGES), key=lambda path: (_number(path), path.name))
    for path in [folder / _AGENT, *paths]:
        try:
            if path.name == _AGENT:
                about = object_in(path)
            else:
                steps.append(_step(object_in(path), steps[-1] if steps else None))
        except ReadError as error:
            on_broken(error.at(path=str(path)))
    agent = text_of(about.get("agent_id")) or folder.name.removeprefix("agent_")
    rest = {"session": rest_of(session, ("session_id",)), "agent": rest_of(about, ("agent_id", "state"))}
    state = about.get("state")
    if not isinstance(state, dict):
        rest["agent"] |= rest_of(about, about.keys() - {"state"})
    return Trajectory(
        id=name,
        created=from_iso(session.get("created_at")),
        ended=from_iso(about.get("updated_at")),
        agents=(Agent(name=agent),),
        steps=tuple(replace(step, agent=agent) if step.role == "agent" else step for step in _with_tool_names(steps)),
        state=state if isinstance(state, dict) and state else None,
        extra=as_extra(NAME, {key: value for key, value in rest.items() if value}),
    )


def _number(path: Path) -> int:
    found = _NUMBER.search(path.name)
    # A hostile name of thousands of digits would make `int` fail.
    return int(found[1][:18]) if found else 0


def _with_tool_names(steps: list[Step]) -> Iterator[Step]:
    """Steps whose results have the name of their tool: Bedrock's results have only the id of the call."""
    names: dict[str | None, str] = {}
    for step in steps:
        names |= {part.id: part.name for part in step.parts if isinstance(part, ToolCall)}
        parts = [
            replace(part, name=names.get(part.call_id)) if isinstance(part, ToolResult) else part for part in step.parts
        ]
        yield replace(step, parts=tuple(parts))


def _step(row: dict[str, Any], before: Step | None) -> Step:
    # A guardrail may replace a message; the replacement is what the model saw from then on.
    shown = row.get("redact_message")
    message = shown if isinstance(shown, dict) else row.get("message")
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        raise ReadError("a message needs a role (user or assistant)")
    if not isinstance(message.get("content"), list):
        raise ReadError("a message needs a list `content`")
    parts = tuple(_part(each) for each in message["content"])
    metadata = object_of(message.get("metadata"))
    usage, pace = _usage(metadata.get("usage")), object_of(metadata.get("metrics"))
    rest = rest_of(message, ("role", "content", *(("metadata",) if metadata else ())))
    about = rest_of(metadata, ("usage",) if usage is not None else ())
    rest |= {"metadata": about} if about else {}
    kept = {"message": rest} if rest else {}
    kept |= {"redacted": row["message"]} if shown is message and row.get("message") is not None else {}
    role: Role = "agent" if message["role"] == "assistant" else "user"
    # Bedrock has no role for tools: results come as the user's message.
    if role == "user" and parts and all(isinstance(part, ToolResult) for part in parts):
        role = "tool"
    written = from_iso(row.get("created_at"))
    known = ("message", *(("redact_message",) if shown is message else ()), *(("created_at",) if written else ()))
    extra = as_extra(NAME, {**rest_of(row, known), **kept})
    if role != "agent":
        return Step(role=role, parts=parts, at=written, usage=usage, extra=extra)
    return Step(
        role=role,
        parts=parts,
        # A message is written when it is complete. The model was called as soon as the one before was written.
        at=before.at if before is not None and before.role != "agent" else None,
        ended=written,
        first_token=from_milliseconds(pace.get("timeToFirstByteMs")),
        usage=usage,
        extra=extra,
    )


def _part(raw: Any) -> Part:
    block = object_of(raw)
    match block:
        case {"text": str(text)}:
            return Text(text=text, extra=as_extra(NAME, rest_of(block, ("text",))))
        case {"toolUse": {"name": str()} as call}:
            return _beside(_CALL.load(call), block, "toolUse")
        case {"toolResult": dict(result)}:
            return _beside(_result(result), block, "toolResult")
        case {"reasoningContent": dict(thought)} if (thinking := _thought(thought)) is not None:
            return _beside(thinking, block, "reasoningContent")
        case {"citationsContent": dict(cited)}:
            # This block has the answer's text together with its citations.
            words = "".join(each["text"] for each in list_of(cited.get("content")) if _is_text(each))
            return Text(text=words, extra=as_extra(NAME, block))
    for key, family in _MIMES.items():
        if isinstance(block.get(key), dict) and (file := _file(block[key], family)) is not None:
            return _beside(file, block, key)
    return Unknown(kind=f"{NAME}:{next(iter(block), 'block')}", raw=raw)


def _thought(raw: dict[str, Any]) -> Thinking | None:
    thought = object_of(raw.get("reasoningText"))
    if isinstance(thought.get("text"), str):
        known = ("text", *(("signature",) if isinstance(thought.get("signature"), str) else ()))
        rest = {**rest_of(thought, known), **rest_of(raw, ("reasoningText",))}
        return Thinking(text=thought["text"], signature=text_of(thought.get("signature")), extra=as_extra(NAME, rest))
    if (hidden := _data(raw.get("redactedContent"))) is not None:
        return Thinking(redacted=True, signature=hidden, extra=as_extra(NAME, rest_of(raw, ("redactedContent",))))
    return None


P = TypeVar("P", ToolCall, ToolResult, Thinking, Media)


def _beside(part: P, block: dict[str, Any], key: str) -> P:
    """A part with the other keys of its block."""
    rest = rest_of(block, (key,))
    return replace(part, extra=as_extra(NAME, {**rest_in(part.extra, NAME), "block": rest})) if rest else part


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def _data(raw: Any) -> str | None:
    """Bytes, which a session has as base64 inside an object."""
    match raw:
        case {"__bytes_encoded__": True, "data": str(data), **others} if not others:
            return data
    return text_of(raw)


def _file(raw: dict[str, Any], family: str) -> Media | None:
    source, kind = object_of(raw.get("source")), text_of(raw.get("format"))
    data = _data(source.get("bytes"))
    uri = text_of(object_of(source.get("location", source.get("s3Location"))).get("uri"))
    if data is None and uri is None:
        return None
    mime = f"{family}/{kind}" if kind is not None and (family != "application" or kind == "pdf") else None
    rest = rest_of(raw, ("source", "name") if isinstance(raw.get("name"), str) else ("source",))
    # A location has more than its address (an owner), so all of it is kept.
    others = source if data is None else rest_of(source, ("bytes",))
    rest |= {"source": others} if others else {}
    return Media(mime=mime, data=data, uri=uri, name=text_of(raw.get("name")), extra=as_extra(NAME, rest))


def _result(raw: dict[str, Any]) -> ToolResult:
    content: Any = raw.get("content")
    media: tuple[Media, ...] = ()
    match content:
        case [{"json": value, **others}] if not others:
            content = value
        case [*pieces]:
            content, media, _ = split(pieces, _part)
    failure: Failure | None = None
    if raw.get("status") == "error":
        words = content if isinstance(content, str) else ""
        failure = next((each for start, each in _FAILURES if words.startswith(start)), "error")
    error = content if failure is not None and isinstance(content, str) else None
    return _RESULT.load(raw, {"content"}, output=content, media=media, error=error, failure=failure)


def _usage(raw: Any) -> Usage | None:
    """Usage as the provider counts it. Bedrock's input excludes cached tokens; the total shows that, and they are
    added."""
    if not isinstance(raw, dict) or not any(type(each) is int and each for each in raw.values()):
        return None
    return settled(_USAGE.load(raw))


FORMAT = Format(
    name=NAME,
    title="Strands Agents sessions: the folder of a FileSessionManager",
    spec="https://strandsagents.com/latest/documentation/docs/user-guide/concepts/agents/session-management/",
    detect=detect,
    open=open_run,
    claim=claim,
    layout="document",
    suffix=".json",
)
