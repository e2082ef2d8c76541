"""Messages and steps, both ways.

A message is a step; a tool's answer that the model keeps in the step of its call is a message of its own here. Notes
on such messages lie in the sample's `metadata.pantrace.messages`, by message id.
"""

from __future__ import annotations

from typing import Any, cast

from pantrace.errors import ReadError
from pantrace.model import Action, Failure, Media, Part, Role, Step, StepError, Text, ToolCall, ToolResult, Unknown
from pantrace.wire.json import decode, encode, to_plain
from pantrace.wire.times import from_iso

from .content import from_media, from_parts, kept, own, text_part, to_parts
from .told import Told, is_timed
from .usage import to_usage

_ROLES: dict[str, Role] = {"assistant": "agent", "user": "user", "system": "system", "tool": "tool"}
_BACK = {role: name for name, role in _ROLES.items()}
_SAID = frozenset({"id", "content", "role"})
_KNOWN = {
    "agent": _SAID | {"tool_calls", "model"},
    "user": _SAID,
    "system": _SAID,
    "tool": _SAID | {"tool_call_id", "function", "error"},
}
_CALL = frozenset({"id", "function", "arguments", "type"})

FAILURES: dict[str, Failure] = {
    "parsing": "invalid_arguments",
    "timeout": "timeout",
    "permission": "denied",
    "approval": "denied",
    "cancelled": "cancelled",
}
ERROR_TYPES = {
    "invalid_arguments": "parsing",
    "invalid_tool": "parsing",
    "timeout": "timeout",
    "denied": "approval",
    "cancelled": "cancelled",
}


def to_step(message: Any, told: Told) -> Step:
    """One message as a step, with what the model and tool events tell about it."""
    role = _ROLES.get(message.get("role", "")) if isinstance(message, dict) else None
    if role is None:
        return Step(role="system", kind="note", parts=(Unknown(kind="inspect:message", raw=message),))
    extra = kept(message, _KNOWN[role])
    name = message.get("id")
    if told.notes and (notes := told.notes_on(message)):
        name = None if notes.get("unnamed") else notes.get("id", name)
    if role == "tool":
        return _tool_step(message, name, extra, told)
    parts, extra = _content(message.get("content"), told.attachments, extra)
    if role != "agent":
        return Step(id=name, role=role, parts=tuple(parts), extra=extra)
    for call in message.get("tool_calls") or ():
        parts.append(_call(call))
        told.called.add(call.get("id"))
    event = told.model_event(message)
    if event is None:
        return Step(id=name, role="agent", parts=tuple(parts), model=message.get("model"), extra=extra)
    return answer(event, told, name, tuple(parts), message.get("model"), extra)


def answer(
    event: dict[str, Any],
    told: Told,
    name: str | None = None,
    parts: tuple[Part, ...] = (),
    model: str | None = None,
    extra: dict[str, Any] = {},  # noqa: B006 -- never changed
) -> Step:
    """A model's answer with usage, time, stop and error of the event that made it."""
    output = event.get("output") or {}
    choices: Any = output.get("choices") or ({},)
    timed = is_timed(event)
    if model is None and (model := event.get("model")) is not None:
        extra = {**extra, "inspect": {**own(extra), "model": None}}
    error = event.get("error")
    return Step(
        id=name,
        role="agent",
        agent=told.agent_of(event.get("span_id")),
        parts=parts,
        at=from_iso(event.get("timestamp")) if timed else None,
        ended=from_iso(event.get("completed")) if timed else None,
        model=model,
        usage=to_usage(output.get("usage")),
        stop=choices[0].get("stop_reason"),
        error=StepError(message=error, traceback=event.get("traceback")) if isinstance(error, str) else None,
        extra=extra,
    )


def _content(content: Any, attachments: dict[str, Any], extra: dict[str, Any]) -> tuple[list[Part], dict[str, Any]]:
    if isinstance(content, str):
        if not attachments:
            return ([Text(text=content)] if content else []), extra
        return ([text_part(content, attachments, {})] if content else []), extra
    parts: list[Part] = []
    for raw in content or ():
        parts.extend(to_parts(raw, attachments))
    if isinstance(content, list) and (not parts or (len(parts) == 1 and _is_plain(parts[0]))):
        extra = {**extra, "inspect": {**own(extra), "content": "list"}}
    return parts, extra


