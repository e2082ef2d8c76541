"""Messages of Vercel's AI SDK: those of its models (`response.messages`) and of user interfaces (`UIMessage`).

Spec: https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message and .../model-message
Detect: messages with `parts` that have a type, or with blocks `tool-call` or `tool-result`; objects that hold them
    under `messages`.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Citation,
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
from pantrace.wire.api_exchanges import UNNAMED, run_of
from pantrace.wire.extra_keys import as_extra, rest_of, texts_in
from pantrace.wire.field_map import INTEGER, TEXT, FieldMap
from pantrace.wire.head import Head
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.rows import OnBroken
from pantrace.wire.times import from_iso
from pantrace.wire.usage_check import settled

from .format import Format

NAME = "ai-sdk"
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "agent", "tool": "tool"}
_OWN = ("tool-call", "tool-result", "tool-approval-request", "tool-approval-response")
"""Blocks that no other API has. Without one of them, messages look like OpenAI's."""
_ANSWERED = ("output-available", "output-error", "output-denied", "result")
"""States of a tool that has answered, or never will."""
_OUTPUT = {"type", "value", "reason", "providerOptions"}
_FAILURES: dict[str, Failure] = {
    "error-text": "error",
    "error-json": "error",
    "execution-denied": "denied",
    "output-error": "error",
    "output-denied": "denied",
}
_TEXT = FieldMap(NAME, Text, {"text": ("text", TEXT)})
_THOUGHT = FieldMap(NAME, Thinking, {"text": ("text", TEXT)})
_CITATION = FieldMap(NAME, Citation, {"url": ("uri", TEXT), "title": ("title", TEXT)})
_FILE = FieldMap(NAME, Media, {"mediaType": ("mime", TEXT), "mimeType": ("mime", TEXT), "filename": ("name", TEXT)})
_CALL = FieldMap(NAME, ToolCall, {"toolCallId": ("id", TEXT), "toolName": ("name", TEXT)})
_RESULT = FieldMap(
    NAME,
    ToolResult,
    {"toolCallId": ("call_id", TEXT), "toolName": ("name", TEXT), "errorText": ("error", TEXT)},
)
_ARGUMENTS = ("input", "args", "rawInput")
"""Where the arguments are; those that did not fit the tool's schema are `rawInput`."""
_USAGE = FieldMap(
    NAME,
    Usage,
    {
        "inputTokens": ("input", INTEGER),
        "outputTokens": ("output", INTEGER),
        "totalTokens": ("total", INTEGER),
        "reasoningTokens": ("reasoning", INTEGER),
        "cachedInputTokens": ("cache_read", INTEGER),
    },
)


def detect(head: Head) -> str | None:
    if head.kind != "json" or not head.records:
        return None
    first = head.records[0]
    if isinstance(first, dict) and "role" in first:
        return "messages" if head.layout in ("array", "lines") and _is_talk(head.records) else None
    return "" if _is_talk(object_of(first).get("messages")) else None


def _is_talk(messages: Any) -> bool:
    """Whether these are messages, of which one could be of no other API."""
    found = list_of(messages)
    # The last one may be cut off.
    return all(map(_is_message, found[:-1] or found)) and any(map(_is_own, found))


def _is_message(raw: Any) -> bool:
    return isinstance(raw, dict) and isinstance(role := raw.get("role"), str) and role in _ROLES


def _is_own(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    parts = message.get("parts")
    if isinstance(parts, list) and parts and "type" not in message:
        return all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in parts)
    return any(isinstance(each, dict) and each.get("type") in _OWN for each in list_of(message.get("content")))


def load(row: Any) -> Sample:
    """The messages of one conversation: a list, or an object that holds it."""
    messages = row if isinstance(row, list) else object_of(row).get("messages")
    if not isinstance(messages, list) or not any(map(_is_own, messages)):
        raise ReadError("not messages of the AI SDK: none has parts or tool calls", remedy="is --from right?")
    beside = rest_of(row, ("messages", *texts_in(row, "id"))) if isinstance(row, dict) else {}
    name = text_of(object_of(row).get("id")) or text_of(object_of(row).get("chatId"))
    steps = tuple(_steps(messages))
    created = next((step.at for step in steps if step.at is not None), None)
    trajectory = Trajectory(id=name, created=created, steps=steps)
    return Sample(id=name or UNNAMED, trajectory=trajectory, extra=as_extra(NAME, beside))


def _steps(messages: list[Any]) -> Iterator[Step]:
    for place, message in enumerate(messages):
        if not _is_message(message):
            raise ReadError("a message needs a role", place=f"messages[{place}]")
        yield from _message_steps(message)


