"""Writing: a sample as spans that observability tools read.

One trace for each turn, all under one conversation id: a span for the agent, below it one for each model call and each
tool; sub-agents below the tools that started them. Trace and span ids follow from the sample's id, so that the same
sample is always the same trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from string import hexdigits
from typing import Any, Literal

from pantrace.errors import SampleRefused
from pantrace.model import (
    Agent,
    Part,
    Record,
    Sample,
    Score,
    Step,
    ToolResult,
    Trajectory,
    active_steps,
    call_pairs,
    turns,
)
from pantrace.wire.rest import rest_in

from .plain import Plain
from .span import NAME
from .write_messages import Told, as_calls
from .write_spans import FLAVOURS, Flavour

MOST = 4_000_000
"""So many characters of repeated history are written before only what is new is told."""


class Options(Record, frozen=True, kw_only=True):
    """How spans are written."""

    flavour: Literal["genai", "openinference"] = "genai"
    """genai: the semantic conventions of OpenTelemetry; openinference: those of Arize Phoenix."""
    version: Literal["1.41", "1.36"] = "1.41"
    """Of the GenAI conventions: 1.41 has messages in attributes, 1.36 in events of the spans."""
    history: Literal["auto", "full", "new"] = "auto"
    """What each model call repeats: all it was given (full), or what is new to it (new); auto: full while that stays
    below four million characters."""


def dump(sample: Sample, options: Options) -> dict[str, Any]:
    if sample.trajectory is None:
        raise SampleRefused("spans are a recording; this sample has not been run")
    name = sample.id if sample.epoch is None else f"{sample.id}#{sample.epoch}"
    writer = _Writer(FLAVOURS[options.flavour](options.version), name or "sample", options.history)
    writer.trajectory(sample.trajectory, name or "sample", None, None)
    if not writer.spans:
        raise SampleRefused("nothing was said or done in it")
    writer.judge(sample.scores)
    return {"name": name or "sample", "spans": writer.spans}


@dataclass
class _Turn:
    """A turn while its spans are written."""

    trace: str
    root: Plain
    end: int = 0
    began: int | None = None
    spans: list[Plain] = field(default_factory=list)


class _Writer:
    def __init__(self, flavour: Flavour, name: str, history: str):
        self.flavour = flavour
        self.name = name
        self.history = history
        self.spans: list[Plain] = []
        self._used: set[str] = set()
        self._roots: list[Plain] = []
        self._trace: str | None = None

    def trajectory(self, trajectory: Trajectory, conversation: str, below: Plain | None, trace: str | None) -> None:
        """All spans of a trajectory; of a sub-agent `below` the span that started it."""
        resource = _resource(trajectory)
        names = _callers(trajectory)
        every = call_pairs(trajectory, agent_only=False)
        calls = {id(pair.result): pair.call for pair in every if pair.result is not None}
        told: list[Told] = []
        clock = _nanoseconds(trajectory.created) or (below["startTimeUnixNano"] if below is not None else 0)
        agents = {agent.name: agent for agent in trajectory.agents}
        repeats = self.history == "full" or (self.history == "auto" and _repeated(trajectory) <= MOST)
        known: set[str] = set()
        fresh = 0
        every_turn = [turn for turn in turns(trajectory) if any(step.kind != "note" for step in turn.steps)]
        first, last = 0, len(every_turn) - 1
        for number, turn in enumerate(every_turn):
            steps = [step for step in turn.steps if step.kind != "note"]
            lead = _lead(steps, trajectory.agents)
            place = f"{conversation}/{number}"
            own = next((each.invocation for each in steps if each.invocation), None)
            trace_id = trace or self._id(32, own, "trace", place)
            root = self._span(trace_id, self._id(16, None, "agent", place, trace_id), below, resource)
            self.flavour.agent(root, lead, conversation, agents.get(lead or ""), trajectory)
            asked = len(told)
            self._add(root, clock, clock)
            starts: list[int] = []
            for place_, step in enumerate(steps):
                if (moment := _nanoseconds(step.at)) is not None:
                    clock = moment
                    starts.append(clock)
                if step.role == "agent" and step.kind in ("message", "compaction"):
                    span = self._span(trace_id, self._id(16, step.id, place, str(place_)), root, resource)
                    given = told if repeats else told[fresh:]
                    agent = agents.get(step.agent or lead or "") or (trajectory.agents[0] if agents else None)
                    tools = agent if agent is not None and agent.name not in known | {lead} else None
                    known |= {agent.name} if agent is not None else set()
                    self.flavour.model(span, step, given, _said(step), conversation, agent, tools)
                    self._add(span, clock, _nanoseconds(step.ended) or clock)
                    told.append(Told("assistant", _said(step), step))
                    fresh = len(told)
                else:
                    if said := _said(step):
                        told.append(Told(_role(step), said, step))
                for result in (part for part in step.parts if isinstance(part, ToolResult)):
                    told.append(Told("tool", [result], step))
                    call = calls.get(id(result))
                    if call is None:
                        continue
                    span = self._span(
                        trace_id, self._id(16, step.id, place, str(place_), str(len(told))), root, resource
                    )
                    self.flavour.tool(span, call, result, conversation)
                    began = _nanoseconds(result.started) or clock
                    self._add(span, began, _nanoseconds(result.ended) or _nanoseconds(step.ended) or began)
                    starts.append(began)
                    for child, inner in names.pop(call.id or "", ()):
                        self.trajectory(child, inner, span, trace_id)
            answer = next((each for each in reversed(told[asked:]) if each.role == "assistant"), None)
            self.flavour.asked(root, told[asked : asked + 1], [answer] if answer is not None else [])
            lasting = _measured(trajectory, trace_id, is_first=number == first, is_last=number == last)
            self._close(root, starts, steps, lasting)
            if below is None:
                self._roots.append(root)
        for child, inner in (each for listed in names.values() for each in listed):
            above = self._roots[-1] if below is None and self._roots else below
            if above is not None:
                self.trajectory(child, inner, above, above["traceId"])
        if below is None and self._roots and trajectory.outcome is not None and trajectory.outcome.status == "error":
            self._roots[-1]["status"] = {"code": 2, **_message(trajectory.outcome.reason)}

    def judge(self, scores: tuple[Score, ...]) -> None:
        """Scores, as events of the last turn's agent."""
        root = self._roots[-1]
        for score in scores:
            if (event := self.flavour.score(score)) is not None:
                event["timeUnixNano"] = root["endTimeUnixNano"]
                root.setdefault("events", []).append(event)

    def _span(self, trace: str, name: str, above: Plain | None, resource: Plain) -> Plain:
        span: Plain = {"traceId": trace, "spanId": name}
        if above is not None:
            span["parentSpanId"] = above["spanId"]
        return {**span, "name": "", "kind": 1, "attributes": {}, "resource": resource, "scope": {"name": "pantrace"}}

    def _add(self, span: Plain, start: int, end: int) -> None:
        span["startTimeUnixNano"], span["endTimeUnixNano"] = start, max(start, end)
        for event in span.get("events", ()):
            event.setdefault("timeUnixNano", start)
        self.spans.append(span)

    def _close(self, root: Plain, starts: list[int], steps: list[Step], measured: list[int]) -> None:
        """An agent's span lasts as long as all below it."""
        inner = [each for each in self.spans if each["traceId"] == root["traceId"] and each is not root]
        ends = [each["endTimeUnixNano"] for each in inner if each.get("parentSpanId") == root["spanId"]]
        ends += [_nanoseconds(step.ended) or 0 for step in steps]
        root["startTimeUnixNano"] = min((*starts, *measured), default=root["startTimeUnixNano"])
        root["endTimeUnixNano"] = max([root["startTimeUnixNano"], *ends, *starts, *measured])
        for event in root.get("events", ()):
            event.setdefault("timeUnixNano", root["startTimeUnixNano"])

    def _id(self, length: int, own: str | None, *words: str) -> str:
        """The id that a step brings along, if it is one of OTLP's and free; else one that follows from its place."""
        if own is not None and len(own) == length and set(own) <= set(hexdigits) and own not in self._used:
            found = own.lower()
        else:
            found = sha256("\0".join((self.name, *words)).encode("utf-8", "surrogatepass")).hexdigest()[:length]
        if length == 16:
            self._used.add(found)
        return found


