"""Threads: model and tool calls that are not in `messages`.

The conversations of sub-agents, graders and tools that call a model are only in the events: each becomes a child
trajectory. Calls of the main conversation that `messages` no longer has (compaction, a final submit) become its steps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
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
"""The mark that the logger of the A2A SDK puts on a result that it cut."""


class Main:
    """The main conversation while it is put together."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.names: list[str | None] = []
        """Id of the message behind each step."""
        self.messages: list[Any] = []


def main_steps(messages: list[Any], index: EventIndex) -> Main:
    """The steps of `messages`; answers that pantrace moved out of their step are put back."""
    main = Main()
    main.messages = messages
    if not index.notes:
        # A log that pantrace did not write: every message is a step.
        main.steps = [to_step(message, index) for message in messages]
        main.names = [message.get("id") if isinstance(message, dict) else None for message in messages]
        return main
    arranged: dict[int, dict[str, Any]] = {}
    by_name: dict[Any, int] = {}
    for message in messages:
        notes = index.notes_on(message)
        if notes.get("made"):
            continue
        step = to_step(message, index)
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
        # Messages may have been edited since: then the noted order no longer fits.
        if sorted(order) == list(range(len(parts))):
            parts = [parts[each] for each in order]
        for spot, raw in notes.get("aside", ()):
            parts.insert(spot, as_kind(raw, Part))
        main.steps[place] = msgspec.structs.replace(main.steps[place], parts=tuple(parts))
    return main


def add_threads(main: Main, index: EventIndex, parent: str | None) -> tuple[Trajectory, ...]:
    """Add the events that no message holds to the main conversation, and return the other conversations."""
    models = [event for event in index.models if id(event) not in index.claimed]
    index.answered.update(event.get("id") for event in index.tools if notes_of(event).get("made"))
    tools = [event for event in index.tools if event.get("id") not in index.answered]
    named = [span for span, begin in index.spans.items() if begin.get("metadata") and "messages" in notes_of(begin)]
    if not models and not tools and not named and not index.remarks:
        return ()
    inside = _main_spans(index, models)
    _separate_unrelated(main, index, [event for event in models if _thread_of(event, index, inside) is None])
    threads: dict[Any, list[dict[str, Any]]] = {span: [] for span in named}
    for event in sorted([*models, *index.tools, *index.remarks], key=lambda each: index.order[id(each)]):
        threads.setdefault(_thread_of(event, index, inside), []).append(event)
    _complete(main, index, threads.pop(None, []))
    children = {span: _child(span, events, index, parent) for span, events in threads.items() if span is not None}
    return _nest({span: child for span, child in children.items() if child is not None}, index, inside)


def _separate_unrelated(main: Main, index: EventIndex, models: list[dict[str, Any]]) -> None:
    """Separate model calls that share no message with the conversation, though no span separates them: the monitors of
    ControlArena, for example. The calls of one model are one conversation."""
    known = {index.words(message) for message in main.messages if isinstance(message, dict)} if models else set()
    for event in models:
        given = [index.words(message) for message in index.inputs(event) if isinstance(message, dict)]
        if known and given and known.isdisjoint(given):
            name = f"beside-{event.get('model')}"
            index.spans.setdefault(name, {**event, "id": name, "name": event.get("model"), "type": None})
            index.graded[id(event)] = name


def _main_spans(index: EventIndex, unclaimed: list[dict[str, Any]]) -> set[Any]:
    """The spans in which the main conversation happened."""
    known = [event for event in index.models if id(event) in index.claimed]
    if not known:
        # If no message belongs to a model call, the tool calls show the spans; else the first model call is a guess.
        known = [event for event in index.tools if event.get("id") in index.answered] or unclaimed[:1]
    return {span for event in known for span in index.chain(event.get("span_id"))}


def _thread_of(event: dict[str, Any], index: EventIndex, inside: set[Any]) -> Any:
    if event.get("event") == "info":
        return None  # the spans of the A2A logger only group events
    if event.get("event") == "tool" and event.get("id") in index.answered:
        return None
    if id(event) in index.graded:
        return index.graded[id(event)]
    outside = [span for span in index.chain(event.get("span_id")) if span not in inside]
    if event.get("event") == "tool" and outside and index.spans[outside[0]].get("type") == "tool":
        # A tool's span is for the models that the tool calls; the tool call itself belongs to the agent.
        outside = outside[1:]
    if not outside or not inside:
        return None
    # Spans of other types (a turn, a step of a solver) only group events.
    return next((span for span in outside if index.spans[span].get("type") in _KINDS), outside[-1])


def _complete(main: Main, index: EventIndex, events: list[dict[str, Any]]) -> None:
    """Insert the steps that `messages` does not have where they happened."""
    if all(event.get("event") == "tool" and event.get("id") in index.answered for event in events):
        return
    by_name = {name: place for place, name in enumerate(main.names) if name is not None}
    around = _Around({index.order[key]: by_name[name] for key, name in index.claimed.items() if name in by_name})
    end = len(main.steps)
    added: dict[int, list[Step]] = {}
    seen: set[Any] = {name for name in main.names if name is not None}
    if index.renames:
        seen.update(_identity(message, index) for message in main.messages)
    for event in events:
        order = index.order[id(event)]
        if event.get("event") == "model":
            steps = _steps_of_call(event, index, seen)
            added.setdefault(around.first_after(order, end), []).extend(steps)
        elif event.get("event") == "info":
            # No message refers to a remark: it goes before the next message whose model call is known.
            added.setdefault(around.first_after(order, end), []).append(remark(event))
        elif event.get("id") not in index.answered:
            added.setdefault(around.after_last_before(order, end), []).append(_tool_step(event, index))
    steps, names = main.steps, main.names
    main.steps, main.names = [], []
    for place in range(end + 1):
        new = added.get(place, ())
        main.steps += [*map(_as_thread_step, new), *steps[place : place + 1]]
        main.names += [*(None for _ in new), *names[place : place + 1]]