def _is_plain(part: Part) -> bool:
    return isinstance(part, Text) and set(own(part.extra)) <= {"attachment"}


def _call(raw: dict[str, Any]) -> ToolCall:
    extra = kept(raw, _CALL)
    if raw.get("type") not in (None, "function"):
        extra = {"inspect": {**own(extra), "type": raw["type"]}}
    return ToolCall(id=raw.get("id"), name=str(raw.get("function")), arguments=raw.get("arguments"), extra=extra)


def _tool_step(message: dict[str, Any], name: str | None, extra: dict[str, Any], told: Told) -> Step:
    event = told.tool_event(message.get("tool_call_id"))
    result = _result(message, told.notes_on(message), told, event)
    timed = event is not None and is_timed(event)
    return Step(
        id=name,
        role="tool",
        parts=(result,),
        at=result.started if timed else None,
        ended=result.ended if timed else None,
        extra=extra,
    )


def _result(message: dict[str, Any], notes: dict[str, Any], told: Told, event: dict[str, Any] | None) -> ToolResult:
    output, media, extra = _output(message.get("content"), told.attachments)
    if notes.get("json") and isinstance(output, str):
        try:
            output = decode(output.encode("utf-8", "surrogatepass"))
        except ReadError:
            pass
    text, failure, rest = error_of(message.get("error"))
    extra |= rest
    event = event or {}
    timed = is_timed(event)
    return ToolResult(
        call_id=message.get("tool_call_id"),
        name=message.get("function"),
        output=output,
        error=text,
        failure=failure or ("error" if event.get("failed") else None),
        truncated=event.get("truncated") is not None,
        media=media,
        started=from_iso(event.get("timestamp")) if timed else None,
        ended=from_iso(event.get("completed")) if timed else None,
        extra={"inspect": extra} if extra else {},
    )


def error_of(error: Any) -> tuple[str | None, Failure | None, dict[str, Any]]:
    """Text, kind and rest of a tool's error."""
    if error is None:
        return None, None, {}
    if not isinstance(error, dict):
        return str(error), "error", {"error": error}
    kind = error.get("type")
    failure: Failure = FAILURES.get(str(kind), "error")
    rest = {key: value for key, value in error.items() if key not in ("type", "message")}
    if ERROR_TYPES.get(failure, "unknown") != kind:
        rest["type"] = kind
    message = error.get("message")
    return (message if isinstance(message, str) else None), failure, {"error": rest} if rest else {}


def _output(content: Any, attachments: dict[str, Any]) -> tuple[Any, tuple[Media, ...], dict[str, Any]]:
    """What a tool answered: text, pictures, or both interleaved (then a list that points at the pictures)."""
    if not isinstance(content, list):
        if isinstance(content, str):
            part = text_part(content, attachments, {})
            return part.text, (), dict(own(part.extra))
        return content, (), {}
    media: list[Media] = []
    order: list[Any] = []
    for raw in content:
        found = list(to_parts(raw, attachments))
        if len(found) == 1 and isinstance(found[0], Media):
            order.append({"media": len(media)})
            media.append(found[0])
        else:
            order.append(raw)
    words = order[: len(order) - len(media)]
    in_front = all("media" not in raw for raw in words if isinstance(raw, dict))
    if in_front and len(words) == 1 and isinstance(words[0], dict) and set(words[0]) == {"type", "text"}:
        return words[0]["text"], tuple(media), {} if media else {"content": "list"}
    if in_front and not words and media:
        return None, tuple(media), {}
    return order, tuple(media), {"content": "list"}


_UNIQUE = 16
"""From this length on, an id is taken to be the only one of its kind."""


def message_name(step: Step, place: int, prefix: str) -> str:
    """The id of a step's message. Inspect drops messages whose id another sample has: short ids get a prefix."""
    if step.id is not None and (len(step.id) >= _UNIQUE or step.id.startswith(f"{prefix[:12]}.")):
        return step.id
    return f"{prefix[:12]}.{step.id or f'step{place + 1}'}"


