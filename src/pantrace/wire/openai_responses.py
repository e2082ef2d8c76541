"""Items of OpenAI's Responses API: messages, reasoning, calls, their outputs.

`item_from` splits an item into parts and other keys, `item_to` puts both together again, and `items_to` makes items
from parts of another format. `parts_from` and `step_items` do this for all items of a step. `owner` is the format that
uses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from pantrace.model import Action, Media, Part, Role, Step, Text, Thinking, ToolCall, ToolResult, Unknown

from .data_uri import split_data_uri
from .extra_keys import as_extra, rest_in, rest_of
from .gui_calls import TOOL, action_arguments
from .json import encode, text_or_json
from .mixed_output import join, split
from .openai_chat import ROLES, arguments_of, is_role
from .optional import text_of

Item = dict[str, Any]
CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "mcp_call": "arguments",
    "tool_search_call": "arguments",
    "local_shell_call": "action",
    "shell_call": "action",
    "web_search_call": "action",
    "computer_call": "action",
    "apply_patch_call": "operation",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "prompt",
}
"""Items that are calls, each with the key of its arguments."""
ANSWERS = {
    "mcp_call": "output",
    "file_search_call": "results",
    "code_interpreter_call": "outputs",
    "image_generation_call": "result",
}
"""Calls that the provider itself answers, each with the key of the answer in the same item."""
LOOSE: dict[str, tuple[Role, str]] = {"tool_call": ("agent", "arguments"), "tool_result": ("tool", "result")}
"""Items that OpenAI never writes but other programs write into rollouts; their call and result share only the tool's
name. Each with its role and the key of its content."""
_SPEAKERS: dict[Role, str] = {"system": "developer", "user": "user", "agent": "assistant", "tool": "user"}
_OUTPUTS = {f"{kind}_output" for kind in CALLS} | {"tool_search_output"}
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_BETWEEN = "\n\n"


def is_item(raw: Any) -> bool:
    """Whether a value is an item of a request's input or of a response's output."""
    if not isinstance(raw, dict):
        return False
    kind = raw.get("type", "message")
    if kind == "message":
        return is_role(raw.get("role")) and isinstance(raw.get("content"), (str, list))
    return isinstance(kind, str) and (kind in ("reasoning", "item_reference") or kind in CALLS or kind in _OUTPUTS)


def role_of(item: Item) -> Role:
    """The role that an item belongs to."""
    kind = item.get("type")
    if kind in (None, "message"):
        return ROLES.get(str(item.get("role")), "system")
    if not isinstance(kind, str):
        return "system"
    # Only messages have a `role`; for other items it follows from their type.
    if kind == "reasoning" or kind in CALLS:
        return "agent"
    if kind in LOOSE:
        return LOOSE[kind][0]
    return "tool" if kind in _OUTPUTS else "system"


def item_from(item: Any, owner: str) -> tuple[list[Part], Item]:
    """The parts of an item, and its other keys."""
    kind = item.get("type", "message") if isinstance(item, dict) else None
    if kind in ("message", "agent_message"):
        content = item.get("content")
        if isinstance(content, str):
            return [Text(text=content)], {**rest_of(item, {"content"}), "content": "text"}
        if isinstance(content, list):
            role = str(item.get("role"))
            return [part_from(each, owner, role) for each in content], rest_of(item, {"content"})
    if kind == "reasoning":
        return _thinking_from(item)
    if isinstance(kind, str) and kind in CALLS:
        return _call_from(item, CALLS[kind], owner)
    if isinstance(kind, str) and kind in _OUTPUTS and isinstance(item.get("call_id"), str):
        return _result_from(item, owner)
    if isinstance(kind, str) and kind in LOOSE and (loose := _loose(item)) is not None:
        return [loose], rest_of(item, {LOOSE[kind][1]})
    return [Unknown(kind=f"{owner}:item", raw=item)], {}


def _loose(item: Item) -> Part | None:
    call_id = item["call_id"] if isinstance(item.get("call_id"), str) else None
    match item:
        case {"type": "tool_call", "function": {"name": str(name)}} | {"type": "tool_call", "name": str(name)}:
            return ToolCall(id=call_id, name=name, arguments=item.get("arguments"))
        case {"type": "tool_result", "name": str(name)}:
            result = item.get("result")
            code = result.get("exitCode") if isinstance(result, dict) else None
            code = code if type(code) is int else None
            return ToolResult(
                call_id=call_id, name=name, output=result, exit_code=code, failure="exit_code" if code else None
            )
    return None


def part_from(raw: Any, owner: str, role: str = "user") -> Part:
    """One piece of a message's content as a part."""

    def extra(*known: str) -> dict[str, Any]:
        is_plain = raw["type"] in (_text_type(role), "input_image")
        return as_extra(owner, rest_of(raw, (*known, "type") if is_plain else known))

    match raw:
        case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
            return Text(text=text, extra=extra("text"))
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text=text, extra=extra("refusal"))
        case {"type": "input_image" | "computer_screenshot", "image_url": str(url)}:
            if (inline := split_data_uri(url)) is not None:
                return Media(mime=inline[0], data=inline[1], extra=extra("image_url"))
            return Media(uri=url, extra=extra("image_url"))
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind), **others}}:
            rest = {"type": "input_audio", **({"input_audio": others} if others else {})}
            return Media(mime=f"audio/{kind}", data=data, extra=as_extra(owner, rest))
        case {"type": "input_file", "file_url": str(url)}:
            name = raw.get("filename")
            return Media(uri=url, name=text_of(name), extra=extra("file_url", "filename"))
    return Unknown(kind=f"{owner}:part", raw=raw)


