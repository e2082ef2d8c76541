"""Invocations: a user's turn with its answer, as in eval sets and eval histories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, ExpectedCall, Invocation, Step, Text, ToolCall, ToolResult, Trajectory
from pantrace.wire.json import decode

from .agents import Declared, agents_of, declared_agents, is_declared
from .contents import as_content
from .events import content_role, steps_from
from .field_types import list_of, mapping, number, text
from .invocation_writer import TOLD_APART
from .parts import NAME, part_from, parts_from, texts_in
from .recase import without_nulls
from .schema import Answer, Call, Content, Fields, Intermediate, Part, Schema, Unusual, fields_of

_KNOWN = {
    "invocation_id",
    "user_content",
    "final_response",
    "intermediate_data",
    "creation_timestamp",
    "duration",
    "model_duration",
    "tool_duration",
    "app_details",
}
_SAID = ("user_content", "final_response", "intermediate_data")
_DATA = set(Intermediate.__struct_fields__)
_NOTHING_APART = (None, None, None)


def invocation_from(raw: Fields, name: str) -> Invocation:
    """The measured times of an invocation; a creation time of 0 is ADK's default and means none."""
    # A record decoded by type has only known keys, and of these only rubrics have no field in the model.
    said = raw.items() if isinstance(raw, dict) else (("rubrics", raw.rubrics),)
    rest = {key: without_nulls(value) for key, value in said if key not in _KNOWN and value is not None}
    if (given := raw.invocation_id) != name:
        rest["invocation_id"] = given
    at = number(raw.creation_timestamp, "creation_timestamp")
    if at == 0:
        # 0 means nothing, but must be written back as 0.
        rest["creation_timestamp"] = at
    rest |= _data_notes(raw)
    return Invocation(
        id=name,
        at=at or None,
        seconds=number(raw.duration, "duration"),
        model_seconds=number(raw.model_duration, "model_duration"),
        tool_seconds=number(raw.tool_duration, "tool_duration"),
        extra={NAME: rest} if rest else {},
    )


def _data_notes(raw: Fields) -> dict[str, Any]:
    """Notes on intermediate data that steps cannot represent: which lists are empty, keys that are not ADK's, and
    `bare` events. Up to google-adk 2.9, events have no usage and the final one is missing."""
    if raw.intermediate_data is None:
        return {"intermediate_data": None}
    notes: dict[str, Any] = {}
    data = fields_of(raw.intermediate_data, "intermediate_data")
    events, final = data.invocation_events, raw.final_response
    if final is not None and isinstance(events, list):
        told = [fields_of(event, "an event of an invocation") for event in events]
        whole = any(event.content is None or event.content == final or event.usage_metadata for event in told)
        notes |= {} if whole else {"bare": True}
    if isinstance(data, Intermediate):
        apart = (data.tool_uses, data.tool_responses, data.intermediate_responses)
        if apart == _NOTHING_APART if events else events is None and None not in apart:
            return notes
    read = ("invocation_events",) if events else TOLD_APART
    rest = {key: value for key, value in data.items() if value is not None and not (key in read and value)}
    if rest if events else rest.keys() != {key for key in TOLD_APART if not getattr(data, key)}:
        notes["intermediate_data"] = rest
    return notes


def names_of(invocations: Sequence[Fields]) -> list[str]:
    """A name for each invocation: its id, made unique if ids are empty or repeated."""
    names: dict[str, None] = {}
    for place, raw in enumerate(invocations, 1):
        name = text(raw.invocation_id, "invocation_id") or f"invocation-{place}"
        # Steps refer to their invocation by its name, so names must be unique.
        while name in names:
            name = f"{name}#{place}"
        names[name] = None
    return list(names)


