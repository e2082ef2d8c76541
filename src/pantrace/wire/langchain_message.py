"""One message of LangChain as a step: its blocks, its calls, its usage."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pantrace.model import (
    Failure,
    Kind,
    Media,
    Part,
    Role,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)

from . import anthropic, openai_usage
from .extra_keys import as_extra, rest_of, said_again, texts_in
from .field_map import ANYTHING, INTEGER, TEXT, FieldMap
from .mixed_output import split
from .openai_chat import ROLES, arguments_of, call_from, part_from
from .optional import list_of, object_of, text_of
from .usage_check import settled

NAME = "langchain"
CHUNK = "MessageChunk"
TYPES: dict[str, Role] = {
    "human": "user",
    "ai": "agent",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "chat": "user",
    "remove": "system",
}
_SAID = FieldMap(NAME, Step, {"id": ("id", TEXT)})
_CALL = FieldMap(NAME, ToolCall, {"id": ("id", TEXT), "name": ("name", TEXT), "args": ("arguments", ANYTHING)})
_RESULT = FieldMap(NAME, ToolResult, {"tool_call_id": ("call_id", TEXT), "name": ("name", TEXT)})
_USAGE = FieldMap(
    NAME,
    Usage,
    {
        "input_tokens": ("input", INTEGER),
        "output_tokens": ("output", INTEGER),
        "total_tokens": ("total", INTEGER),
    },
)
# Subsets of the counts above: cached tokens are part of the input, reasoning is part of the output.
_DETAILS = {
    "input_token_details": {"cache_read": "cache_read", "cache_creation": "cache_write"},
    "output_token_details": {"reasoning": "reasoning"},
}
# `response_metadata` is the provider's own; each integration names these differently.
_MODEL, _STOP = ("model_name", "model", "model_id"), ("finish_reason", "stop_reason", "stopReason", "done_reason")
_CALLS = ("tool_use", "tool_call", "function_call")
"""Blocks that repeat a call which is also in `tool_calls`."""
_FAILURES: tuple[tuple[str, Failure], ...] = (
    ("is not a valid tool, try one of", "invalid_tool"),
    ("Error invoking tool", "invalid_arguments"),
)
"""Texts with which LangGraph answers a call that never reached a tool."""


def is_message(raw: Any) -> bool:
    """Whether it is a message in one of the three ways in which LangChain writes one."""
    kind, fields, form = opened(raw)
    if kind not in TYPES or "content" not in fields:
        return False
    # `type` and `content` alone could be anybody's message; only LangChain writes these two keys on every one.
    return form == "constructor" or bool(fields.keys() & {"additional_kwargs", "response_metadata"})


def opened(raw: Any) -> tuple[str, dict[str, Any], str]:
    """The type and fields of a message, and which of the three ways of writing it was used."""
    match raw:
        case {"lc": int(), "type": "constructor", "id": [*_, str(name)], "kwargs": dict(fields)}:
            # `dumpd` names the Python class ("AIMessageChunk"), which gives the type if `type` is missing.
            kind = fields.get("type") or name.removesuffix("Chunk").removesuffix("Message").lower()
            return str(kind).removesuffix(CHUNK).lower(), fields, "constructor"
        case {"type": str(kind), "data": dict(fields)}:
            return kind.removesuffix(CHUNK).lower(), fields, "data"
        case {"type": str(kind)}:
            return kind.removesuffix(CHUNK).lower(), raw, ""
    return "", {}, ""


def step_of(kind: str, fields: dict[str, Any]) -> Step:
    role = TYPES.get(kind)
    taken = {"type", "content"}
    # ChatMessage is the only type whose role is data.
    if kind == "chat":
        role = ROLES.get(str(fields.get("role")), "user")
    if role == "tool":
        step = Step(role=role, parts=(_result(fields),), id=text_of(fields.get("id")))
        return replace(step, extra=as_extra(NAME, {"type": kind} if kind != "tool" else {}))
    beside = object_of(fields.get("additional_kwargs"))
    if role == "agent":
        return _answered(fields, beside)
    step_kind: Kind = "message" if role is not None else "note"
    # The summarization middleware writes its summary as a human message, which nobody typed.
    if beside.get("lc_source") == "summarization":
        step_kind = "compaction"
    notes = as_extra(NAME, {"type": kind} if kind not in ("human", "system") else {})
    if kind == "remove":
        # Its id is that of the message it removes from the state, so it must not become the id of this step.
        return Step(role="system", kind="note", extra=as_extra(NAME, _full(fields)))
    parts = tuple(_content(fields.get("content"), {}))
    return _SAID.load(_full(fields), taken, role=role or "system", kind=step_kind, parts=parts, extra=notes)


def _full(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that are not empty: LangChain writes most fields even if they have no value."""
    return {key: value for key, value in fields.items() if value not in ({}, [], None)}


