"""Messages of Pydantic AI, as `all_messages_json()` and message histories have them.

Spec: https://ai.pydantic.dev/message-history/ (pydantic_ai/messages.py, pydantic_ai/usage.py)
Detect: a list of messages whose `parts` have a `part_kind`; lines of such messages, or objects with such a list.
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
    Run,
    Sample,
    Source,
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
from pantrace.wire.api_exchanges import UNNAMED, run_of
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of, said_again
from pantrace.wire.field_map import INTEGER, TEXT, FieldMap
from pantrace.wire.head import Head
from pantrace.wire.json import encode
from pantrace.wire.mixed_output import split
from pantrace.wire.openai_chat import arguments_of
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.rows import OnBroken
from pantrace.wire.times import from_iso
from pantrace.wire.usage_check import settled

from .format import Format

NAME = "pydantic-ai"
_LISTS = ("messages", "all_messages", "message_history")
"""Keys under which programs keep the messages of a run next to other data."""
# Names before version 1.0.
_FORMER = {"vendor_id": "provider_response_id", "vendor_details": "provider_details"}
_FORMER_COUNTS = {"request_tokens": "input_tokens", "response_tokens": "output_tokens"}
_ANSWER = FieldMap(
    NAME,
    Step,
    {
        "provider_response_id": ("id", TEXT),
        "run_id": ("invocation", TEXT),
        "model_name": ("model", TEXT),
        "finish_reason": ("stop", TEXT),
    },
)
_USAGE = FieldMap(
    NAME,
    Usage,
    {
        "input_tokens": ("input", INTEGER),
        "output_tokens": ("output", INTEGER),
        "total_tokens": ("total", INTEGER),
        "cache_read_tokens": ("cache_read", INTEGER),
        "cache_write_tokens": ("cache_write", INTEGER),
        "output_reasoning_tokens": ("reasoning", INTEGER),
    },
)
_CALL = FieldMap(NAME, ToolCall, {"tool_call_id": ("id", TEXT), "tool_name": ("name", TEXT)})
_RESULT = FieldMap(NAME, ToolResult, {"tool_call_id": ("call_id", TEXT), "tool_name": ("name", TEXT)})
_THOUGHT = FieldMap(NAME, Thinking, {"signature": ("signature", TEXT)})
_ROLES: dict[str, Role] = {"system-prompt": "system", "user-prompt": "user", "speech": "user", "tool-return": "tool"}
_OUTCOMES: dict[str, Failure] = {
    "failed": "error",
    "retried": "error",
    "denied": "denied",
    "interrupted": "cancelled",
}
_URLS = ("image-url", "audio-url", "video-url", "document-url")
_ACCEPTED = "Final result processed."
"""Pydantic AI's answer to the call of an output tool, whose arguments are the result of the run."""
_STANDARD = str.maketrans("-_", "+/")
"""Pydantic writes bytes as base64 with the URL-safe alphabet; the model has the standard one."""


def detect(head: Head) -> str | None:
    if head.kind != "json" or not head.records:
        return None
    first = head.records[0]
    if is_message(first):
        return "messages" if head.layout in ("array", "lines", "document") else None
    messages = first if isinstance(first, list) else _list_in(first)
    return "" if messages and all(is_message(each) for each in messages[:-1] or messages) else None


def is_message(raw: Any) -> bool:
    """Whether a value is a request or a response."""
    if not isinstance(raw, dict) or raw.get("kind") not in ("request", "response", None):
        return False
    parts = raw.get("parts")
    if not isinstance(parts, list) or ("kind" not in raw and not parts):
        return False
    # A response without any part is still known by its usage.
    return all(isinstance(each, dict) and "part_kind" in each for each in parts[:-1] or parts) and (
        bool(parts) or raw.keys() >= {"usage", "model_name"} or "instructions" in raw
    )


def _list_in(row: Any) -> list[Any]:
    found = (row.get(key) for key in _LISTS) if isinstance(row, dict) else ()
    return next((each for each in found if isinstance(each, list) and each), [])


def load(row: Any) -> Sample:
    """The messages of one run, or of several that continue each other."""
    messages = row if isinstance(row, list) else [row] if is_message(row) else _list_in(row)
    if not any(is_message(each) for each in messages):
        raise ReadError("not messages of Pydantic AI: no message has parts with a part_kind", remedy="is --from right?")
    beside = rest_of(row, [key for key in _LISTS if row.get(key) is messages]) if isinstance(row, dict) else {}
    beside = {} if messages == [row] else beside
    objects = [each for each in messages if isinstance(each, dict)]
    name = _first(objects, "conversation_id")
    instructions, model = _first(objects, "instructions"), _first(objects, "model_name")
    agent = Agent(name="assistant", instructions=instructions, model=model)
    steps = tuple(_steps(messages, {"conversation_id": name, "instructions": instructions}))
    trajectory = Trajectory(
        id=name,
        created=next((step.at for step in steps if step.at is not None), None),
        agents=(agent,) if instructions or model else (),
        steps=steps,
        response=_result_of(steps),
    )
    return Sample(id=name or UNNAMED, trajectory=trajectory, extra=as_extra(NAME, beside))


