"""ADK's parts: Gemini's, with URL-safe bytes, code execution as a tool, and failures that hide in responses."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Any

import msgspec

from pantrace.model import Failure, Media, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from pantrace.wire import gemini
from pantrace.wire.depth import must_be_shallow
from pantrace.wire.json import encode
from pantrace.wire.optional import present

from . import schema
from .contents import as_content
from .field_types import text as expected_text

NAME = "adk"
"""The key in `extra` that all four ADK formats share."""

CODE = "code_execution"
"""The tool's name for code that the model runs on the provider's side."""

TOGETHER = "together"
"""The note of a step whose single event contained calls or text together with the answers of tools."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_WEB_SAFE = str.maketrans("+/", "-_")
# ADK writes bytes as URL-safe base64; the model keeps the standard alphabet.
_STANDARD = str.maketrans("-_", "+/")
_OUTCOMES: dict[str, Failure] = {"OUTCOME_FAILED": "error", "OUTCOME_DEADLINE_EXCEEDED": "timeout"}


def failure_in(response: Any) -> tuple[Failure | None, str | None]:
    """How a tool's response reports a failure: status "error", or a non-empty error or error_message."""
    # Any other type is a plain answer; only an object can report a failure.
    if not isinstance(response, dict):
        return None, None
    error = response.get("error") or response.get("error_message")
    if not error:
        return ("error", None) if response.get("status") == "error" else (None, None)
    return "error", error if isinstance(error, str) else encode(error).decode("utf-8", "replace")


def part_from(raw: Any) -> Part:
    """One part of an event's content."""
    if isinstance(raw, schema.Part):
        typed = _plain_part(raw)
        return typed if typed is not None else part_from(msgspec.to_builtins(raw))
    # A thought whose text the provider hides has only a signature.
    if isinstance(raw, dict) and raw.get("thought") is True and raw.get("text") is None:
        return _hidden_thought(raw)
    part = gemini.part_from(raw, NAME)
    for key in _TEXTS.get(type(part), ()):
        expected_text(getattr(part, key), f"a part's {key}")
    if isinstance(part, ToolResult):
        failure, error = failure_in(part.output)
        if failure != part.failure or error != part.error:
            return msgspec.structs.replace(part, failure=failure, error=error)
    elif isinstance(part, Media) and part.data is not None:
        return msgspec.structs.replace(part, data=part.data.translate(_STANDARD))
    elif isinstance(part, Unknown) and isinstance(part.raw, dict):
        return _code(part)
    return part


_TEXTS: dict[type, tuple[str, ...]] = {
    ToolCall: ("id", "name"),
    ToolResult: ("call_id", "name"),
    Media: ("mime", "uri", "data", "name"),
    Thinking: ("signature",),
}
"""Fields of parts that must be text; hand-written files may have something else there."""


def _hidden_thought(raw: dict[str, Any]) -> Part:
    part = {gemini.CAMEL.get(key, key): value for key, value in raw.items() if value is not None}
    rest = {key: value for key, value in part.items() if key not in ("thought", "thought_signature")}
    if any(key in rest for key in ("function_call", "function_response", "inline_data", "file_data")):
        return gemini.part_from(raw, NAME)
    return Thinking(signature=part.get("thought_signature"), extra={NAME: rest} if rest else {})


def _code(part: Unknown) -> Part:
    raw = part.raw
    if len(raw) == 1 and isinstance(code := raw.get("executable_code"), dict):
        known = present(code)
        return ToolCall(id=known.pop("id", None), name=CODE, arguments=known, extra={NAME: {"kind": "executable_code"}})
    if len(raw) == 1 and isinstance(answer := raw.get("code_execution_result"), dict):
        known = present(answer)
        output, outcome = known.pop("output", None), known.get("outcome")
        failure = _OUTCOMES.get(outcome) if isinstance(outcome, str) else None
        return ToolResult(
            call_id=known.pop("id", None),
            name=CODE,
            output=output,
            error=output if failure and isinstance(output, str) else None,
            failure=failure,
            extra={NAME: {"kind": "code_execution_result", **known}},
        )
    return part


def part_to(part: Part) -> dict[str, Any] | None:
    """A part as ADK's models accept it; None if there is no such part. Other differences are noted by `residual`."""
    if isinstance(part, ToolCall):
        return _call(part)
    if isinstance(part, ToolResult):
        return _result(part)
    if isinstance(part, Thinking):
        signature = part.signature if part.signature is not None and _is_base64(part.signature) else None
        if part.text is None and signature is None:
            return None
        rest = part.extra.get(NAME, {})
        said: dict[str, Any] = {} if part.text is None else {"text": part.text}
        said["thought"] = True
        return {**said, **({"thought_signature": signature} if signature is not None else {}), **rest}
    if isinstance(part, Unknown) and isinstance(part.raw, dict) and not part.raw.keys() <= _FIELDS:
        # google-adk refuses a file for one key that it does not know.
        return None
    if isinstance(part, Media) and part.data is not None:
        # google-adk refuses a file for bytes that it cannot decode.
        if not _is_base64(part.data):
            return None
        part = msgspec.structs.replace(part, data=part.data.translate(_WEB_SAFE))
    return gemini.part_to(part, NAME)