class _Around:
    """Where the messages around an event are, given the places of the messages whose events are known.

    A log may have as many events without a message as with one, so both questions are answered by bisection."""

    def __init__(self, places: dict[int, int]) -> None:
        self._orders = sorted(places)
        in_order = [places[order] for order in self._orders]
        self._highest = [*accumulate(in_order, max)]
        self._lowest = [*accumulate(reversed(in_order), min)][::-1]

    def first_after(self, order: int, end: int) -> int:
        """The first place of a message whose event is later; `end` if there is none."""
        spot = bisect_right(self._orders, order)
        return self._lowest[spot] if spot < len(self._lowest) else end

    def after_last_before(self, order: int, end: int) -> int:
        """Behind the last message whose event is earlier; `end` if there is none."""
        spot = bisect_left(self._orders, order)
        return self._highest[spot - 1] + 1 if spot else end


def _as_thread_step(step: Step) -> Step:
    return msgspec.structs.replace(step, extra={**step.extra, "inspect": {**own_extra(step.extra), "beside": True}})


def _steps_of_call(event: dict[str, Any], index: EventIndex, seen: set[Any]) -> list[Step]:
    """The messages that are new to a model call, and its answer."""
    steps = []
    for message in index.inputs(event):
        name = _identity(message, index)
        if name is not None and name not in seen:
            seen.add(name)
            steps.append(to_step(resolve(message, index.attachments), index))
    output = output_message(event)
    if output is not None and (index.renames or output.get("id") is None or output["id"] not in seen):
        seen.add(_identity(output, index))
        steps.append(to_step(resolve(output, index.attachments), index))
    elif output is None:
        index.claimed[id(event)] = ""
        steps.append(answer(event, index))
    return steps


def _identity(message: Any, index: EventIndex) -> Any:
    """What identifies a message: its id, or its content in a log where one message has many ids."""
    if not isinstance(message, dict):
        return None
    return index.words(message) if index.renames else message.get("id")


def _tool_step(event: dict[str, Any], index: EventIndex) -> Step:
    """A tool call that only an event records."""
    index.sure = False
    index.answered.add(event.get("id"))
    started, ended = times_of(event)
    text, failure, rest = error_of(event.get("error"))
    result = ToolResult(
        call_id=event.get("id"),
        name=event.get("function"),
        output=resolve(event.get("result"), index.attachments),
        error=text,
        failure=failure or ("error" if event.get("failed") else None),
        truncated=event.get("truncated") is not None or str(event.get("result")).endswith(_CUT),
        started=started,
        ended=ended,
        extra={"inspect": rest} if rest else {},
    )
    agent = index.agent_of(event.get("span_id"))
    if event.get("id") in index.called:
        return Step(role="tool", agent=agent, parts=(result,), at=result.started, ended=result.ended)
    arguments = resolve(event.get("arguments"), index.attachments)
    call = ToolCall(id=event.get("id"), name=str(event.get("function")), arguments=arguments)
    return Step(role="agent", agent=agent, parts=(call, result), at=result.started, ended=result.ended)


def _child(span: Any, events: list[dict[str, Any]], index: EventIndex, parent: str | None) -> Trajectory | None:
    begin = index.spans[span]
    named = notes_of(begin).get("messages")
    if isinstance(named, list):
        # Our own writer lists the messages of a sub-agent in its span.
        known = index.messages_by_id
        steps = with_notes(main_steps([known[name] for name in named if name in known], index).steps, index, span)
    else:
        steps = []
        seen: set[Any] = set()
        for event in events:
            if event.get("event") == "model":
                steps.extend(_steps_of_call(event, index, seen))
        steps.extend(
            _tool_step(event, index)
            for event in events
            if event.get("event") == "tool" and event.get("id") not in index.answered
        )
    if not steps:
        return None
    name, kind = begin.get("name"), begin.get("type")
    timed = is_timed(begin)
    return Trajectory(
        id=str(span),
        purpose=_PURPOSES.get(kind, "agent") if isinstance(kind, str) else "agent",
        title=name,
        created=from_iso(begin.get("timestamp")) if timed else None,
        ended=from_iso((index.ends.get(span) or {}).get("timestamp")) if timed else None,
        parent=parent,
        caller=index.callers.get(span),
        agents=(Agent(name=str(name)),) if kind == "agent" else (),
        steps=tuple(steps),
        extra={"inspect": {"span": kind}},
    )


def with_notes(steps: list[Step], index: EventIndex, span: Any) -> list[Step]:
    """Steps with the notes that pantrace wrote as info events, put back in place."""
    for event in index.infos:
        notes = notes_of(event)
        if isinstance(notes.get("step"), int) and notes.get("span") == span:
            steps.insert(notes["step"], as_kind(event.get("data"), Step))
    return steps


def _nest(children: dict[Any, Trajectory], index: EventIndex, inside: set[Any]) -> tuple[Trajectory, ...]:
    """Children of children inside their parents."""
    owners = {
        span: next((each for each in list(index.chain(span))[1:] if each in children and each not in inside), None)
        for span in children
    }

    inner: dict[Any, list[Any]] = {}
    for span, owner in owners.items():
        inner.setdefault(owner, []).append(span)

    def whole(span: Any) -> Trajectory:
        own_children = tuple(
            msgspec.structs.replace(whole(each), parent=children[span].id) for each in inner.get(span, ())
        )
        return msgspec.structs.replace(children[span], children=own_children)

    return tuple(map(whole, inner.get(None, ())))