def _first(messages: list[dict[str, Any]], key: str) -> str | None:
    return next((each[key] for each in messages if isinstance(each.get(key), str)), None)


def _steps(messages: list[Any], common: dict[str, str | None]) -> Iterator[Step]:
    """The messages as steps. `common`: values of the whole trajectory, which need not be kept with each message."""
    sent: float | None = None
    for place, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
            raise ReadError("a message needs a list `parts`", place=f"messages[{place}]")
        taken = {key for key, value in common.items() if message.get(key) == value}
        if message.get("kind") == "response" or ("kind" not in message and "usage" in message):
            yield _response_step(message, taken, sent)
            sent = None
            continue
        sent = from_iso(message.get("timestamp"))
        behind = messages[place + 1] if place + 1 < len(messages) else None
        if sent is not None and object_of(behind).get("kind") == "response":
            taken.add("timestamp")  # kept as the start of the response's step
        yield from _request_steps(message, taken)


def _request_steps(message: dict[str, Any], taken: set[str]) -> Iterator[Step]:
    """A request to the model: each part is a step, as prompts and tool results come in one request."""
    run = text_of(message.get("run_id"))
    taken = {*taken, "parts", *said_again(message, kind="request"), *(("run_id",) if run is not None else ())}
    rest = rest_of(message, taken)
    for raw in message["parts"] or [None]:
        step = _part_step(raw) if raw is not None else Step(role="system", kind="note")
        yield replace(step, invocation=run, extra=as_extra(NAME, {**rest, **rest_in(step.extra, NAME)}))
        rest = {}


def _part_step(raw: Any) -> Step:
    part = object_of(raw)
    kind, content = part.get("part_kind"), part.get("content")
    at = from_iso(part.get("timestamp"))
    if kind == "tool-return" or (kind == "retry-prompt" and isinstance(part.get("tool_name"), str)):
        return Step(role="tool", at=at, parts=(_result(part),))
    if kind == "retry-prompt":
        # The model's answer was not valid and the program asks again: the user did not write this.
        words = content if isinstance(content, str) else encode(content).decode("utf-8", "surrogatepass")
        note = Text(text=words, synthetic=True, extra=_rest(part, "content"))
        return Step(role="user", kind="synthetic", at=at, parts=(note,))
    role = _ROLES.get(str(kind))
    if role is None:
        return Step(role="system", kind="note", at=at, parts=(Unknown(kind=f"{NAME}:{kind}", raw=raw),))
    if kind == "speech":
        return Step(role=role, at=at, parts=(_part(part),))
    pieces = content if isinstance(content, list) else [content]
    parts = [_piece(each) for each in pieces]
    rest = _rest(part, "content")
    return Step(role=role, at=at, parts=tuple(parts), extra=as_extra(NAME, {"part": rest[NAME]}) if rest else {})


def _rest(part: dict[str, Any], *known: str) -> dict[str, Any]:
    moment = () if from_iso(part.get("timestamp")) is None else ("timestamp",)
    return as_extra(NAME, rest_of(part, ("part_kind", *moment, *known)))


def _piece(raw: Any) -> Part:
    """A piece of a user's prompt or of a tool's result: a text or a file."""
    match raw:
        case str(text):
            return Text(text=text)
        case {"kind": "text-content", "content": str(text)}:
            return Text(text=text, extra=as_extra(NAME, rest_of(raw, ("kind", "content"))))
        case {"kind": "binary", "data": str(data)}:
            mime = text_of(raw.get("media_type"))
            known = ("kind", "data", *(("media_type",) if mime is not None else ()))
            return Media(mime=mime, data=data.translate(_STANDARD), extra=as_extra(NAME, rest_of(raw, known)))
        case {"kind": str(kind), "url": str(url)} if kind in _URLS:
            mime = text_of(raw.get("media_type"))
            known = ("url", *(("media_type",) if mime is not None else ()))
            return Media(mime=mime, uri=url, extra=as_extra(NAME, rest_of(raw, known)))
    return Unknown(kind=f"{NAME}:content", raw=raw)


def _result(part: dict[str, Any]) -> ToolResult:
    """A tool's result, or the reason why it must be called again."""
    content, kind = part.get("content"), part.get("part_kind")
    failure: Failure | None = _OUTCOMES.get(str(part.get("outcome")))
    if kind == "retry-prompt":
        # A list holds pydantic's validation errors; a text is what the tool raised as ModelRetry.
        failure = "invalid_arguments" if isinstance(content, list) else "error"
        if isinstance(content, str) and content.startswith("Unknown tool name"):
            failure = "invalid_tool"
    media: tuple[Media, ...] = ()
    if any(isinstance(_piece(each), Media) for each in list_of(content)):
        content, media, _ = split(list_of(content), _piece)
    elif isinstance(content, dict) and isinstance(file := _piece(content), Media):
        content, media = None, (file,)
    return _RESULT.load(
        part,
        {"part_kind", "content", *(("timestamp",) if from_iso(part.get("timestamp")) is not None else ())},
        output=content,
        error=content if failure is not None and isinstance(content, str) else None,
        failure=failure,
        media=media,
        ended=from_iso(part.get("timestamp")),
        extra=as_extra(NAME, {"part_kind": kind} if kind != "tool-return" else {}),
    )