def part_to(part: Part, owner: str, role: str = "user") -> Any:
    """A part as a piece of content; None if there is no such piece."""
    if isinstance(part, Unknown):
        return part.raw if part.kind == f"{owner}:part" else None
    own = rest_in(part.extra, owner) if isinstance(part, (Text, Media)) else {}
    if isinstance(part, Text):
        return {"type": _text_type(role), **own, "refusal" if own.get("type") == "refusal" else "text": part.text}
    if not isinstance(part, Media):
        return None
    if own.get("type") == "input_audio" or (part.mime or "").startswith("audio/"):
        sound = {"data": part.data, "format": (part.mime or "").removeprefix("audio/"), **own.get("input_audio", {})}
        return {**own, "type": "input_audio", "input_audio": sound} if part.data is not None else None
    if own.get("type") == "input_file":
        return {**own, "file_url": part.uri, **({} if part.name is None else {"filename": part.name})}
    url = part.uri if part.data is None else f"data:{part.mime};base64,{part.data}"
    return {"type": "input_image", **own, "image_url": url} if url is not None else None


def _text_type(role: str) -> str:
    """The type that OpenAI gives to a text in a message of this role."""
    return "output_text" if role == "assistant" else "input_text"


def _thinking_from(item: Item) -> tuple[list[Part], Item]:
    rest = rest_of(item, {"encrypted_content"})
    told: dict[str, Any] = {}
    for key, field, kind in (("summary", "summary", "summary_text"), ("content", "text", "reasoning_text")):
        pieces = item.get(key)
        if not isinstance(pieces, list) or not all(_is_text(each) for each in pieces):
            continue
        told[field] = _BETWEEN.join(each["text"] for each in pieces) if pieces else None
        if len(pieces) == 1 and pieces[0].keys() == {"type", "text"} and pieces[0]["type"] == kind:
            rest.pop(key, None)
    sealed = item.get("encrypted_content")
    if isinstance(sealed, str):
        told["signature"] = sealed
        # Nothing readable was recorded, only the provider's encrypted data.
        told["redacted"] = not told.get("summary") and not told.get("text")
    elif sealed is not None:
        rest["encrypted_content"] = sealed
    return [Thinking(**told)], rest


def _is_text(raw: Any) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("type"), str) and isinstance(raw.get("text"), str)


def _thinking_to(part: Thinking, rest: Item) -> Item:
    row = {"type": "reasoning", **rest}
    for key, kind, told in (("summary", "summary_text", part.summary), ("content", "reasoning_text", part.text)):
        before = rest.get(key)
        pieces = [each["text"] for each in before if _is_text(each)] if isinstance(before, list) else None
        if pieces is not None and told == (_BETWEEN.join(pieces) or None):
            continue  # unchanged: `rest` still has it in its original pieces
        if told is not None:
            row[key] = [{"type": kind, "text": told}]
    # The API requires it, even if it is empty.
    row.setdefault("summary", [])
    if part.signature is not None:
        row["encrypted_content"] = part.signature
    return row