def _answered(fields: dict[str, Any], beside: dict[str, Any]) -> Step:
    about = dict(object_of(fields.get("response_metadata")))
    usage, where = usage_of(fields, about)
    model, stop = (_taken(about, keys) for keys in (_MODEL, _STOP))
    beside = dict(beside)
    calls = [
        _CALL.load(each, said_again(each, type="tool_call"))
        for each in list_of(fields.get("tool_calls"))
        if _is_call(each)
    ]
    # Before `tool_calls` was a field of its own, calls were only in `additional_kwargs`, in the provider's form.
    if not calls:
        calls = [call_from(each, NAME) for each in list_of(beside.get("tool_calls")) if isinstance(each, dict)]
        if isinstance(beside.get("function_call"), dict):
            calls.append(call_from({"function": beside["function_call"]}, NAME, legacy=True))
        beside = {
            key: value for key, value in beside.items() if not calls or key not in ("tool_calls", "function_call")
        }
    by_id = {call.id: call for call in calls if call.id is not None}
    parts = [_thought(beside)] if isinstance(beside.get("reasoning_content"), str) else []
    parts += _content(fields.get("content"), by_id)
    # Blocks give a call its place between texts; a call without a block goes to the end.
    placed = {part.id for part in parts if isinstance(part, ToolCall)}
    parts += [call for call in calls if call.id is None or call.id not in placed]
    odd = [each for each in list_of(fields.get("tool_calls")) if not _is_call(each)]
    parts += [_invalid(each) for each in [*odd, *list_of(fields.get("invalid_tool_calls"))]]
    if isinstance(beside.get("refusal"), str):
        parts.append(Text(text=beside.pop("refusal"), extra=as_extra(NAME, {"type": "refusal"})))
    rest = {"additional_kwargs": _full(beside), "response_metadata": _full(about)}
    agent = text_of(fields.get("name"))
    taken = {"type", "content", "tool_calls", "invalid_tool_calls", *rest, *where, *(("name",) if agent else ())}
    extra = as_extra(NAME, {key: value for key, value in rest.items() if value})
    return _SAID.load(
        _full(fields),
        taken,
        role="agent",
        agent=agent,
        parts=tuple(parts),
        model=model,
        stop=stop,
        usage=usage,
        extra=extra,
    )


def _taken(about: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """Remove and return the first of these keys that is a text: it becomes a field, so `extra` need not keep it."""
    key = next((key for key in keys if isinstance(about.get(key), str)), None)
    found: str | None = about.pop(key) if key is not None else None
    return found


def _is_call(raw: Any) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("name"), str)


def _thought(beside: dict[str, Any]) -> Part:
    return Thinking(text=beside.pop("reasoning_content"), extra=as_extra(NAME, {"key": "reasoning_content"}))


def _invalid(raw: Any) -> Part:
    """A call whose arguments are not JSON. LangChain calls no tool for it; the text is kept."""
    if not _is_call(raw):
        return Unknown(kind=f"{NAME}:invalid_tool_call", raw=raw)
    return _CALL.load(raw, extra=as_extra(NAME, {"type": "invalid_tool_call"}))


def _content(content: Any, calls: dict[str, ToolCall]) -> list[Part]:
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    if not isinstance(content, list):
        return [] if content is None else [Unknown(kind=f"{NAME}:content", raw=content)]
    return [_block(each, calls) for each in content]