def _response_step(message: dict[str, Any], taken: set[str], sent: float | None) -> Step:
    row = _today(message, _FORMER)
    usage, received = _usage(row.get("usage")), from_iso(row.get("timestamp"))
    state = row.get("state")
    stopped = state in ("interrupted", "incomplete")
    # Before version 1.0, only the provider's own reason was kept.
    given = (
        {}
        if row.get("finish_reason")
        else {"stop": text_of(object_of(row.get("provider_details")).get("finish_reason"))}
    )
    known = {*taken, "parts", "kind", *(("usage",) if usage is not None else ())}
    return _ANSWER.load(
        row,
        known | ({"timestamp"} if received is not None else set()),
        role="agent",
        parts=tuple(_part(each) for each in row["parts"]),
        # The request's time is when the model was asked; older files have only that of the answer.
        at=received if sent is None else sent,
        ended=received if sent is not None else None,
        usage=replace(usage, interrupted=True) if usage is not None and stopped else usage,
        error=StepError(kind=state) if stopped else None,
        **given,
    )


def _today(row: dict[str, Any], former: dict[str, str]) -> dict[str, Any]:
    """A record with today's names for its keys."""
    return {former[key] if key in former and former[key] not in row else key: value for key, value in row.items()}


def _part(raw: Any) -> Part:
    part = object_of(raw)
    kind, content = part.get("part_kind"), part.get("content")
    if kind == "text" and isinstance(content, str):
        return Text(text=content, extra=_rest(part, "content"))
    if kind == "thinking" and isinstance(content, str):
        # The provider keeps the thought to itself, and accepts the signature in its place.
        hidden = not content and part.get("signature") is not None
        return _THOUGHT.load(part, {"part_kind", "content"}, text=None if hidden else content, redacted=hidden)
    if kind in ("tool-call", "builtin-tool-call") and isinstance(part.get("tool_name"), str):
        note = as_extra(NAME, {"part_kind": kind} if kind != "tool-call" else {})
        return _CALL.load(part, {"part_kind", "args"}, arguments=arguments_of(part.get("args")), extra=note)
    if kind in ("tool-return", "builtin-tool-return"):
        return _result(part)
    if kind == "speech" and isinstance(part.get("transcript"), str):
        return Text(text=part["transcript"], extra=_rest(part, "transcript"))
    if kind == "file" and isinstance(file := _piece(content), Media):
        return replace(file, extra={**file.extra, **as_extra(f"{NAME}.part", rest_of(part, ("part_kind", "content")))})
    return Unknown(kind=f"{NAME}:{kind or 'part'}", raw=raw)


def _usage(raw: Any) -> Usage | None:
    """Usage. Cached tokens are part of the input, whatever the provider does. All zeros mean "not reported"."""
    if not isinstance(raw, dict) or not any(type(each) is int and each for each in raw.values()):
        return None
    row, given = _today(raw, _FORMER_COUNTS), dict[str, Any]()
    details = object_of(row.get("details"))
    if type(row.get("output_reasoning_tokens")) is not int:
        found = (details.get(key) for key in ("reasoning_tokens", "thoughts_tokens"))
        given["reasoning"] = next((each for each in found if type(each) is int), None)
    cost = _dollars(row.get("cost"))
    # `settled`: before 1.0 Gemini's thoughts were only in the total.
    return settled(_USAGE.load(row, {"cost"} if cost is not None else (), cost_usd=cost, **given))


def _dollars(cost: Any) -> float | None:
    """A decimal number, which Pydantic writes as text so that no digit is lost."""
    try:
        return float(cost) if isinstance(cost, str) and len(cost) < 64 else None
    except ValueError:
        return None


def _result_of(steps: tuple[Step, ...]) -> str | None:
    """The structured result of a run, as JSON: the arguments of its last call, if that was an output tool's."""
    last = next((part for step in steps[-1:] for part in step.parts if isinstance(part, ToolResult)), None)
    if last is None or last.output != _ACCEPTED:
        return None
    parts = [part for step in steps for part in step.parts if isinstance(part, ToolCall)]
    call = next((part for part in reversed(parts) if part.id == last.call_id), None)
    if call is None:
        return None
    result = call.arguments
    return result if isinstance(result, str) else encode(result).decode("utf-8", "surrogatepass")


def open_run(path: Path, on_broken: OnBroken) -> Run:
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    return run_of(path, source, on_broken, load, is_message, lambda _: [])


FORMAT = Format(
    name=NAME,
    title="Pydantic AI messages: `all_messages_json()`, message histories",
    spec="https://ai.pydantic.dev/message-history/",
    detect=detect,
    load=load,
    open=open_run,
    layout="document",
    suffix=".json",
    reencoded={
        "*usage.cost": "a decimal number written as text is a number in the model",
        "*.data": "bytes in the alphabet of addresses are in the usual one in the model",
    },
)