def _is_code(part: ToolCall | ToolResult) -> bool:
    """Whether a part is code that the model ran on the provider's side, or its output."""
    # Only if it was read from ADK: a tool of another agent may have the same name.
    kind = part.extra.get(NAME, {}).get("kind") if NAME in part.extra else None
    if isinstance(part, ToolCall):
        return kind == "executable_code" and isinstance(part.arguments, dict)
    return kind == "code_execution_result" and (part.output is None or isinstance(part.output, str))


def is_answer(part: Part) -> bool:
    """Whether a part is written as `function_response`: the answer of one of the agent's own tools."""
    return isinstance(part, ToolResult) and not _is_code(part)


def _call(part: ToolCall) -> dict[str, Any]:
    if _is_code(part):
        return {"executable_code": present({"id": part.id, **part.arguments})}
    if is_wrapped(part):
        part = msgspec.structs.replace(part, arguments={"arguments": part.arguments})
    return gemini.part_to(part, NAME) or {}


def _result(part: ToolResult) -> dict[str, Any]:
    if _is_code(part):
        rest = {key: value for key, value in part.extra[NAME].items() if key != "kind"}
        return {"code_execution_result": present({"id": part.call_id, "output": part.output, **rest})}
    return gemini.part_to(_as_answered(part), NAME) or {}


def _as_answered(part: ToolResult) -> ToolResult:
    """A result without an error that its own output already states."""
    if part.error is not None and isinstance(part.output, dict) and failure_in(part.output)[1] == part.error:
        return msgspec.structs.replace(part, error=None)
    return part


def response_of(part: ToolResult) -> dict[str, Any]:
    """A tool's answer as an object, which `function_response.response` must be."""
    return gemini.response_of(_as_answered(part))


def is_wrapped(part: Part) -> bool:
    """Whether a part's data is not an object, so that ADK needs an object around it."""
    if isinstance(part, ToolCall):
        return part.arguments is not None and not isinstance(part.arguments, dict)
    return is_answer(part) and part.output is not None and not isinstance(part.output, dict)  # type: ignore[union-attr]


def unwrap(part: Part) -> Part:
    """A call or result without the object that `part_to` put around its data."""
    if isinstance(part, ToolCall) and isinstance(part.arguments, dict):
        return msgspec.structs.replace(part, arguments=part.arguments.get("arguments"))
    if isinstance(part, ToolResult) and isinstance(part.output, dict):
        return msgspec.structs.replace(part, output=part.output.get("output"))
    return part


_COMMON = ("text", "thought", "thought_signature", "function_call", "function_response")
_RARE = attrgetter(*(name for name in schema.Part.__struct_fields__ if name not in _COMMON))
_NONE = _RARE(schema.Part())


def _plain_part(part: schema.Part) -> Part | None:
    """A typed part that is only a text, a thought, a call or an answer; None for any other."""
    text, thought, signature = part.text, part.thought, part.thought_signature
    call, answer = part.function_call, part.function_response
    if _RARE(part) != _NONE or (text is not None) + (call is not None) + (answer is not None) != 1:
        return None
    if text is not None:
        if thought is True:
            return Thinking(text=text, signature=signature)
        return Text(text=text) if thought is None and signature is None else None
    if thought is not None or signature is not None:
        return None
    if call is not None:
        if call.partial_args is not None or call.will_continue is not None:
            return None
        arguments = must_be_shallow(call.args, "function_call.args")
        return ToolCall(id=call.id, name=call.name or "", arguments=arguments)
    if answer is None or answer.will_continue is not None or answer.scheduling is not None or answer.parts is not None:
        return None
    output = must_be_shallow(answer.response, "function_response.response")
    # ADK has no field for a failed tool: only the answer shows it.
    failure, error = failure_in(output)
    return ToolResult(call_id=answer.id, name=answer.name, output=output, error=error, failure=failure)


_FIELDS = frozenset(schema.Part.__struct_fields__)


def usual_parts(content: schema.Content) -> tuple[Part, ...] | None:
    """The parts of a content that has only texts, thoughts, calls and answers; None for any other."""
    found = [_plain_part(part) for part in content.parts or ()]
    return None if None in found else tuple(found)  # type: ignore[arg-type]


def parts_from(content: Any) -> tuple[Part, ...]:
    """The parts of a content, whatever its shape."""
    told = as_content(content)
    parts = told.parts if isinstance(told, schema.Content) else (told or {}).get("parts")
    return tuple([part_from(part) for part in parts]) if parts else ()


def texts_in(content: Any) -> str | None:
    """The text of a Content object without thoughts; None if there is none."""
    said = [part.text for part in parts_from(content) if isinstance(part, Text) and part.text]
    return "\n".join(said) if said else None


def _is_base64(text: str) -> bool:
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None