def _block(raw: Any, calls: dict[str, ToolCall]) -> Part:
    """A content block, either in LangChain's own form or in the provider's."""
    if isinstance(raw, str):
        return Text(text=raw)
    block = object_of(raw)
    kind = block.get("type")
    if kind in _CALLS:
        name = block.get("call_id", block.get("id"))
        if isinstance(name, str) and (call := calls.get(name)) is not None:
            # The block repeats the call in the provider's form; only what it says beyond that is kept.
            same = [key for key in ("input", "args", "arguments") if arguments_of(block.get(key)) == call.arguments]
            rest = rest_of(block, ("type", "id", "call_id", *same, *said_again(block, name=call.name)))
            rest |= {"id": block["id"]} if block.get("id") not in (name, None) else {}
            return replace(call, extra=as_extra(NAME, {**call.extra.get(NAME, {}), "block": rest})) if rest else call
        if isinstance(block.get("name"), str):
            key = next((each for each in ("input", "args", "arguments") if each in block), "input")
            rest = rest_of(block, ("name", key, *texts_in(block, "id")))
            return ToolCall(
                id=text_of(name), name=block["name"], arguments=arguments_of(block.get(key)), extra=as_extra(NAME, rest)
            )
    if kind == "reasoning":
        summary = [each.get("text") for each in list_of(block.get("summary")) if isinstance(each, dict)]
        # OpenAI's Responses API: the thought itself is encrypted and only its summary can be read.
        words = "\n\n".join(each for each in summary if isinstance(each, str)) or None
        sealed = text_of(block.get("encrypted_content"))
        known = ("type", *(("encrypted_content",) if sealed is not None else ()))
        text = text_of(block.get("reasoning"))
        known = (*known, "reasoning") if text is not None else known
        return Thinking(text=text, summary=words, signature=sealed, extra=as_extra(NAME, rest_of(block, known)))
    if kind in ("image", "audio", "video", "file") and (isinstance(block.get("base64"), str) or "url" in block):
        data, url = text_of(block.get("base64")), text_of(block.get("url"))
        read = [key for key in ("base64", "url", "mime_type") if isinstance(block.get(key), str)]
        mime = text_of(block.get("mime_type"))
        return Media(mime=mime, data=data, uri=url, extra=as_extra(NAME, rest_of(block, read)))
    if kind in ("image_url", "refusal", "input_audio"):
        return part_from(block, NAME)
    # langchain-anthropic passes Anthropic's blocks through unchanged.
    found = anthropic.part_from(raw, NAME)
    return found if not isinstance(found, Unknown) else Unknown(kind=f"{NAME}:{kind or 'block'}", raw=raw)


def _result(fields: dict[str, Any]) -> ToolResult:
    content = fields.get("content")
    media: tuple[Media, ...] = ()
    if isinstance(content, list):
        content, media, _ = split(content, lambda each: _block(each, {}))
    failure: Failure | None = None
    words = content if isinstance(content, str) else None
    # Only `status` counts: a tool that answers "Error: ..." with status `success` has not failed.
    if fields.get("status") == "error":
        failure = next((each for text, each in _FAILURES if words is not None and text in words), "error")
    return _RESULT.load(
        _full(fields),
        {"type", "content", "id"},
        output=content,
        media=media,
        error=words if failure is not None else None,
        failure=failure,
    )


def usage_of(fields: dict[str, Any], about: dict[str, Any]) -> tuple[Usage | None, tuple[str, ...]]:
    """The usage of an answer, and the key of the message it came from (none if it came from `response_metadata`, where
    the provider's own numbers are; older versions have nothing else)."""
    raw = fields.get("usage_metadata")
    # Nothing but zeros is not a report; the metadata of the response may still have the numbers.
    if isinstance(raw, dict) and any(type(each) is int and each for each in raw.values()):
        given, rest = dict[str, Any](), dict[str, Any]()
        for key, words in _DETAILS.items():
            inner = object_of(raw.get(key))
            given |= {name: inner[each] for each, name in words.items() if type(inner.get(each)) is int}
            others = {k: v for k, v in inner.items() if v is not None and not (k in words and type(v) is int)}
            rest |= {key: others} if others else {}
        # `settled`: Vertex AI's integration counts thoughts only in the total (langchain-google pull request 1932).
        known = [key for key in _DETAILS if isinstance(raw.get(key), dict)]
        return settled(_USAGE.load(raw, known, extra=as_extra(NAME, rest), **given)), ("usage_metadata",)
    counts = about.get("token_usage")
    if isinstance(counts, dict) and type(counts.get("prompt_tokens")) is int:
        return openai_usage.usage_from(about.pop("token_usage"), NAME, "chat"), ()
    counts = about.get("usage")
    if isinstance(counts, dict) and type(counts.get("input_tokens")) is int:
        return anthropic.usage_from(about.pop("usage"), NAME), ()
    return None, ()