def steps_of(raw: Fields, name: str, agents: Sequence[Agent] = ()) -> list[Step]:
    """The steps of an invocation: the prompt, what happened then, the final response."""
    if isinstance(raw, dict):
        _must_be_known(raw)
    asked = _steps_of_content(raw.user_content, "user") if raw.user_content is not None else []
    final = as_content(raw.final_response)
    data = fields_of(raw.intermediate_data or {}, "intermediate_data")
    events = list_of(data.invocation_events, "invocation_events")
    # A file may have both, one of them empty: events count, unless only the lists have data.
    apart = data.tool_uses or data.tool_responses or data.intermediate_responses
    if events or (data.invocation_events is not None and not apart):
        if isinstance(raw, Schema):
            # No session repeats these events, so all of their keys count, even nulls, which typed records drop.
            raise Unusual
        steps = _with_final(events, final, agents)
    else:
        steps = _intermediate(data, final)
    # ADK requires user_content, so an invocation without a prompt has an empty one.
    asked = [step for step in asked if step.parts]
    return [msgspec.structs.replace(step, invocation=name) for step in (*asked, *steps)]


def _must_be_known(raw: dict[str, Any]) -> None:
    """Refuse an invocation if nothing in it is understood: as an empty one, it would count as an idle agent."""
    data = mapping(raw.get("intermediate_data"), "intermediate_data") or {}
    known = any(data.get(key) is not None for key in _DATA)
    strange = list(_unusual_keys(data))
    if not any(raw.get(key) for key in _SAID):
        strange = [key for key, value in raw.items() if value and key not in _KNOWN and key != "rubrics"]
    elif known:
        return
    if strange:
        raise ReadError(
            f"an invocation has its data under keys that are not ADK's: {', '.join(strange)[:80]}",
            remedy="the file may come from another program that resembles ADK",
        )


def _unusual_keys(data: Any) -> dict[str, Any]:
    """Keys of intermediate data that are not ADK's, or that repeat the events in ADK's other form."""
    if not isinstance(data, dict):
        return {}
    known = {"invocation_events"} if data.get("invocation_events") else _DATA
    return {key: value for key, value in data.items() if key not in known and value is not None}


def _with_final(events: list[Any], final: Any, agents: Sequence[Agent]) -> list[Step]:
    """Events with the final response in its place: 2.13 leaves an empty event there, earlier versions none."""
    events = [fields_of(event, "an event of an invocation") for event in events]
    if isinstance(final, dict) and not any(event.get("content") == final for event in events):
        # The last empty one: earlier empty events only changed the state.
        empty = [number for number, event in enumerate(events) if event.get("content") is None]
        if empty:
            events = list(events)
            events[empty[-1]] = {**events[empty[-1]], "content": final}
        else:
            events = [*events, {"author": _last_speaker(events, agents), "content": final}]
    return steps_from(events)


def _last_speaker(events: list[Any], agents: Sequence[Agent]) -> str | None:
    """The likely author of a final response, which is not recorded: the last to speak or to be handed over to."""
    for event in reversed(events):
        for part in reversed(parts_from(event.get("content"))):
            if isinstance(part, ToolCall) and part.name == "transfer_to_agent" and isinstance(part.arguments, dict):
                target = part.arguments.get("agent_name")
                return target if isinstance(target, str) else event.get("author")
        if event.get("author"):
            author: str = event["author"]
            return author
    return agents[0].name if len(agents) == 1 else None


def _intermediate(data: Fields, final: Any) -> list[Step]:
    """The steps of IntermediateData, which has calls, answers and sub-agents' texts in separate lists without a
    common order."""
    steps: list[Step] = []
    calls = [
        part_from(Part(function_call=call) if isinstance(call, Call) else {"function_call": call})
        for call in list_of(data.tool_uses, "tool_uses")
    ]
    if calls:
        steps.append(Step(role="agent", parts=tuple(calls)))
    answers = [
        part_from(Part(function_response=answer) if isinstance(answer, Answer) else {"function_response": answer})
        for answer in list_of(data.tool_responses, "tool_responses")
    ]
    if answers:
        steps.append(Step(role="tool", parts=tuple(answers)))
    for author, parts in list_of(data.intermediate_responses, "intermediate_responses"):
        told = tuple(part_from(part) for part in list_of(parts, "the parts of an intermediate response"))
        agent = text(author, "an author") or None
        steps.append(Step(role="agent", agent=agent, parts=told, extra={NAME: {"intermediate": True}}))
    if final is not None:
        steps.extend(_steps_of_content(final, "agent"))
    return steps


