"""Gemini contents as types: the common kinds of parts, decoded without a dictionary for each."""

from __future__ import annotations

from gc import is_tracked
from typing import Any

import msgspec

from pantrace.model import Part, Text, Thinking, ToolCall, ToolResult
from pantrace.wire.depth import must_be_shallow

from .parts import arguments_from, part_in, result_from

_OUTPUT = {"output"}


class RowType(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A JSON object with known keys only."""


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


def parts_of(raw: list[GeminiPart], format_name: str) -> tuple[Part, ...]:
    """The same parts that `part_in` makes from the same JSON."""
    # Half of all parts are plain text: a function call for each would double the time.
    return tuple(
        [
            Text(text=part.text)
            if part.text is not None
            and part.thought is None
            and part.function_call is None
            and part.function_response is None
            else _part_of(part, format_name)
            for part in raw
        ]
    )


def _part_of(raw: GeminiPart, format_name: str) -> Part:
    call, answer, text, thought = raw.function_call, raw.function_response, raw.text, raw.thought
    if text is None and thought is None:
        if call is not None and answer is None:
            arguments = arguments_from(call.args)
            if is_tracked(arguments):  # the garbage collector does not track flat values
                must_be_shallow(arguments, "function_call.args")
            return ToolCall(id=call.id, name=call.name or "", arguments=arguments)
        if answer is not None and call is None:
            response = answer.response
            if is_tracked(response):
                must_be_shallow(response, "function_response.response")
            if type(response) is dict and response.keys() == _OUTPUT:
                return ToolResult(call_id=answer.id, name=answer.name, output=response["output"])
            return result_from(ToolResult(call_id=answer.id, name=answer.name, output=response))
    elif thought and text is not None and call is None and answer is None:
        return Thinking(text=text)
    return part_in(msgspec.to_builtins(raw), format_name)
