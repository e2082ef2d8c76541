"""Writes messages in the form of the GenAI conventions, and of OpenInference."""

from __future__ import annotations

from typing import Any, NamedTuple

from pantrace.model import Action, Media, Part, Step, Text, Thinking, Tool, ToolCall, ToolResult, Unknown
from pantrace.wire.gui_calls import TOOL as COMPUTER
from pantrace.wire.gui_calls import action_arguments
from pantrace.wire.json import text_or_json
from pantrace.wire.optional import present

from .span import NAME


class Message(NamedTuple):
    """A message of the conversation so far."""

    role: str
    parts: list[Part]
    step: Step


def as_calls(part: Part) -> Part:
    """An action on a screen, as a call of a tool `computer`: spans have no other place for it."""
    if isinstance(part, Action):
        return ToolCall(id=part.id, name=COMPUTER, arguments=action_arguments(part))
    return part


def words(messages: list[Message]) -> str:
    """The texts of messages, as one text."""
    return "\n\n".join(part.text for each in messages for part in each.parts if isinstance(part, Text))


def messages_to(messages: list[Message]) -> list[dict[str, Any]]:
    """Messages with parts, as in the conventions since 1.37."""
    found = []
    for each in messages:
        parts = [written for part in each.parts if (written := part_to(part)) is not None]
        if parts:
            found.append({"role": each.role, "parts": parts})
    return found


def part_to(part: Part) -> dict[str, Any] | None:
    """One part; None if the conventions have no type for it."""
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case Thinking():
            # Of a hidden thought only the summary can be shown; a signature means nothing to other tools.
            thought = part.text if part.text is not None else part.summary
            return {"type": "reasoning", "content": thought} if thought is not None else None
        case ToolCall():
            return present({"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments})
        case ToolResult():
            # A failed tool may have only an error; the model saw that as the answer.
            output = part.output if part.output is not None else part.error
            return present({"type": "tool_call_response", "id": part.call_id, "response": output})
        case Media():
            kind = (part.mime or "").partition("/")[0]
            around = {"mime_type": part.mime, "modality": kind if kind in ("image", "audio", "video") else "document"}
            if part.uri is not None:
                return present({"type": "uri", **around, "uri": part.uri})
            return present({"type": "blob", **around, "content": part.data}) if part.data is not None else None
        case Unknown() if part.kind == f"{NAME}:part" and isinstance(part.raw, dict):
            return part.raw
    return None


def tool_to(tool: Tool) -> dict[str, Any]:
    """A declared tool."""
    row = {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return present(row)


def flatten(messages: list[Message], prefix: str) -> dict[str, Any]:
    """Messages as OpenInference writes them: one attribute per value, and a message for each tool result."""
    found: dict[str, Any] = {}
    number = 0
    for each in messages:
        results = [part for part in each.parts if isinstance(part, ToolResult)]
        others: list[Part] = [part for part in each.parts if not isinstance(part, ToolResult)]
        for result in results:
            here = f"{prefix}.{number}.message"
            found[f"{here}.role"] = "tool"
            if result.call_id is not None:
                found[f"{here}.tool_call_id"] = result.call_id
            if result.name is not None:
                found[f"{here}.name"] = result.name
            output = result.output if result.output is not None else result.error
            if output is not None:
                found[f"{here}.content"] = text_or_json(output)
            number += 1
        if others:
            found |= _message(others, each.role, f"{prefix}.{number}.message")
            number += 1
    return found


def _message(parts: list[Part], role: str, here: str) -> dict[str, Any]:
    found: dict[str, Any] = {f"{here}.role": role}
    calls = [part for part in parts if isinstance(part, ToolCall)]
    contents = [part for part in parts if isinstance(part, (Text, Thinking, Media))]
    match contents:
        # OpenInference has `content` for a single text; `contents` is for several parts.
        case [Text(text=text)]:
            found[f"{here}.content"] = text
        case _:
            for number, part in enumerate(contents):
                found |= _content(part, f"{here}.contents.{number}.message_content")
    for number, call in enumerate(calls):
        place = f"{here}.tool_calls.{number}.tool_call"
        if call.id is not None:
            found[f"{place}.id"] = call.id
        found[f"{place}.function.name"] = call.name
        if call.arguments is not None:
            found[f"{place}.function.arguments"] = text_or_json(call.arguments)
    return found


def _content(part: Text | Thinking | Media, here: str) -> dict[str, Any]:
    match part:
        case Text():
            return {f"{here}.type": "text", f"{here}.text": part.text}
        case Thinking():
            return {f"{here}.type": "reasoning", f"{here}.text": part.text or part.summary or ""}
    where = part.uri if part.data is None else f"data:{part.mime};base64,{part.data}"
    return {f"{here}.type": "image", f"{here}.image.image.url": where} if where is not None else {}
