"""One message of a session as a step, and back.

A model's message holds its thoughts, its text, and its calls with their results. `tokens.output` excludes thoughts.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Media, Part, Role, Step, StepError, Text, Thinking, ToolCall, ToolResult, Usage
from pantrace.wire import gemini
from pantrace.wire.extra_keys import as_extra, rest_in
from pantrace.wire.field_map import ANYTHING, TEXT, TIME, FieldMap
from pantrace.wire.gemini_tools import status_of, with_failure

NAME = "gemini-cli"
STEP = FieldMap(NAME, Step, {"id": ("id", TEXT), "timestamp": ("at", TIME), "model": ("model", TEXT)})
THOUGHT = FieldMap(
    NAME, Thinking, {"description": ("text", TEXT), "subject": ("summary", TEXT), "timestamp": ("started", TIME)}
)
CALL = FieldMap(NAME, ToolCall, {"id": ("id", TEXT), "name": ("name", TEXT), "args": ("arguments", ANYTHING)})
RESULT = FieldMap(NAME, ToolResult, {"timestamp": ("ended", TIME)})
_OF_RESULT = ("timestamp", "resultDisplay", "status", "result")
COUNTS = {
    "input": "prompt_token_count",
    "output": "candidates_token_count",
    "cached": "cached_content_token_count",
    "thoughts": "thoughts_token_count",
    "tool": "tool_use_prompt_token_count",
    "total": "total_token_count",
}
ROLES: dict[str, Role] = {"user": "user", "gemini": "agent", "info": "system", "warning": "system", "error": "system"}
CONTEXT = "<session_context>"
"""The beginning of the message that the program puts in front of every session."""
FORM = "form"
"""Notes on the form of a message are kept under this name; they are not keys of it."""


def step_from(raw: dict[str, Any]) -> Step:
    """A message record as a step; its id and type are texts."""
    kind = raw["type"]
    role = ROLES.get(kind, "system")
    taken = {"type"}
    # info, warning and error all become notes, so the type is kept for writing.
    form: dict[str, Any] = {} if kind in ("user", "gemini") else {"type": kind}
    given: dict[str, Any] = {} if role != "system" else {"kind": "note"}
    parts: list[Part] = []
    if isinstance(thoughts := raw.get("thoughts"), list) and all(isinstance(each, dict) for each in thoughts):
        taken.add("thoughts")
        parts += [THOUGHT.load(each) for each in thoughts]
        if not thoughts:
            form["thoughts"] = []
    calls = raw.get("toolCalls")
    if not isinstance(calls, list) or not all(_is_call(each) for each in calls):
        calls = None
    # Calls without an id occur.
    names = [each["id"] for each in calls or () if "id" in each]
    content = raw.get("content")
    if isinstance(content, str):
        taken.add("content")
        parts += [Text(text=content)] if content else []
        if kind != "gemini":
            form["content"] = "text"
    elif isinstance(content, list):
        taken.add("content")
        found = [gemini.part_from(each, NAME) for each in content]
        # After a resume, the content repeats thoughts and calls that `thoughts` and `toolCalls` hold in more detail.
        twice = "thoughts" in taken and bool(thoughts)
        own = [each for each in found if not (isinstance(each, ToolCall) and each.id in names)]
        own = [each for each in own if not (twice and isinstance(each, Thinking))]
        parts += [with_failure(each) if isinstance(each, ToolResult) else each for each in own]
        if len(own) != len(found):
            form["content"] = content
        elif kind == "gemini":
            form["content"] = "parts"
    if calls is not None:
        taken.add("toolCalls")
        parts += [part for each in calls for part in _call_parts(each)]
        if not calls:
            form["toolCalls"] = []
    if (usage := _usage(raw.get("tokens"))) is not None:
        taken.add("tokens")
        given["usage"] = usage
    if kind == "user":
        match parts:
            case [ToolResult(), *others] if all(isinstance(part, (ToolResult, Media)) for part in others):
                role = "tool"
            # The program puts it in front of every session; nobody typed it.
            case [Text(text=text), *_] if text.startswith(CONTEXT):
                given["kind"] = "synthetic"
    elif kind == "error":
        words = "\n".join(part.text for part in parts if isinstance(part, Text))
        given["error"] = StepError(kind="error", message=words or None)
    return STEP.load(
        raw, taken, role=role, parts=tuple(parts), extra=as_extra(NAME, {FORM: form} if form else {}), **given
    )


def _is_call(raw: Any) -> bool:
    """Whether a record is a call; one without an id is identified by its name."""
    return isinstance(raw, dict) and isinstance(raw.get("name"), str) and isinstance(raw.get("id", ""), str)


def _usage(raw: Any) -> Usage | None:
    if not isinstance(raw, dict) or not raw:
        return None
    # If a count has another type, `tokens` is kept as it is and not counted.
    if not all(type(value) is int for key, value in raw.items() if key in COUNTS and value is not None):
        return None
    return gemini.usage_from({COUNTS.get(key, key): value for key, value in raw.items()}, NAME)


def _call_parts(raw: dict[str, Any]) -> list[Part]:
    """A call, and its result if it has one or failed without."""
    status = raw.get("status")
    if raw.get("result") is None and status not in ("error", "cancelled"):
        return [CALL.load(raw)]
    call = CALL.load(raw, _OF_RESULT)
    found = _answer(raw)
    extra: dict[str, Any] = {"part": rest} if (rest := rest_in(found.extra, NAME)) else {}
    if found.output is None and raw.get("result") is not None:
        extra["result"] = raw["result"]
        found = msgspec.structs.replace(found, output=raw["result"])
    found = with_failure(found, status)
    if status != status_of(found):
        extra["status"] = status
    shown = {key: raw[key] for key in ("timestamp", "resultDisplay") if key in raw}
    fields = {name: getattr(found, name) for name in ("output", "error", "failure", "exit_code", "media")}
    return [
        call,
        RESULT.load(shown, call_id=call.id, name=call.name, extra=as_extra(NAME, extra), **fields),
    ]


def _answer(raw: dict[str, Any]) -> ToolResult:
    """The answer in Gemini's parts; without output if it has another form."""
    plain = ToolResult(call_id=raw.get("id"), name=raw["name"])
    result = raw.get("result")
    if not isinstance(result, list) or not result:
        return plain
    first, *others = [gemini.part_from(each, NAME) for each in result]
    media = tuple(each for each in others if isinstance(each, Media))
    fits = isinstance(first, ToolResult) and (first.call_id, first.name) == (raw.get("id"), raw["name"])
    if not fits or len(media) < len(others) or not isinstance(first, ToolResult) or first.output is None:
        return plain
    return msgspec.structs.replace(first, media=media)


