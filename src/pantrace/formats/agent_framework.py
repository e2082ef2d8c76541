"""Microsoft Agent Framework: sessions of its .NET and Python versions, and responses of the Python version.

Spec: github.com/microsoft/agent-framework; a session is what its agents serialise
Detect: `stateBag` (.NET), `type` "session" with `state`, or `type` "agent_response" (Python).
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Failure,
    Media,
    Part,
    Role,
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
    add_usage,
)
from pantrace.wire.extra_keys import as_extra, rest_of, said_again, texts_in
from pantrace.wire.field_map import ANYTHING, INTEGER, MOMENT, TEXT, FieldMap
from pantrace.wire.head import Head
from pantrace.wire.openai_chat import arguments_of
from pantrace.wire.optional import text_of
from pantrace.wire.times import from_iso

from .format import Format

NAME = "agent-framework"
ROLES: dict[str, Role] = {"user": "user", "assistant": "agent", "tool": "tool", "system": "system"}
_KINDS = {"functionCall": "function_call", "functionResult": "function_result", "textReasoning": "text_reasoning"}
"""Kinds of content that .NET names differently from Python."""
_KEYS = {"authorName": "author_name", "createdAt": "created_at", "messageId": "message_id", "callId": "call_id"}
SESSION, RESPONSE = "session", "response"
"""Ids for samples without one; `name_in_file` replaces them by the file's name."""
# Empty fields are serialised too, and say nothing.
_EMPTY: tuple[Any, ...] = ({}, [], None)


_MESSAGE = FieldMap(
    NAME, Step, {"message_id": ("id", TEXT), "author_name": ("agent", TEXT), "created_at": ("at", MOMENT)}
)
_TEXT = FieldMap(NAME, Text, {"text": ("text", TEXT)})
_THOUGHT = FieldMap(NAME, Thinking, {"text": ("text", TEXT)})
_CALL = FieldMap(NAME, ToolCall, {"call_id": ("id", TEXT), "name": ("name", TEXT)})
_RESULT = FieldMap(NAME, ToolResult, {"call_id": ("call_id", TEXT), "result": ("output", ANYTHING)})
_MEDIA = FieldMap(NAME, Media, {"uri": ("uri", TEXT), "media_type": ("mime", TEXT), "mediaType": ("mime", TEXT)})
# As OpenAI counts: input includes the cache, output includes reasoning.
_USAGE = FieldMap(
    NAME,
    Usage,
    {
        "input_token_count": ("input", INTEGER),
        "output_token_count": ("output", INTEGER),
        "total_token_count": ("total", INTEGER),
        "cache_read_input_token_count": ("cache_read", INTEGER),
        "reasoning_output_token_count": ("reasoning", INTEGER),
    },
)


def detect(head: Head) -> str | None:
    document = head.record
    if "stateBag" in document and _histories(document["stateBag"]):
        return ".NET session"
    kind = document.get("type")
    if kind == "session" and "session_id" in document and isinstance(document.get("state"), dict):
        return "Python session"
    is_response = kind == "agent_response" and isinstance(document.get("messages"), list)
    return "Python responses" if is_response else None


def _is_session(record: Any) -> bool:
    # Responses do not count: a list of them is one conversation.
    return isinstance(record, dict) and ("stateBag" in record or record.get("type") == "session")


def load(row: Any) -> Sample:
    if isinstance(row, list):
        return _conversation(row)
    if not isinstance(row, dict):
        raise ReadError("a session is an object")
    if row.get("type") == "agent_response":
        return _conversation([row])
    key = "stateBag" if "stateBag" in row else "state"
    bag: Any = row.get(key)
    histories = _histories(bag)
    if not histories:
        raise ReadError("the session holds no messages", remedy="only histories that are kept in memory are read")
    # Found by shape, not by name: .NET names a history after the class of its provider, Python does not.
    name, history = next(iter(histories.items()))
    others = {key: value for key, value in bag.items() if key != name}
    beside = {key: value for key, value in history.items() if key != "messages"}
    rest = {
        **rest_of(row, (key, *said_again(row, type="session"), *texts_in(row, "session_id"))),
        **({"state": others} if others else {}),
        **({"history": beside} if beside else {}),
    }
    steps = tuple(_steps(history["messages"]))
    name_of_session = text_of(row.get("session_id"))
    whole = Trajectory(id=name_of_session, steps=steps, agents=_agents(steps), extra=as_extra(NAME, rest))
    return Sample(id=name_of_session or SESSION, trajectory=whole)


def _histories(bag: Any) -> dict[str, Any]:
    """The chat histories of a session by provider name."""
    if not isinstance(bag, dict):
        return {}
    found = {key: value for key, value in bag.items() if isinstance(value, dict)}
    return {key: value for key, value in found.items() if isinstance(value.get("messages"), list)}