def _message_steps(message: dict[str, Any]) -> Iterator[Step]:
    """One step, or one for each call of the model: a user interface has all that an agent did in one message."""
    role, shown = _ROLES[message["role"]], isinstance(message.get("parts"), list)
    said = message["parts"] if shown else message.get("content")
    usage = _usage(message.get("metadata"))
    at = from_iso(message.get("createdAt"))
    said_under = _copies(message) if shown else ("content",) if isinstance(said, (str, list)) else ()
    rest = rest_of(
        message, ("role", *texts_in(message, "id"), *(("createdAt",) if at is not None else ()), *said_under)
    )
    groups: list[list[Part]] = [[]]
    for raw in [{"type": "text", "text": said}] if isinstance(said, str) else list_of(said):
        if object_of(raw).get("type") == "step-start":
            groups += [[]] if groups[-1] else []
        else:
            groups[-1] += _parts(raw)
    name = text_of(message.get("id"))
    for number, parts in enumerate(groups):
        is_first, is_last = number == 0, number == len(groups) - 1
        yield Step(
            id=name if is_first or name is None else f"{name}-{number}",
            role=role,
            at=at if is_first else None,
            parts=tuple(parts),
            usage=usage if is_last else None,
            extra=as_extra(NAME, rest if is_first else {}),
        )


def _copies(message: dict[str, Any]) -> Iterator[str]:
    """`parts`, and the keys under which older interfaces have their text and their calls once more."""
    yield "parts"
    parts = [object_of(each) for each in message["parts"]]
    text = "".join([str(each.get("text")) for each in parts if each.get("type") == "text"])
    if message.get("content") in ("", text):
        yield "content"
    calls, again = [each.get("toolInvocation") for each in parts], message.get("toolInvocations")
    if isinstance(again, list) and all(each in calls for each in again):
        yield "toolInvocations"


def _usage(metadata: Any) -> Usage | None:
    """The tokens of a message, where the program puts the SDK's own usage into its metadata."""
    found = object_of(metadata)
    raw = next((found[key] for key in ("totalUsage", "usage") if isinstance(found.get(key), dict)), None)
    # The details repeat the numbers under other names.
    usage = _USAGE.load(raw, ("inputTokenDetails", "outputTokenDetails")) if raw is not None else None
    return settled(usage) if usage is not None and usage.input is not None else None


def _parts(raw: Any) -> Iterator[Part]:
    block = object_of(raw)
    match kind := str(block.get("type")):
        case "text" if isinstance(block.get("text"), str):
            yield _TEXT.load(block, ("type",))
        case "reasoning":
            yield _THOUGHT.load(block, ("type",))
        case "tool-call":
            yield _call(block)
        case "tool-result":
            yield _result(block)
        case "tool-invocation" if isinstance(inner := block.get("toolInvocation"), dict):
            yield from _used(inner)
        case "dynamic-tool":
            yield from _used(block)
        case _ if kind.startswith("tool-") and "toolCallId" in block and kind not in _OWN:
            yield from _used(block, kind.removeprefix("tool-"))
        case "file" | "image":
            yield _file(block)
        case "source-url":
            yield _CITATION.load(block, ("type",))
        case _:
            yield Unknown(kind=f"{NAME}:{kind}", raw=raw)


def _used(block: dict[str, Any], tool: str | None = None) -> Iterator[Part]:
    """A tool in a user interface: its call, and its result once there is one."""
    call = _call(block, tool)
    if block.get("state") not in _ANSWERED and "output" not in block:
        yield call
        return
    # What is said of both is kept with the result.
    yield replace(call, extra={})
    yield _result({key: value for key, value in block.items() if key != _arguments_key(block)}, tool)


def _arguments_key(block: dict[str, Any]) -> str:
    return next((key for key in _ARGUMENTS if block.get(key) is not None), _ARGUMENTS[0])


def _call(block: dict[str, Any], tool: str | None = None) -> ToolCall:
    key = _arguments_key(block)
    name = tool or text_of(block.get("toolName")) or ""
    return _CALL.load(block, ("type", key), name=name, arguments=block.get(key))


def _result(block: dict[str, Any], tool: str | None = None) -> ToolResult:
    key = "output" if "output" in block else "result"
    output, failure = block.get(key), _FAILURES.get(str(block.get("state")))
    given: dict[str, Any] = {} if tool is None else {"name": tool}
    # For models, the output says what it is: {"type": "json", "value": ...}.
    if isinstance(output, dict) and output.keys() <= _OUTPUT and "type" in output:
        failure = _FAILURES.get(str(output["type"]))
        inner = "value" if "value" in output else "reason"
        given["extra"] = as_extra(NAME, {key: rest_of(output, (inner,))})
        output = output.get(inner)
    if block.get("isError") is True:
        failure = "error"
    error = text_of(block.get("errorText"))
    if not error and failure and isinstance(output, str):
        error = given["error"] = output
    return _RESULT.load(block, ("type", key), output=error if output is None else output, failure=failure, **given)


def _file(block: dict[str, Any]) -> Media:
    key = next((key for key in ("url", "data", "image") if block.get(key)), "url")
    if not isinstance(data := block.get(key), str):
        return _FILE.load(block, ("type",))
    return _FILE.load(block, ("type", key), **{"uri" if ":" in data[:16] else "data": data})


def open_run(path: Path, on_broken: OnBroken) -> Run:
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    return run_of(path, source, on_broken, load, _is_message, lambda _: [])


FORMAT = Format(
    name=NAME,
    title="AI SDK of Vercel: messages of its models and of its user interfaces",
    spec="https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message",
    detect=detect,
    load=load,
    open=open_run,
    layout="document",
    suffix=".json",
    reencoded={
        "*parts[].type": "`tool-weather` is a call of the tool `weather`",
    },
    note="verified with messages of ai 6.0; those of versions 4 and 5 were written by hand",
)
