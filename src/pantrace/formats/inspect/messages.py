"""Messages and steps, both ways.

A message is a step. A tool's answer that the model keeps in the step of its call becomes a separate message; notes on
such messages are in the sample's `metadata.pantrace.messages`, by message id.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Action, Part, Role, Step, StepError, Text, ToolCall, ToolResult, Unknown
from pantrace.wire.gui_calls import action_arguments
from pantrace.wire.json import to_plain

from .content import extra_of, from_parts, own_extra, put_back, text_part, to_parts
from .event_index import EventIndex, times_of
from .message_drafts import MessageDrafts
from .tool_messages import from_result, to_tool_step
from .usage import to_usage

_ROLES: dict[str, Role] = {"assistant": "agent", "user": "user", "system": "system", "tool": "tool"}
_BACK = {role: name for name, role in _ROLES.items()}
_COMMON = frozenset({"id", "content", "role"})
_KNOWN = {
    "agent": _COMMON | {"tool_calls", "model"},
    "user": _COMMON,
    "system": _COMMON,
    "tool": _COMMON | {"tool_call_id", "function", "error"},
}
_CALL = frozenset({"id", "function", "arguments", "type"})


def to_step(message: Any, index: EventIndex) -> Step:
    """One message as a step, with what model and tool events say about it."""
    role = _ROLES.get(message.get("role", "")) if isinstance(message, dict) else None
    if role is None:
        return Step(role="system", kind="note", parts=(Unknown(kind="inspect:message", raw=message),))
    extra = extra_of(message, _KNOWN[role])
    name = message.get("id")
    if index.notes and (notes := index.notes_on(message)):
        name = None if notes.get("unnamed") else notes.get("id", name)
    # Checked here, where the value is at hand: only a sample with a doubtful value is checked as a whole afterwards.
    if type(name) is not str and name is not None:
        index.sure = False
    if role == "tool":
        return to_tool_step(message, name, extra, index)
    parts, extra = _content(message.get("content"), index.attachments, extra)
    if role != "agent":
        return Step(id=name, role=role, parts=tuple(parts), extra=extra)
    for raw in message.get("tool_calls") or ():
        call = _call(raw)
        if type(call.id) is not str and call.id is not None:
            index.sure = False
        parts.append(call)
        index.called.add(call.id)
    model = message.get("model")
    event = index.model_event(message)
    if event is not None:
        return answer(event, index, name, tuple(parts), model, extra)
    if type(model) is not str and model is not None:
        index.sure = False
    return Step(id=name, role="agent", parts=tuple(parts), model=model, extra=extra)


def answer(
    event: dict[str, Any],
    index: EventIndex,
    name: str | None = None,
    parts: tuple[Part, ...] = (),
    model: str | None = None,
    extra: dict[str, Any] = {},  # noqa: B006 -- never changed
) -> Step:
    """A model's answer with usage, time, stop and error of the event that made it."""
    output = event.get("output") or {}
    choices: Any = output.get("choices") or ({},)
    at, ended = times_of(event)
    if model is None and (model := event.get("model")) is not None:
        # The message itself names no model: noted, so that it is written without one.
        extra = {**extra, "inspect": {**own_extra(extra), "model": None}}
    error, stop, agent = event.get("error"), choices[0].get("stop_reason"), index.agent_of(event.get("span_id"))
    for text in (model, stop, agent):
        if type(text) is not str and text is not None:
            index.sure = False
    if error is not None:
        index.sure = False  # the type of its traceback was not checked
    return Step(
        id=name,
        role="agent",
        agent=agent,
        parts=parts,
        at=at,
        ended=ended,
        model=model,
        usage=to_usage(output.get("usage")),
        stop=stop,
        error=StepError(message=error, traceback=event.get("traceback")) if isinstance(error, str) else None,
        extra=extra,
    )


def _content(content: Any, attachments: dict[str, Any], extra: dict[str, Any]) -> tuple[list[Part], dict[str, Any]]:
    if isinstance(content, str):
        return ([text_part(content, attachments, {})] if content else []), extra
    parts: list[Part] = []
    for raw in content or ():
        parts += to_parts(raw, attachments)
    # These would be written as plain text; the note keeps them a list.
    if isinstance(content, list) and (not parts or (len(parts) == 1 and _is_plain(parts[0]))):
        extra = {**extra, "inspect": {**own_extra(extra), "content": "list"}}
    return parts, extra