def _call_from(item: Item, key: str, owner: str) -> tuple[list[Part], Item]:
    kind = item["type"]
    name, namespace = item.get("name"), item.get("namespace")
    rest = rest_of(item, {"call_id", key})
    if isinstance(name, str):
        rest.pop("name", None)
    else:
        name = kind.removesuffix("_call")
    if isinstance(namespace, str) and namespace:
        # Codex gives tools of MCP servers and agents a namespace; the same name may exist in several.
        name = f"{namespace}.{name}"
    # Calls that the provider answers itself (web_search_call, mcp_call) have only their item's id.
    call_id = item.get("call_id", item.get("id"))
    written = item.get(key)
    arguments = arguments_of(written) if key == "arguments" else written
    if isinstance(written, str) and arguments is not written and encode(arguments).decode() != written:
        rest["arguments"] = written  # to write it back with its original spacing
    if not isinstance(call_id, str):
        rest |= {"call_id": call_id} if call_id is not None else {}
        call_id = None
    parts: list[Part] = [ToolCall(id=call_id, name=name, arguments=arguments)]
    answer = ANSWERS.get(kind)
    error = item.get("error")
    if (answer is not None and item.get(answer) is not None) or (kind == "mcp_call" and error is not None):
        rest.pop(answer or "", None)
        found = ToolResult(call_id=call_id, name=name, output=item.get(answer or ""))
        if error is not None:
            text = text_or_json(error)
            found = msgspec.structs.replace(found, error=text, failure="error")
        parts.append(found)
    # The provider keeps the search results to itself; the status is all that is recorded.
    elif kind == "web_search_call" and item.get("status") in ("completed", "failed"):
        parts.append(ToolResult(call_id=call_id, name=name, failure="error" if item["status"] == "failed" else None))
    return parts, rest


def _call_to(parts: list[Part], rest: Item) -> Item:
    call = parts[0]
    assert isinstance(call, ToolCall)
    kind = rest.get("type", "function_call")
    key = CALLS.get(kind, "arguments")
    row = {"type": kind, **rest}
    before = row.pop("arguments", None) if key == "arguments" else None
    written = call.arguments
    if key == "arguments" and not isinstance(written, str) and kind != "tool_search_call":
        fits = isinstance(before, str) and arguments_of(before) == written
        written = before if fits else encode({} if written is None else written).decode()
    namespace = rest.get("namespace")
    prefix = f"{namespace}." if isinstance(namespace, str) and namespace else ""
    if kind in ("function_call", "custom_tool_call", "mcp_call"):
        row["name"] = call.name.removeprefix(prefix)
    if written is not None:
        row[key] = written
    if call.id is not None and call.id != rest.get("id"):
        row["call_id"] = call.id
    if kind in ANSWERS:
        for part in parts[1:]:
            if isinstance(part, ToolResult) and part.output is not None:
                row[ANSWERS[kind]] = part.output
    return row


def _result_from(item: Item, owner: str) -> tuple[list[Part], Item]:
    key = "tools" if item["type"] == "tool_search_output" else "output"
    output: Any = item.get(key)
    media: tuple[Media, ...] = ()
    rest = rest_of(item, {"call_id", key})
    if isinstance(output, list) and key == "output" and all(isinstance(each, dict) for each in output):
        output, media, form = split(output, lambda each: _plain(each, owner))
        rest["form"] = form or "pieces"
    elif isinstance(output, dict) and isinstance(seen := part_from(output, owner), Media):
        output, media, rest["form"] = None, (seen,), "one"
    return [ToolResult(call_id=item["call_id"], output=output, media=media)], rest


def _plain(raw: Any, owner: str) -> Part:
    """A piece of an answer; a text with no other keys becomes a plain text."""
    part = part_from(raw, owner)
    return Text(text=part.text) if raw.keys() == {"type", "text"} and isinstance(part, Text) else part