def message_to(step: Step, results: list[ToolResult]) -> dict[str, Any]:
    """A step as a message record; `results` are the answers to its calls, from whichever step."""
    own = rest_in(step.extra, NAME).get(FORM, {})
    row = STEP.dump(step, FORM)
    kind = own.get("type") or ("gemini" if step.role == "agent" else "info" if step.role == "system" else "user")
    row["type"] = kind
    form = own.get("content")
    thoughts = [part for part in step.parts if isinstance(part, Thinking) and (form != "parts" or part.started)]
    if thoughts and kind == "gemini":
        row["thoughts"] = [THOUGHT.dump(each) for each in thoughts]
    elif "thoughts" in own:
        row["thoughts"] = []
    if "content" not in row:
        row["content"] = form if isinstance(form, list) else _content(step, kind, form, thoughts)
    calls = [part for part in step.parts if isinstance(part, ToolCall)]
    if kind == "gemini" and form == "parts" and not any(each.call_id == call.id for call in calls for each in results):
        pass  # the content already has them
    elif calls or "toolCalls" in own:
        by_id = {each.call_id: each for each in results}
        row["toolCalls"] = [_call_to(call, by_id.get(call.id), step) for call in calls]
    if step.usage is not None:
        counts = gemini.usage_to(step.usage, NAME)
        names = {long: short for short, long in COUNTS.items()}
        row["tokens"] = {names.get(key, key): value for key, value in counts.items()}
    return row


def _content(step: Step, kind: str, form: Any, thoughts: list[Thinking]) -> Any:
    """The content of a message: a text if possible, else Gemini's parts."""
    kept = [part for part in step.parts if not (isinstance(part, Thinking) and part in thoughts)]
    if kind == "gemini" and form != "parts":
        kept = [part for part in kept if not isinstance(part, (ToolCall, ToolResult))]
    elif step.role != "tool" and form != "parts":
        kept = [part for part in kept if not isinstance(part, ToolCall)]
    if form == "text" or (kind in ("gemini", "info") and form is None):
        match kept:
            case []:
                return ""
            case [Text(text=text, extra=extra)] if not extra:
                return text
    return [raw for part in kept if (raw := gemini.camel_part_to(part, NAME)) is not None]


def _call_to(call: ToolCall, result: ToolResult | None, step: Step) -> dict[str, Any]:
    row = {"args": {}, **CALL.dump(call)}
    if result is None:
        return row
    own = rest_in(result.extra, NAME)
    row |= RESULT.dump(result, "part", "result", "status")
    row["status"] = own.get("status") if "status" in own else status_of(result)
    if "result" in own:
        row["result"] = own["result"]
    elif result.output is not None or result.error is not None:
        bare = ToolResult(
            call_id=result.call_id,
            name=result.name or call.name,
            output=result.output,
            error=result.error,
            extra=as_extra(NAME, own.get("part", {})),
        )
        parts: tuple[Part, ...] = (bare, *result.media)
        row["result"] = [raw for part in parts if (raw := gemini.camel_part_to(part, NAME)) is not None]
    if "timestamp" not in row and (at := STEP.dump(step).get("timestamp")) is not None and NAME not in result.extra:
        row["timestamp"] = at  # Gemini CLI requires one
    return row
