"""Threads: model and tool calls that are not in `messages`.

Sub-agents, graders and tools that ask a model leave their conversation only in the events: each becomes a child
trajectory. Calls of the main conversation that `messages` no longer has (compaction, a final submit) become its steps.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Agent, Part, Purpose, Step, ToolCall, ToolResult, Trajectory
from pantrace.wire.json import as_kind
from pantrace.wire.times import from_iso

from .a2a_remarks import remark
from .attachments import resolve
from .content import own_extra
from .event_index import EventIndex, is_timed, notes_of, output_message, times_of
from .messages import answer, to_step
from .tool_messages import error_of

_KINDS = ("agent", "handoff", "scorer", "tool", "subtask")
_PURPOSES: dict[str, Purpose] = {"scorer": "grader", "scorers": "grader", "tool": "tool"}


_CUT = "... (truncated)"
"""How the logger of the A2A SDK marks a result that it cut."""


class Main:
    """The main conversation while it is put together."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.names: list[str | None] = []
        """Id of the message behind each step."""
        self.messages: list[Any] = []


def main_steps(messages: list[Any], told: EventIndex) -> Main:
    """The steps of `messages`; answers that pantrace moved out of their step are put back."""
    main = Main()
    main.messages = messages
    if not told.notes:
        # A log that pantrace did not write: every message is a step.
        main.steps = [to_step(message, told) for message in messages]
        main.names = [message.get("id") if isinstance(message, dict) else None for message in messages]
        return main
    arranged: dict[int, dict[str, Any]] = {}
    by_name: dict[Any, int] = {}
    for message in messages:
        notes = told.notes_on(message)
        if notes.get("made"):
            continue
        step = to_step(message, told)
        if notes and (place := by_name.get(notes.get("step"), -1)) >= 0:
            main.steps[place] = msgspec.structs.replace(
                main.steps[place], parts=(*main.steps[place].parts, *step.parts)
            )
            continue
        if "order" in notes or "aside" in notes:
            arranged[len(main.steps)] = notes
        name = message.get("id") if isinstance(message, dict) else None
        if name is not None:
            by_name[name] = len(main.steps)
        main.steps.append(step)
        main.names.append(name)
    for place, notes in arranged.items():
        parts = list(main.steps[place].parts)
        order = notes.get("order", ())
        if sorted(order) == list(range(len(parts))):
            parts = [parts[each] for each in order]
        for index, raw in notes.get("aside", ()):
            parts.insert(index, as_kind(raw, Part))
        main.steps[place] = msgspec.structs.replace(main.steps[place], parts=tuple(parts))
    return main


def add_threads(main: Main, told: EventIndex, parent: str | None) -> tuple[Trajectory, ...]:
    """Complete the main conversation with events that no message holds; returns the other conversations."""
    models = [event for event in told.models if id(event) not in told.claimed]
    told.answered.update(event.get("id") for event in told.tools if notes_of(event).get("made"))
    tools = [event for event in told.tools if event.get("id") not in told.answered]
    named = [span for span, begin in told.spans.items() if begin.get("metadata") and "messages" in notes_of(begin)]
    if not models and not tools and not named and not told.remarks:
        return ()
    inside = _main_spans(told, models)
    _part_strangers(main, told, [event for event in models if _thread_of(event, told, inside) is None])
    threads: dict[Any, list[dict[str, Any]]] = {span: [] for span in named}
    for event in sorted([*models, *told.tools, *told.remarks], key=lambda each: told.order[id(each)]):
        threads.setdefault(_thread_of(event, told, inside), []).append(event)
    _complete(main, told, threads.pop(None, []))
    children = {span: _child(span, events, told, parent) for span, events in threads.items() if span is not None}
    return _nest({span: child for span, child in children.items() if child is not None}, told, inside)