def _steps_of_content(content: Any, role: Literal["user", "agent"]) -> list[Step]:
    """The step of a content without an author; a fast path if it is only parts with the usual role."""
    typed = isinstance(content, Content)
    if typed or (isinstance(content, dict) and content.get("parts") and content.keys() <= {"parts", "role"}):
        parts = parts_from(content)
        said_by = content.role if typed else content.get("role")
        if said_by == content_role(role) and not all(type(part) is ToolResult for part in parts):
            return [Step(role=role, parts=parts)]
    if typed:
        content = msgspec.to_builtins(content)
    return steps_from([{"author": "user" if role == "user" else None, "content": content}])


def expected_from(stated: Sequence[Any]) -> Trajectory:
    """The reference trajectory in a list of invocations."""
    invocations = [fields_of(raw, "an invocation") for raw in stated]
    names = names_of(invocations)
    declarations = [declared_agents(raw.app_details) for raw in invocations]
    steps = [
        step
        for raw, name, declared in zip(invocations, names, declarations, strict=True)
        for step in steps_of(raw, name, declared.agents)
    ]
    trajectory = Trajectory(agents=agents_of(declarations, steps), steps=tuple(steps))
    return with_invocations(trajectory, invocations, names, declarations)


def with_invocations(
    trajectory: Trajectory, raws: Sequence[Fields], names: Sequence[str], declarations: Sequence[Declared]
) -> Trajectory:
    """A trajectory with its invocations, each with its agents' declarations where they differ from the others'."""
    known = {agent.name: agent for agent in trajectory.agents}
    found = []
    for raw, name, declared in zip(raws, names, declarations, strict=True):
        invocation = invocation_from(raw, name)
        kept: dict[str, Any] = {}
        # google-adk repeats all declarations in each invocation; only what differs is worth a note.
        own = [agent.name for agent in declared.agents]
        if any(is_declared(agent) and agent.name not in own for agent in known.values()):
            kept["agents"] = own
        if not declared.whole or any(_is_changed(agent, known[agent.name]) for agent in declared.agents):
            details = raw.app_details
            kept["app_details"] = decode(details) if isinstance(details, msgspec.Raw) else details
        if kept:
            invocation = with_notes(invocation, kept)
        found.append(invocation)
    return msgspec.structs.replace(trajectory, invocations=tuple(found))


def with_notes(invocation: Invocation, notes: dict[str, Any]) -> Invocation:
    """An invocation with further notes in its `extra`."""
    return msgspec.structs.replace(invocation, extra={NAME: {**invocation.extra.get(NAME, {}), **notes}})


def _is_changed(agent: Agent, first: Agent) -> bool:
    if agent.instructions is first.instructions and agent.tools is first.tools and agent.extra is first.extra:
        return False
    return (agent.instructions, agent.tools, agent.extra) != (first.instructions, first.tools, first.extra)


def prompts_in(invocations: Iterable[Any]) -> str | None:
    """All prompts of a conversation, one per line."""
    asked = [said for raw in invocations if (said := texts_in(fields_of(raw, "an invocation").user_content))]
    return "\n".join(asked) if asked else None


def expected_calls(trajectory: Trajectory) -> tuple[ExpectedCall, ...]:
    """The calls of a reference trajectory."""
    return tuple(
        [
            ExpectedCall(name=part.name, arguments=part.arguments)
            for step in trajectory.steps
            for part in step.parts
            if isinstance(part, ToolCall)
        ]
    )


def final_text(trajectory: Trajectory) -> str | None:
    """The text of the last step that says something: the reference answer of an expected trajectory."""
    for step in reversed(trajectory.steps):
        if step.role == "agent" and not step.extra.get(NAME, {}).get("intermediate"):
            texts = [part.text for part in step.parts if isinstance(part, Text) and part.text]
            if texts:
                return "\n".join(texts)
    return None
