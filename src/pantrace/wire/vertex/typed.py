"""Gemini contents as types: the kinds of parts that nearly all of them have, decoded without a dictionary each."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Part, Text, Thinking, ToolCall, ToolResult
from pantrace.wire.depth import must_be_shallow

from .parts import arguments_from, part_in, result_from

_OUTPUT = {"output"}


class RowType(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A JSON object of which every key is known."""


class FunctionCall(RowType):
    id: str | None = None
    name: str | None = None
    args: Any = None


class FunctionResponse(RowType):
    id: str | None = None
    name: str | None = None
    response: Any = None


class GeminiPart(RowType):
    text: str | None = None
    thought: bool | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None


class Content(RowType, kw_only=True):
    role: str | None = None
    parts: list[GeminiPart]


def part_of(raw: GeminiPart, format_name: str) -> Part:
    """The same part of the model that `part_in` makes of the same JSON."""
    call, answer, text, thought = raw.function_call, raw.function_response, raw.text, raw.thought
    if call is None and answer is None and text is not None:
        if thought is None:
            return Text(text=text)
        if thought:
            return Thinking(text=text)
    elif text is None and thought is None:
        if call is not None and answer is None:
            arguments = must_be_shallow(arguments_from(call.args), "function_call.args")
            return ToolCall(id=call.id, name=call.name or "", arguments=arguments)
        if answer is not None and call is None:
            response = must_be_shallow(answer.response, "function_response.response")
            if type(response) is dict and response.keys() == _OUTPUT:
                return ToolResult(call_id=answer.id, name=answer.name, output=response["output"])
            return result_from(ToolResult(call_id=answer.id, name=answer.name, output=response))
    return part_in(msgspec.to_builtins(raw), format_name)
