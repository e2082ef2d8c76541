"""Anthropic's content blocks and usage, read and written. `owner` is the format that uses them."""

from __future__ import annotations

import re
from functools import cache
from types import NoneType
from typing import Any, NamedTuple

import msgspec

from pantrace.model import Failure, Media, Part, Text, Thinking, ToolCall, ToolResult, Unknown, Usage

from .extra_keys import as_extra, rest_in, rest_of
from .field_map import ANYTHING, INTEGER, NUMBER, TEXT, FieldMap
from .json import text_or_json
from .mixed_output import join, split
from .optional import list_of

# Claude Code reports failures only as text in the result, in these words; there is no code field.
_EXIT = re.compile(r"(?:Error: )?Exit code (\d+)")
_DENIED = re.compile(r"requested permissions? to|was blocked\. For security|doesn't want to proceed with this tool use")


class _Maps(NamedTuple):
    text: FieldMap[Text]
    thinking: FieldMap[Thinking]
    redacted: FieldMap[Thinking]
    call: FieldMap[ToolCall]
    result: FieldMap[ToolResult]
    source: FieldMap[Media]
    usage: FieldMap[Usage]


@cache
def _maps(owner: str) -> _Maps:
    return _Maps(
        FieldMap(owner, Text, {"text": ("text", TEXT)}),
        FieldMap(owner, Thinking, {"thinking": ("text", TEXT), "signature": ("signature", TEXT)}),
        FieldMap(owner, Thinking, {"data": ("signature", TEXT)}),
        FieldMap(owner, ToolCall, {"id": ("id", TEXT), "name": ("name", TEXT), "input": ("arguments", ANYTHING)}),
        FieldMap(owner, ToolResult, {"tool_use_id": ("call_id", TEXT)}),
        FieldMap(owner, Media, {"media_type": ("mime", TEXT), "data": ("data", TEXT), "url": ("uri", TEXT)}),
        FieldMap(
            owner,
            Usage,
            {
                "cache_read_input_tokens": ("cache_read", INTEGER),
                "cache_creation_input_tokens": ("cache_write", INTEGER),
                "output_tokens": ("output", INTEGER),
                "costUSD": ("cost_usd", NUMBER),
            },
        ),
    )


def content_from(content: Any, owner: str) -> list[Part]:
    """The parts of a message's content, which is a text or a list of blocks."""
    if isinstance(content, str):
        return [Text(text=content)]
    return [part_from(block, owner) for block in content] if isinstance(content, list) else []


def part_from(block: Any, owner: str) -> Part:
    """One block as a part; a block of an unknown kind is kept as it is."""
    maps, typed = _maps(owner), {"type"}
    match block:
        case {"type": "text", "text": str()}:
            return maps.text.load(block, typed)
        case {"type": "thinking", "thinking": str()}:
            return maps.thinking.load(block, typed)
        case {"type": "redacted_thinking"}:
            return maps.redacted.load(block, typed, redacted=True)
        case {"type": "tool_use", "name": str()}:
            return maps.call.load(block, typed)
        # A tool that Anthropic runs itself: its result is in the same message.
        case {"type": "server_tool_use", "name": str()}:
            return maps.call.load(block, typed, extra=as_extra(owner, {"type": block["type"]}))
        case {"type": "tool_result"}:
            return _result(block, owner)
        # web_search_tool_result, code_execution_tool_result and others: each tool that Anthropic runs has its own type.
        case {"type": str(kind)} if kind.endswith("_tool_result"):
            return _result(block, owner, type=kind)
        case {"type": "image" | "document" as kind, "source": {"type": "base64" | "url" as how}}:
            kept = {"block": rest} if (rest := rest_of(block, {"type", "source"})) else {}
            notes = {**kept, **({"kind": kind} if kind != "image" else {}), **({"how": how} if how == "url" else {})}
            return maps.source.load(block["source"], typed, extra=as_extra(owner, notes))
    return Unknown(kind=f"{owner}:block", raw=block)