class Telling:
    """What is gathered while steps are told as messages."""

    def __init__(self, attachments: dict[str, str], *, pooled: bool):
        self.attachments = attachments
        self.pooled = pooled
        """Whether inline pictures go to the attachments."""
        self.notes: dict[str, Any] = {}
        """Notes on messages, by their ids."""
        self.sizes: list[int] = []
        """How many messages tell each step of the main conversation."""
        self._names: set[str] = set()

    def unique(self, name: str) -> str:
        """The name, or one like it that no other message has."""
        number, found = 2, name
        while found in self._names:
            number, found = number + 1, f"{name}#{number}"
        self._names.add(found)
        return found


def from_step(step: Step, name: str, telling: Telling) -> list[dict[str, Any]]:
    """The messages that tell one step: its own, and one for each tool answer that stands in it."""
    notes: dict[str, Any] = {}
    if aside := [[place, to_plain(part)] for place, part in enumerate(step.parts) if _is_foreign(part)]:
        notes["aside"] = aside
    parts = [part for part in step.parts if not _is_foreign(part)]
    content = [part for part in parts if _is_content(part)]
    calls = [part for part in parts if isinstance(part, (ToolCall, Action)) and not _is_content(part)]
    results = [part for part in parts if isinstance(part, ToolResult) and not _is_content(part)]
    if step.id is None:
        notes["unnamed"] = True
    elif step.id != name:
        notes["id"] = step.id
    natural = [*content, *calls, *results]
    if [id(part) for part in natural] != [id(part) for part in parts]:
        places = {id(part): place for place, part in enumerate(natural)}
        notes["order"] = [places[id(part)] for part in parts]
    if step.role == "tool":
        first, *others = results or [ToolResult(output="\n\n".join(p.text for p in content if isinstance(p, Text)))]
        messages = [_tool_message(first, name, step, notes, telling)]
        results = others
    else:
        messages = [_own_message(step, name, content, calls, telling)]
        if notes:
            telling.notes[name] = notes
        if step.role == "agent":
            messages.extend(_done(call, name, number, telling) for number, call in enumerate(calls, 1) if _is_act(call))
    for number, result in enumerate(results, 1):
        own_name = telling.unique(f"{name}.{number}")
        messages.append(_tool_message(result, own_name, Step(role="tool"), {"step": name}, telling))
    return messages


def is_note(step: Step) -> bool:
    """Whether a step is no part of the conversation; a message of an unknown role is one."""
    first = step.parts[0] if len(step.parts) == 1 else None
    return step.kind == "note" and not (isinstance(first, Unknown) and first.kind == "inspect:message")


def _is_foreign(part: Part) -> bool:
    """Whether a part belongs to another format and would only stand in a reader's way."""
    return isinstance(part, Unknown) and not part.kind.startswith("inspect:")


def _is_act(call: ToolCall | Action) -> bool:
    return isinstance(call, Action)


def _done(action: ToolCall | Action, name: str, number: int, telling: Telling) -> dict[str, Any]:
    """The empty answer to a GUI action: Inspect takes calls in a row without answers for repetitions of one."""
    call = from_call(action, name, number)
    message = {"id": telling.unique(f"{name}.done{number}"), "role": "tool", "content": ""}
    telling.notes[message["id"]] = {"step": name, "made": True}
    return {**message, "tool_call_id": call["id"], "function": call["function"]}


def _is_content(part: Part) -> bool:
    if isinstance(part, (ToolCall, ToolResult)):
        return "tool_use" in own(part.extra)
    return not isinstance(part, Action)


def _own_message(
    step: Step,
    name: str,
    content: list[Part],
    calls: list[ToolCall | Action],
    telling: Telling,
) -> dict[str, Any]:
    raw = step.parts[0] if step.parts else None
    if isinstance(raw, Unknown) and raw.kind == "inspect:message" and isinstance(raw.raw, dict):
        return raw.raw
    rest = dict(own(step.extra))
    as_list = rest.pop("content", None) == "list"
    message: dict[str, Any] = {"id": name, "content": "", "role": _BACK[step.role]}
    if len(content) == 1 and isinstance(content[0], Text) and _is_plain(content[0]) and not as_list:
        message["content"] = from_parts(content, telling.attachments, telling.pooled)[0]["text"]
    elif content or as_list:
        message["content"] = from_parts(content, telling.attachments, telling.pooled)
    if step.role == "agent":
        if calls:
            message["tool_calls"] = [from_call(call, name, number) for number, call in enumerate(calls, 1)]
        if step.model is not None:
            message["model"] = step.model
    return _finished(message, rest)


