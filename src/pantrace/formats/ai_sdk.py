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
from pantrace.wire.extra_keys import as_extra, rest_of
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
_FAILURES: dict[str, Failure] = {
    "error-text": "error",
    "error-json": "error",
    "execution-denied": "denied",
    "output-error": "error",
    "output-denied": "denied",
}
_THOUGHT = FieldMap(NAME, Thinking, {"text": ("text", TEXT)})
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
    beside = rest_of(row, ("id", "messages")) if isinstance(row, dict) else {}
    name = text_of(object_of(row).get("id") or object_of(row).get("chatId"))
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
    # Older interfaces also have the text of the parts under `content`, and their calls under `toolInvocations`.
    copies = ("content", "toolInvocations") if shown else ("content",)
    about = message.get("metadata")
    usage = _usage(about)
    at = from_iso(message.get("createdAt"))
    rest = rest_of(message, ("role", "parts", "id", *copies, *(("createdAt",) if at is not None else ())))
    said = message["parts"] if shown else message.get("content")
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
            yield Text(text=block["text"], extra=_rest(block, "text", "state"))
        case "reasoning":
            yield _THOUGHT.load(block, ("type", "state"))
        case "tool-call":
            yield _call(block, text_of(block.get("toolName")))
        case "tool-result":
            yield _result(block, text_of(block.get("toolName")), block.get("output", block.get("result")))
        case "tool-invocation" if isinstance(inner := block.get("toolInvocation"), dict):
            yield from _used(inner, text_of(inner.get("toolName")))
        case "dynamic-tool":
            yield from _used(block, text_of(block.get("toolName")))
        case _ if kind.startswith("tool-") and "toolCallId" in block and kind not in _OWN:
            yield from _used(block, kind.removeprefix("tool-"))
        case "file" | "image":
            yield _file(block)
        case "source-url":
            yield Citation(
                uri=text_of(block.get("url")), title=text_of(block.get("title")), extra=_rest(block, "url", "title")
            )
        case _:
            yield Unknown(kind=f"{NAME}:{kind}", raw=raw)


def _used(block: dict[str, Any], tool: str | None) -> Iterator[Part]:
    """A tool in a user interface: its call, and its result once there is one."""
    # Arguments that did not fit the tool's schema are `rawInput`.
    yield replace(_call(block, tool), extra={})
    state = block.get("state")
    if state in ("output-available", "output-error", "output-denied", "result") or "output" in block:
        given = {key: value for key, value in block.items() if key not in ("input", "args", "rawInput")}
        yield _result(given, tool, block.get("output", block.get("result")))


def _call(block: dict[str, Any], tool: str | None) -> ToolCall:
    arguments = next((block[key] for key in ("input", "args", "rawInput") if block.get(key) is not None), None)
    rest = _rest(block, "toolCallId", "toolName", "input", "args", "rawInput")
    return ToolCall(id=text_of(block.get("toolCallId")), name=tool or "", arguments=arguments, extra=rest)


def _result(block: dict[str, Any], tool: str | None, output: Any) -> ToolResult:
    kind, failure = block.get("state"), _FAILURES.get(str(block.get("state")))
    # For models, the output says what it is: {"type": "json", "value": ...}.
    if (
        isinstance(output, dict)
        and output.keys() <= {"type", "value", "reason", "providerOptions"}
        and "type" in output
    ):
        kind = output["type"]
        failure = _FAILURES.get(str(kind))
        output = output.get("value", output.get("reason"))
    if block.get("isError") is True:
        failure = "error"
    error = text_of(block.get("errorText")) or (output if failure and isinstance(output, str) else None)
    return ToolResult(
        call_id=text_of(block.get("toolCallId")),
        name=tool,
        output=error if output is None else output,
        error=error,
        failure=failure,
        extra=_rest(block, "toolCallId", "toolName", "state", "output", "result", "errorText", "isError", "step"),
    )


def _file(block: dict[str, Any]) -> Media:
    mime = text_of(block.get("mediaType") or block.get("mimeType"))
    data = block.get("url") or block.get("data") or block.get("image")
    rest = _rest(block, "mediaType", "mimeType", "url", "data", "image", "filename")
    name = text_of(block.get("filename"))
    if not isinstance(data, str):
        return Media(mime=mime, name=name, extra=as_extra(NAME, {"raw": data}) if data is not None else rest)
    is_address = ":" in data[:16]
    return Media(mime=mime, name=name, uri=data if is_address else None, data=None if is_address else data, extra=rest)


def _rest(block: dict[str, Any], *known: str) -> dict[str, Any]:
    return as_extra(NAME, rest_of(block, ("type", *known)))


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
        "*parts[].state": "whether a tool has answered, and how",
    },
    note="verified with messages of ai 6.0; those of versions 4 and 5 were written by hand",
)