def _conversation(responses: list[Any]) -> Sample:
    """Responses one after another: what an agent answered. The file does not have what it was asked."""
    if not responses:
        raise ReadError("there is no response in it")
    steps: list[Step] = []
    kept, usages = [], []
    for place, response in enumerate(responses):
        if not isinstance(response, dict) or not isinstance(response.get("messages"), list):
            raise ReadError("a response needs messages", place=f"[{place}]")
        usage = _usage(response.get("usage_details"))
        usages += [usage] if usage is not None else []
        found = list(_steps(response["messages"]))
        # `finish_reason` belongs to the last model call of the response.
        known = ["messages", *said_again(response, type="agent_response")]
        if found and found[-1].role == "agent":
            found[-1] = replace(found[-1], stop=text_of(response.get("finish_reason")))
            known += texts_in(response, "finish_reason")
        steps += found
        # The counts of several responses become one sum, so each of them is also kept.
        known += ["usage_details"] if len(responses) == 1 and usage is not None else []
        kept.append(rest_of(response, known))
    total = add_usage(usages)
    whole = Trajectory(
        steps=tuple(steps),
        agents=_agents(tuple(steps)),
        created=from_iso(responses[0].get("created_at")),
        # Python reports one count for all model calls of a response, so it belongs to no single step.
        usage={"": total} if total is not None else None,
        extra=as_extra(NAME, {"responses": kept}),
    )
    return Sample(id=text_of(responses[0].get("response_id")) or RESPONSE, trajectory=whole)


def _steps(messages: list[Any]) -> Iterator[Step]:
    names: dict[str | None, str] = {}
    for place, raw in enumerate(messages):
        message = _rename_keys(raw) if isinstance(raw, dict) else {}
        role = ROLES.get(str(message.get("role")))
        if role is None or not isinstance(message.get("contents"), list):
            raise ReadError("a message needs a role and contents", place=f"messages[{place}]")
        parts = [_part(each, names) for each in message["contents"]]
        known = ("role", "contents", *said_again(message, type="message"))
        # Only an agent is known by its name.
        named: dict[str, Any] = {} if role == "agent" else {"agent": None}
        yield _MESSAGE.load(_full(message), known, role=role, parts=tuple(parts), **named)


def _rename_keys(record: dict[str, Any]) -> dict[str, Any]:
    """A record of .NET with the keys that Python uses."""
    return {_KEYS.get(key) or key: value for key, value in record.items()}


def _full(record: dict[str, Any]) -> dict[str, Any]:
    """A record without empty fields; an empty result is one."""
    return {key: value for key, value in record.items() if value not in _EMPTY or key in ("arguments", "result")}


def _part(raw: Any, names: dict[str | None, str]) -> Part:
    if not isinstance(raw, dict):
        return Unknown(kind=f"{NAME}:content", raw=raw)
    content = _rename_keys(raw)
    kind = str(content.get("type", content.get("$type", "")))
    kind = _KINDS.get(kind, kind)

    known, content = ["type", "$type"], _full(content)
    if kind == "text" and isinstance(content.get("text"), str):
        return _TEXT.load(content, known)
    if kind == "text_reasoning":
        return _THOUGHT.load(content, known)
    call = text_of(content.get("call_id"))
    if kind == "function_call" and isinstance(content.get("name"), str):
        # A result names only the id of its call.
        names[call] = content["name"]
        return _CALL.load(content, (*known, "arguments"), arguments=arguments_of(content.get("arguments")))
    if kind == "function_result":
        # Only an exception shows that a call failed; there is no flag for it.
        failed = content.get("exception")
        error = None if failed is None else str(failed)
        # Python writes the text of a result a second time, as a list of items.
        known += ["exception", *(("items",) if _repeats(content.get("items"), content.get("result")) else ())]
        failure: Failure | None = "error" if error is not None else None
        return _RESULT.load(content, known, name=names.get(call), error=error, failure=failure)
    if kind in ("uri", "data") and isinstance(content.get("uri"), str):
        return _MEDIA.load(content, known)
    return Unknown(kind=f"{NAME}:{kind or 'content'}", raw=raw)


def _repeats(items: Any, result: Any) -> bool:
    """Whether the items of a result repeat the result and add nothing."""
    match items:
        case [{"type": "text", "text": str(text), **others}]:
            return bool(text == result) and all(each in _EMPTY for each in others.values())
    return False


def _usage(counts: Any) -> Usage | None:
    found = _USAGE.load(counts) if isinstance(counts, dict) else Usage()
    return found if found != Usage(extra=found.extra) else None


def _agents(steps: tuple[Step, ...]) -> tuple[Agent, ...]:
    return tuple(Agent(name=name) for name in dict.fromkeys(step.agent for step in steps) if name is not None)


def name_in_file(name: str, path: Path) -> str:
    """The file's name for sessions without an id; .NET names a session only there."""
    return path.stem if name in (SESSION, RESPONSE) else name


FORMAT = Format(
    name=NAME,
    title="Microsoft Agent Framework: sessions of .NET and Python, responses of Python",
    spec="https://github.com/microsoft/agent-framework",
    detect=detect,
    load=load,
    name_in_file=name_in_file,
    layout="document",
    stands_alone=_is_session,
    suffix=".json",
)