def _result(block: dict[str, Any], owner: str, **notes: Any) -> ToolResult:
    content: Any = block.get("content")
    given: dict[str, Any] = {}
    taken = {"type", "content"}
    if isinstance(content, list):
        content, given["media"], form = split(content, lambda each: part_from(each, owner))
        # Needed to write the result back as a list: a list of one text would come back as a bare string.
        notes["content"] = form or "blocks"
    # Only `true`: some producers write is_error: null or false on every result.
    if block.get("is_error") is True:
        taken.add("is_error")
        text = content if isinstance(content, str) else "\n".join(_texts(content))
        given |= {"error": text, "failure": _failure(text)}
        if exit_code := _EXIT.match(text):
            given["exit_code"] = int(exit_code[1])
    return _maps(owner).result.load(block, taken, output=content, extra=as_extra(owner, notes), **given)


def _texts(content: Any) -> list[str]:
    pieces = list_of(content)
    return [each["text"] for each in pieces if isinstance(each, dict) and isinstance(each.get("text"), str)]


def _failure(text: str) -> Failure:
    if _EXIT.match(text):
        return "exit_code"
    if "No such tool available" in text:
        return "invalid_tool"
    if text.startswith("InputValidationError") or "<tool_use_error>InputValidationError" in text:
        return "invalid_arguments"
    if _DENIED.search(text):
        return "denied"
    return "cancelled" if "interrupted by user" in text else "error"


def part_to(part: Part, owner: str) -> dict[str, Any] | None:
    """A part as a block; None if the vocabulary has no block for it."""
    maps = _maps(owner)
    if isinstance(part, Unknown):
        return part.raw if part.kind == f"{owner}:block" else None
    own = rest_in(part.extra, owner)
    if isinstance(part, Text):
        return {"type": "text", **maps.text.dump(part)}
    if isinstance(part, Thinking):
        if part.redacted and part.text is None:
            return {"type": "redacted_thinking", **maps.redacted.dump(part)}
        return {"type": "thinking", "thinking": part.text or part.summary or "", **maps.thinking.dump(part)}
    if isinstance(part, ToolCall):
        # The API requires `input`, even for calls without arguments.
        return {"type": own.get("type", "tool_use"), "input": {}, **maps.call.dump(part, "type")}
    if isinstance(part, ToolResult):
        return _result_to(part, owner, own)
    return _media_to(part, owner, own) if isinstance(part, Media) else None


def _media_to(part: Media, owner: str, own: dict[str, Any]) -> dict[str, Any] | None:
    kind = own.get("kind", "image" if (part.mime or "image").startswith("image") else "document")
    source = _maps(owner).source.dump(part, "block", "kind", "how")
    if part.data is None and part.uri is None:
        return None
    how = own.get("how", "base64" if part.data is not None else "url")
    return {"type": kind, "source": {"type": how, **source}, **own.get("block", {})}


def _result_to(part: ToolResult, owner: str, own: dict[str, Any]) -> dict[str, Any]:
    row = {"type": own.get("type", "tool_result"), **_maps(owner).result.dump(part, "type", "content")}
    output = part.output if part.output is not None else part.error
    media = [_media_to(each, owner, rest_in(each.extra, owner)) for each in part.media]
    form = own.get("content")
    if media or (form is not None and (isinstance(form, list) or isinstance(output, list))):
        output = output if isinstance(output, (str, list, NoneType)) else text_or_json(output)
        pieces = join(output, media, form if isinstance(form, list) else None, _text)
        output = [each for each in pieces if each is not None]
    if output is not None:
        row["content"] = output if owner in part.extra or isinstance(output, list) else text_or_json(output)
    if part.error is not None or part.failure is not None:
        row["is_error"] = True
    return row


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def usage_from(raw: Any, owner: str, **given: Any) -> Usage | None:
    """Usage from Anthropic's counts. Their input excludes cached tokens, the model's includes them."""
    if not isinstance(raw, dict):
        return None
    # Anthropic counts only tokens that were neither read from nor written to the cache.
    fresh = raw.get("input_tokens")
    if type(fresh) is not int:
        return _maps(owner).usage.load(raw, **given)
    found = _maps(owner).usage.load(raw, {"input_tokens"}, **given)
    whole = fresh + (found.cache_read or 0) + (found.cache_write or 0)
    # The sum is not in the file, so it is marked as derived.
    derived = ("input",) if whole != fresh else ()
    return msgspec.structs.replace(found, input=whole, derived=derived)


def usage_to(usage: Usage, owner: str) -> dict[str, Any]:
    """Usage in Anthropic's counts."""
    row = _maps(owner).usage.dump(usage)
    if usage.input is not None:
        row["input_tokens"] = usage.input - (usage.cache_read or 0) - (usage.cache_write or 0)
    return row