def _measured(trajectory: Trajectory, trace: str, *, is_first: bool, is_last: bool) -> list[int]:
    """Moments that a turn includes, as far as the source measured them: longer than its steps alone."""
    found = [trajectory.created if is_first else None, trajectory.ended if is_last else None]
    for each in trajectory.invocations:
        if each.id == trace and each.at is not None:
            found += [each.at, None if each.seconds is None else each.at + each.seconds]
    return [moment for seconds in found if (moment := _nanoseconds(seconds)) is not None]


def _said(step: Step) -> list[Part]:
    return [as_calls(part) for part in step.parts if not isinstance(part, ToolResult)]


def _role(step: Step) -> str:
    return {"agent": "assistant", "tool": "tool", "system": "system"}.get(step.role, "user")


def _lead(steps: list[Step], agents: tuple[Agent, ...]) -> str | None:
    named = (step.agent for step in steps if step.role == "agent" and step.agent)
    return next(named, agents[0].name if agents else None)


def _resource(trajectory: Trajectory) -> Plain:
    """Where it ran, where that is known; else a service named for the agent."""
    own = rest_in(trajectory.extra, NAME).get("resources")
    if isinstance(own, list) and own and isinstance(own[0], dict) and isinstance(own[0].get("attributes"), dict):
        return {"attributes": own[0]["attributes"]}
    name = trajectory.agents[0].name if trajectory.agents else None
    return {"attributes": {"service.name": name or "pantrace"}}


def _callers(trajectory: Trajectory) -> dict[str, list[tuple[Trajectory, str]]]:
    """Sub-agents by the calls that started them, each with a conversation of its own."""
    found: dict[str, list[tuple[Trajectory, str]]] = {}
    for number, child in enumerate(trajectory.children, 1):
        name = child.id if child.id and child.id != trajectory.id else f"{trajectory.id or 'agent'}/{number}"
        found.setdefault(child.caller or f"\0{number}", []).append((child, name))
    return found


def _repeated(trajectory: Trajectory) -> int:
    """Characters that model calls would repeat, if each told all that it was given."""
    total = so_far = 0
    for step in active_steps(trajectory):
        if step.role == "agent":
            total += so_far
        so_far += sum(_length(part) for part in step.parts)
    return total


def _length(part: Part) -> int:
    return sum(len(value) if isinstance(value, str) else 64 for value in _values(part))


def _values(part: Part) -> Iterator[Any]:
    for name in part.__struct_fields__:
        value = getattr(part, name)
        yield str(value) if isinstance(value, (dict, list, tuple)) and value else value


def _nanoseconds(seconds: float | None) -> int | None:
    """Exact, so that the same moment comes back."""
    if seconds is None or not 0 < seconds < 1 << 33:
        return None
    whole, part = divmod(seconds, 1) if isinstance(seconds, int) else (int(seconds), seconds - int(seconds))
    return int(whole) * 1_000_000_000 + round(part * 1_000_000_000)


def _message(text: str | None) -> Plain:
    return {"message": text} if text else {}