def _result_to(part: ToolResult, rest: Item, owner: str) -> Item:
    row = {"type": "function_call_output", **rest}
    form = row.pop("form", None)
    if part.call_id is not None:
        row["call_id"] = part.call_id
    output = part.output if part.output is not None else part.error
    media = [each for one in part.media if (each := part_to(one, owner)) is not None]
    if form == "one" and len(media) == 1 and output is None:
        output = media[0]
    elif form is not None or media:
        pieces = join(output, media, form if isinstance(form, list) else None, _input_text)
        output = [each for each in pieces if each is not None]
    elif not rest and not isinstance(output, str):
        output = "" if output is None else text_or_json(output)
    if output is not None:
        row["tools" if row["type"] == "tool_search_output" else "output"] = output
    return row


def _input_text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def item_to(parts: list[Part], rest: Item, owner: str) -> Any:
    """An item as it was read, from its parts and the other keys that `item_from` returned."""
    match parts:
        case [Unknown(kind=kind, raw=raw)] if kind == f"{owner}:item":
            return raw
        case [ToolCall(arguments=told)] | [ToolResult(output=told)] if rest.get("type") in LOOSE:
            return {**rest, LOOSE[rest["type"]][1]: told} if told is not None else rest
        case [Thinking() as thought] if rest.get("type") == "reasoning":
            return _thinking_to(thought, rest)
        case [ToolCall(), *_] if rest.get("type") in CALLS:
            return _call_to(parts, rest)
        case [ToolResult() as result]:
            return _result_to(result, rest, owner)
        case [Text(text=text)] if rest.get("content") == "text":
            return {**rest, "content": text}
    role = str(rest.get("role", "user"))
    pieces = [raw for part in parts if (raw := part_to(part, owner, role)) is not None]
    return {**rest, "content": rest.get("content", pieces)}


def parts_from(items: Iterable[Any], owner: str) -> tuple[list[Part], list[Item]]:
    """The parts of several items, and for each item the number of its parts and its other keys."""
    parts: list[Part] = []
    notes: list[Item] = []
    for item in items:
        found, rest = item_from(item, owner)
        parts += found
        notes.append({"item": rest, "parts": len(found)})
    return parts, notes


def step_items(step: Step, owner: str) -> Iterator[Any]:
    """The items of a step: as they were read, if `extra` has the notes of `parts_from` under `items`."""
    notes = rest_in(step.extra, owner).get("items")
    # Parts were added or removed since (a redaction does neither): the notes no longer say which part is whose.
    if not isinstance(notes, list) or sum(note["parts"] for note in notes) != len(step.parts):
        yield from items_to(step.parts, _SPEAKERS[step.role], owner)
        return
    parts = list(step.parts)
    for note in notes:
        mine, parts = parts[: note["parts"]], parts[note["parts"] :]
        yield item_to(mine, note["item"], owner)


def items_to(parts: Iterable[Part], role: str, owner: str) -> list[Item]:
    """Parts of another format as items; consecutive texts become one message."""
    return list(_items(parts, role, owner))


def _items(parts: Iterable[Part], role: str, owner: str) -> Iterator[Item]:
    said: list[Any] = []
    for part in parts:
        if isinstance(part, (Text, Media)):
            piece = part_to(part, owner, role)
            said += [piece] if piece is not None and piece.get("text") != "" else []
            continue
        if said:
            yield {"type": "message", "role": role, "content": said}
            said = []
        if isinstance(part, Thinking):
            yield _thinking_to(part, {})
        elif isinstance(part, ToolCall):
            # Arguments that are free text, not JSON, are only allowed in a custom tool call.
            custom = isinstance(part.arguments, str) and isinstance(arguments_of(part.arguments), str)
            yield _call_to([part], {"type": "custom_tool_call"} if custom else {})
        elif isinstance(part, Action):
            name = {"call_id": part.id} if part.id is not None else {}
            yield {"type": "function_call", "name": TOOL, "arguments": encode(action_arguments(part)).decode(), **name}
        elif isinstance(part, ToolResult):
            yield _result_to(part, {}, owner)
    if said:
        yield {"type": "message", "role": role, "content": said}
