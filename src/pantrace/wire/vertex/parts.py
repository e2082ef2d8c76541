"""Parts as Gemini parts that the client accepts, and back: arguments, answers and failures of tools."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, get_args

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Failure, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from pantrace.wire.gemini import part_from, part_to
from pantrace.wire.json import encode

BARE = "_arguments"
"""The key for arguments that are not an object: `function_call.args` must be one."""
_FAILURES = frozenset(get_args(Failure))
_OWN_KEYS = frozenset({"output", "error"})
_EXIT_CODE = re.compile(r"exit code (-?\d+)")


def arguments_to(arguments: Any) -> dict[str, Any]:
    """Arguments as an object, which `args` must be."""
    if isinstance(arguments, dict):
        return arguments
    return {} if arguments is None else {BARE: arguments}


def arguments_from(raw: Any) -> Any:
    """Arguments as the call had them; the inverse of `arguments_to`."""
    return raw[BARE] if type(raw) is dict and len(raw) == 1 and BARE in raw else raw


def error_text(result: ToolResult) -> str | None:
    """Why a tool failed: its error, otherwise a word for a failure hidden in a normal answer."""
    if result.error is not None or result.failure is None:
        return result.error
    # The client's rows have one place for a failure, the error text.
    if result.failure == "exit_code" and result.exit_code is not None:
        return f"exit code {result.exit_code}"
    return result.failure


def failure_from(error: Any) -> dict[str, Any]:
    """The ToolResult fields for an error text; the inverse of `error_text`."""
    if error is None:
        return {}
    text = error if isinstance(error, str) else encode(error).decode()
    if text in _FAILURES:
        return {"failure": text}
    if found := _EXIT_CODE.fullmatch(text):
        return {"failure": "exit_code", "exit_code": int(found[1])}
    return {"error": text, "failure": "error"}


def response_to(result: ToolResult) -> dict[str, Any]:
    """A tool's answer as `function_response.response`: with `output` and `error`, or the tool's own object."""
    output, error = result.output, error_text(result)
    if type(output) is dict:
        if error is not None and output == {"error": error}:
            return output
        # The tool's own object, which cannot be mistaken for our wrapper.
        if not output.keys() <= _OWN_KEYS and output.get("error") == error:
            return output
    response = {} if output is None else {"output": output}
    if error is not None:
        response["error"] = error
    return response


def result_from(part: ToolResult) -> ToolResult:
    """A result of `wire.gemini` with `output` and `error` taken out of the response object."""
    response = part.output
    if not isinstance(response, dict):
        return part
    output = response.get("output") if response.keys() <= _OWN_KEYS else response
    if (error := response.get("error")) is None:
        return ToolResult(call_id=part.call_id, name=part.name, output=output, extra=part.extra)
    return ToolResult(
        call_id=part.call_id,
        name=part.name,
        output=output,
        extra=part.extra,
        **failure_from(error),
    )


def must_be_text(**fields: Any) -> None:
    """ReadError for the first field that is neither text nor None."""
    for name, value in fields.items():
        if value is not None and type(value) is not str:
            raise ReadError(f"must be text, not {str(value)[:40]!r}", place=name)


def part_in(raw: Any, format_name: str) -> Part:
    """One Gemini part as a part of the model."""
    # A short cut for plain text, which is half of all parts.
    if type(raw) is dict and len(raw) == 1 and type(text := raw.get("text")) is str:
        return Text(text=text)
    part = part_from(raw, format_name)
    if type(part) is ToolResult:
        if type(part.call_id) is not str or type(part.name) is not str:
            must_be_text(call_id=part.call_id, name=part.name)
        return result_from(part)
    if type(part) is ToolCall:
        if type(part.id) is not str or type(part.name) is not str:
            must_be_text(id=part.id, name=part.name)
        if (arguments := arguments_from(part.arguments)) is not part.arguments:
            return msgspec.structs.replace(part, arguments=arguments)
    return part


def part_out(part: Part, format_name: str) -> dict[str, Any] | None:
    """A part as a Gemini part that the client accepts; None if there is none, and for empty or inserted text."""
    kind = type(part)
    if kind is Text and (part.synthetic or not part.text):  # type: ignore[union-attr]
        return None
    if kind is Unknown or part.extra or kind not in _PLAIN:  # type: ignore[union-attr]
        return _part_out_with_extra(part, format_name)
    return _PLAIN[kind](part)


def _plain_text(part: Any) -> dict[str, Any]:
    return {"text": part.text}


def _plain_thinking(part: Any) -> dict[str, Any] | None:
    if part.text is None:
        return None
    said = {"text": part.text, "thought": True}
    return said if part.signature is None else {**said, "thought_signature": part.signature}


def _plain_call(part: Any) -> dict[str, Any]:
    call = {"name": part.name} if part.id is None else {"id": part.id, "name": part.name}
    if part.arguments is not None:
        call["args"] = arguments_to(part.arguments)
    return {"function_call": call}


def _plain_result(part: Any) -> dict[str, Any]:
    answer = {} if part.call_id is None else {"id": part.call_id}
    if part.name is not None:
        answer["name"] = part.name
    answer["response"] = response_to(part)
    return {"function_response": answer}


# Most parts are of these kinds and have no extra; the speed of writing depends on this short cut.
_PLAIN: dict[type, Callable[[Any], dict[str, Any] | None]] = {
    Text: _plain_text,
    Thinking: _plain_thinking,
    ToolCall: _plain_call,
    ToolResult: _plain_result,
}


def _part_out_with_extra(part: Part, format_name: str) -> dict[str, Any] | None:
    said = part_to(part, format_name)
    if said is None:
        return None
    if isinstance(part, ToolResult):
        said["function_response"]["response"] = response_to(part)
    elif isinstance(part, ToolCall) and part.arguments is not None:
        said["function_call"]["args"] = arguments_to(part.arguments)
    return said