def _part_strangers(main: Main, told: EventIndex, models: list[dict[str, Any]]) -> None:
    """Model calls that were given nothing of the conversation and gave nothing to it are not part of it, though no span
    says so: the monitors of ControlArena, for one. Those of one model are one conversation."""
    known = {told.words(message) for message in main.messages if isinstance(message, dict)} if models else set()
    for event in models:
        given = [told.words(message) for message in told.inputs(event) if isinstance(message, dict)]
        if known and given and known.isdisjoint(given):
            name = f"beside-{event.get('model')}"
            told.spans.setdefault(name, {**event, "id": name, "name": event.get("model"), "type": None})
            told.graded[id(event)] = name


def _main_spans(told: EventIndex, unclaimed: list[dict[str, Any]]) -> set[Any]:
    """The spans in which the main conversation happened."""
    known = [event for event in told.models if id(event) in told.claimed]
    if not known:
        known = [event for event in told.tools if event.get("id") in told.answered] or unclaimed[:1]
    return {span for event in known for span in told.chain(event.get("span_id"))}


def _thread_of(event: dict[str, Any], told: EventIndex, inside: set[Any]) -> Any:
    if event.get("event") == "info":
        return None  # that logger's spans group events, whoever acts in them
    if event.get("event") == "tool" and event.get("id") in told.answered:
        return None
    if id(event) in told.graded:
        return told.graded[id(event)]
    outside = [span for span in told.chain(event.get("span_id")) if span not in inside]
    if event.get("event") == "tool" and outside and told.spans[outside[0]].get("type") == "tool":
        # A tool's span holds the models that the tool asks; the call itself belongs to the agent.
        outside = outside[1:]  # the span of the tool call itself
    if not outside or not inside:
        return None
    # Spans of other types (a turn, a step of a solver) only group events.
    return next((span for span in outside if told.spans[span].get("type") in _KINDS), outside[-1])


def _complete(main: Main, told: EventIndex, events: list[dict[str, Any]]) -> None:
    """Insert what happened beside `messages` where it happened."""
    if all(event.get("event") == "tool" and event.get("id") in told.answered for event in events):
        return
    by_name = {name: place for place, name in enumerate(main.names) if name is not None}
    places = {told.order[key]: by_name[name] for key, name in told.claimed.items() if name in by_name}
    added: dict[int, list[Step]] = {}
    seen: set[Any] = {name for name in main.names if name is not None}
    if told.renames:
        seen.update(_identity(message, told) for message in main.messages)
    for event in events:
        order = told.order[id(event)]
        if event.get("event") == "model":
            later = [place for other, place in places.items() if other > order]
            steps = _steps_of_call(event, told, seen)
            added.setdefault(min(later, default=len(main.steps)), []).extend(steps)
        elif event.get("event") == "info":
            later = [place for other, place in places.items() if other > order]
            added.setdefault(min(later, default=len(main.steps)), []).append(remark(event))
        elif event.get("id") not in told.answered:
            earlier = [place for other, place in places.items() if other < order]
            place = max(earlier) + 1 if earlier else len(main.steps)
            added.setdefault(place, []).append(_tool_step(event, told))
    for place in sorted(added, reverse=True):
        main.steps[place:place] = [_as_thread_step(step) for step in added[place]]
        main.names[place:place] = [None] * len(added[place])


def _as_thread_step(step: Step) -> Step:
    return msgspec.structs.replace(step, extra={**step.extra, "inspect": {**own_extra(step.extra), "beside": True}})


def _steps_of_call(event: dict[str, Any], told: EventIndex, seen: set[Any]) -> list[Step]:
    """What a model call was told anew, and what it answered."""
    steps = []
    for message in told.inputs(event):
        name = _identity(message, told)
        if name is not None and name not in seen:
            seen.add(name)
            steps.append(to_step(resolve(message, told.attachments), told))
    output = output_message(event)
    if output is not None and (told.renames or output.get("id") is None or output["id"] not in seen):
        seen.add(_identity(output, told))
        steps.append(to_step(resolve(output, told.attachments), told))
    elif output is None:
        told.claimed[id(event)] = ""
        steps.append(answer(event, told))
    return steps


def _identity(message: Any, told: EventIndex) -> Any:
    """What tells a message from others: its id, or its words in a log where the same one has many ids."""
    if not isinstance(message, dict):
        return None
    return told.words(message) if told.renames else message.get("id")