def _is_plain(part: Part) -> bool:
    return isinstance(part, Text) and set(own_extra(part.extra)) <= {"attachment"}


def _call(raw: dict[str, Any]) -> ToolCall:
    extra = extra_of(raw, _CALL)
    if raw.get("type") not in (None, "function"):
        extra = {"inspect": {**own_extra(extra), "type": raw["type"]}}
    return ToolCall(id=raw.get("id"), name=str(raw.get("function")), arguments=raw.get("arguments"), extra=extra)


def from_step(step: Step, name: str, drafts: MessageDrafts) -> list[dict[str, Any]]:
    """The messages for one step: its own, and one for each tool answer inside it."""
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
    # Inspect has one field for content and one for calls, so an order that mixes them needs a note.
    natural = [*content, *calls, *results]
    if [id(part) for part in natural] != [id(part) for part in parts]:
        places = {id(part): place for place, part in enumerate(natural)}
        notes["order"] = [places[id(part)] for part in parts]
    if step.role == "tool":
        first, *others = results or [ToolResult(output="\n\n".join(p.text for p in content if isinstance(p, Text)))]
        messages = [from_result(first, name, step, notes, drafts)]
        results = others
    else:
        messages = [_own_message(step, name, content, calls, drafts)]
        if notes:
            drafts.notes[name] = notes
        if step.role == "agent":
            # GUI actions have no results of their own.
            messages.extend(_done(call, name, number, drafts) for number, call in enumerate(calls, 1) if _is_act(call))
    for number, result in enumerate(results, 1):
        own_name = drafts.unique(f"{name}.{number}")
        messages.append(from_result(result, own_name, Step(role="tool"), {"step": name}, drafts))
    return messages


def is_note(step: Step) -> bool:
    """Whether a step is not part of the conversation; a message of an unknown role still is."""
    first = step.parts[0] if len(step.parts) == 1 else None
    return step.kind == "note" and not (isinstance(first, Unknown) and first.kind == "inspect:message")


def _is_foreign(part: Part) -> bool:
    """Whether a part is raw data of another format, which would only disturb readers of the log."""
    return isinstance(part, Unknown) and not part.kind.startswith("inspect:")


def _is_act(call: ToolCall | Action) -> bool:
    return isinstance(call, Action)


def _done(action: ToolCall | Action, name: str, number: int, drafts: MessageDrafts) -> dict[str, Any]:
    """The empty answer to a GUI action: Inspect takes several calls without answers for repetitions of one call."""
    call = from_call(action, name, number)
    message = {"id": drafts.unique(f"{name}.done{number}"), "role": "tool", "content": ""}
    drafts.notes[message["id"]] = {"step": name, "made": True}
    return {**message, "tool_call_id": call["id"], "function": call["function"]}


def _is_content(part: Part) -> bool:
    if isinstance(part, (ToolCall, ToolResult)):
        return "tool_use" in own_extra(part.extra)
    return not isinstance(part, Action)


def _own_message(
    step: Step,
    name: str,
    content: list[Part],
    calls: list[ToolCall | Action],
    drafts: MessageDrafts,
) -> dict[str, Any]:
    raw = step.parts[0] if step.parts else None
    if isinstance(raw, Unknown) and raw.kind == "inspect:message" and isinstance(raw.raw, dict):
        return raw.raw
    rest = dict(own_extra(step.extra))
    as_list = rest.pop("content", None) == "list"
    message: dict[str, Any] = {"id": name, "content": "", "role": _BACK[step.role]}
    if len(content) == 1 and isinstance(content[0], Text) and _is_plain(content[0]) and not as_list:
        message["content"] = from_parts(content, drafts.attachments, drafts.pooled)[0]["text"]
    elif content or as_list:
        message["content"] = from_parts(content, drafts.attachments, drafts.pooled)
    if step.role == "agent":
        if calls:
            message["tool_calls"] = [from_call(call, name, number) for number, call in enumerate(calls, 1)]
        if step.model is not None:
            message["model"] = step.model
    return put_back(message, rest)


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
        # inspect_ai requires an object, so free text is put under a key.
        arguments = {"input": call.arguments}
    found = {"id": call.id or f"{name}.call{number}", "function": call.name, "arguments": arguments, "type": "function"}
    return found | own_extra(call.extra)