def _finished(message: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    for key, value in rest.items():
        if value is None:
            message.pop(key, None)
        elif key != "beside":
            message[key] = value
    return message


def from_call(call: ToolCall | Action, name: str, number: int) -> dict[str, Any]:
    """A tool call; a GUI action is a call of the tool `computer`."""
    if isinstance(call, Action):
        return {
            "id": call.id or f"{name}.call{number}",
            "function": "computer",
            "arguments": action_arguments(call),
            "type": "function",
        }
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    if call.arguments is not None and not isinstance(call.arguments, dict):
        arguments = {"input": call.arguments}
    found = {"id": call.id or f"{name}.call{number}", "function": call.name, "arguments": arguments, "type": "function"}
    return found | own(call.extra)


def action_arguments(action: Action) -> dict[str, Any]:
    """A GUI action in the words of a computer tool: `action` and what belongs to it."""
    plain = cast("dict[str, Any]", to_plain(action))
    found: dict[str, Any] = {"action": action.kind}
    target = action.target
    if target is not None and target.point is not None:
        found["coordinate"] = [target.point.x, target.point.y]
        found["space"] = target.point.space
    if target is not None and target.element is not None:
        found["element"] = target.element
    if target is not None and target.description is not None:
        found["description"] = target.description
    for key in ("text", "key", "modifiers", "direction", "amount", "url", "app", "seconds", "end"):
        if key in plain:
            found[key] = plain[key]
    return found


def _tool_message(result: ToolResult, name: str, step: Step, notes: dict[str, Any], telling: Telling) -> dict[str, Any]:
    rest = dict(own(result.extra))
    message: dict[str, Any] = {"id": name, "role": "tool"}
    content = output_text(result)
    notes = dict(notes)
    if not isinstance(result.output, (str, type(None))) and rest.get("content") != "list":
        notes["json"] = True
    if notes:
        telling.notes[name] = notes
    message["content"] = content
    if rest.get("content") == "list" and isinstance(result.output, list):
        message["content"] = [
            from_media(result.media[raw["media"]], telling.attachments, telling.pooled)
            if isinstance(raw, dict) and "media" in raw
            else raw
            for raw in result.output
        ]
    elif result.media or rest.get("content") == "list":
        words = [] if result.output is None else [{"type": "text", "text": content}]
        message["content"] = [
            *words,
            *(from_media(media, telling.attachments, telling.pooled) for media in result.media),
        ]
    elif (key := rest.get("attachment")) is not None:
        telling.attachments[key] = content
        message["content"] = f"attachment://{key}"
    if result.call_id is not None:
        message["tool_call_id"] = result.call_id
    if result.name is not None:
        message["function"] = result.name
    if (error := from_error(result)) is not None:
        message["error"] = error
    return _finished(message, dict(own(step.extra)))


def output_text(result: ToolResult) -> str:
    """A tool's answer as text; an object as JSON."""
    if result.output is None:
        return ""
    return result.output if isinstance(result.output, str) else encode(result.output).decode("utf-8", "replace")


def from_error(result: ToolResult) -> Any:
    """`{type, message}` of a failed call; None for one that did not fail."""
    rest = own(result.extra).get("error")
    if rest is not None and not isinstance(rest, dict):
        return rest
    if result.error is None and (result.failure is None or result.output not in (None, "")):
        # The viewer shows an error in place of the output: without a text of its own it must not hide one.
        return None
    message = result.error
    if message is None:
        message = f"exit code {result.exit_code}" if result.exit_code else str(result.failure)
    return {"type": ERROR_TYPES.get(result.failure or "error", "unknown"), "message": message, **(rest or {})}