def _tool_step(event: dict[str, Any], told: EventIndex) -> Step:
    """A tool call that only an event records."""
    told.sure = False
    told.answered.add(event.get("id"))
    started, ended = times_of(event)
    text, failure, rest = error_of(event.get("error"))
    result = ToolResult(
        call_id=event.get("id"),
        name=event.get("function"),
        output=resolve(event.get("result"), told.attachments),
        error=text,
        failure=failure or ("error" if event.get("failed") else None),
        truncated=event.get("truncated") is not None or str(event.get("result")).endswith(_CUT),
        started=started,
        ended=ended,
        extra={"inspect": rest} if rest else {},
    )
    agent = told.agent_of(event.get("span_id"))
    if event.get("id") in told.called:
        return Step(role="tool", agent=agent, parts=(result,), at=result.started, ended=result.ended)
    arguments = resolve(event.get("arguments"), told.attachments)
    call = ToolCall(id=event.get("id"), name=str(event.get("function")), arguments=arguments)
    return Step(role="agent", agent=agent, parts=(call, result), at=result.started, ended=result.ended)


def _child(span: Any, events: list[dict[str, Any]], told: EventIndex, parent: str | None) -> Trajectory | None:
    begin = told.spans[span]
    named = notes_of(begin).get("messages")
    if isinstance(named, list):
        lying = _messages_by_id(told)
        steps = with_notes(main_steps([lying[name] for name in named if name in lying], told).steps, told, span)
    else:
        steps = []
        seen: set[Any] = set()
        for event in events:
            if event.get("event") == "model":
                steps.extend(_steps_of_call(event, told, seen))
        steps.extend(
            _tool_step(event, told)
            for event in events
            if event.get("event") == "tool" and event.get("id") not in told.answered
        )
    if not steps:
        return None
    name, kind = begin.get("name"), begin.get("type")
    callers = (event.get("id") for event in told.tools if event.get("agent_span_id") == span)
    timed = is_timed(begin)
    return Trajectory(
        id=str(span),
        purpose=_PURPOSES.get(kind, "agent") if isinstance(kind, str) else "agent",
        title=name,
        created=from_iso(begin.get("timestamp")) if timed else None,
        ended=from_iso((told.ends.get(span) or {}).get("timestamp")) if timed else None,
        parent=parent,
        caller=next(callers, None),
        agents=(Agent(name=str(name)),) if kind == "agent" else (),
        steps=tuple(steps),
        extra={"inspect": {"span": kind}},
    )


def with_notes(steps: list[Step], told: EventIndex, span: Any) -> list[Step]:
    """Steps with the notes that pantrace wrote as info events, put back in place."""
    for event in told.infos:
        notes = notes_of(event)
        if isinstance(notes.get("step"), int) and notes.get("span") == span:
            steps.insert(notes["step"], as_kind(event.get("data"), Step))
    return steps


def _messages_by_id(told: EventIndex) -> dict[Any, Any]:
    """Messages by id, from the pool or from the model calls of a log that Inspect wrote again."""
    found: dict[Any, Any] = {}
    for event in told.models:
        for message in (*(event.get("input") or ()), output_message(event)):
            if isinstance(message, dict):
                found[message.get("id")] = message
    for message in told.pool:
        if isinstance(message, dict):
            found[message.get("id")] = message
    return found


def _nest(children: dict[Any, Trajectory], told: EventIndex, inside: set[Any]) -> tuple[Trajectory, ...]:
    """Children of children inside their parents."""
    owners = {
        span: next((each for each in list(told.chain(span))[1:] if each in children and each not in inside), None)
        for span in children
    }

    def whole(span: Any) -> Trajectory:
        own_children = tuple(
            msgspec.structs.replace(whole(each), parent=children[span].id)
            for each, owner in owners.items()
            if owner == span
        )
        return msgspec.structs.replace(children[span], children=own_children)

    return tuple(whole(span) for span, owner in owners.items() if owner is None)
