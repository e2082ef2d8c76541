"""Writes a sample as spans that observability tools read.

One trace for each turn, all with the same conversation id: a span for the agent, below it one for each model call and
each tool; sub-agents below the tools that started them. Trace and span ids are derived from the sample's id, so that
the same sample always gives the same traces.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from string import hexdigits
from typing import Any, Literal

from pantrace.errors import SampleRefused
from pantrace.model import (
    Agent,
    Part,
    Record,
    Sample,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
    active_steps,
    call_pairs,
    turns,
)
from pantrace.wire.extra_keys import rest_in

from .flavour import Flavour, ModelCall
from .plain_spans import Plain
from .span import NAME
from .write_genai import GenAI
from .write_messages import Message, as_calls
from .write_openinference import OpenInference

FLAVOURS: dict[str, type[Flavour]] = {"genai": GenAI, "openinference": OpenInference}
MOST = 4_000_000
"""The most characters of repeated history that are written; beyond that, each call has only its new messages."""


class Options(Record, frozen=True, kw_only=True):
    """How spans are written."""

    flavour: Literal["genai", "openinference"] = "genai"
    """genai: the semantic conventions of OpenTelemetry; openinference: those of Arize Phoenix."""
    version: Literal["1.41", "1.36"] = "1.41"
    """Of the GenAI conventions: 1.41 has messages in attributes, 1.36 in events of the spans."""
    history: Literal["auto", "full", "new"] = "auto"
    """What each model call has: its whole input (full), or only what is new in it (new); auto: full while the repeated
    history stays below four million characters."""


def dump(sample: Sample, options: Options) -> dict[str, Any]:
    if sample.trajectory is None:
        raise SampleRefused("spans are a recording; this sample has not been run")
    # Repetitions of a case must not fall into one conversation.
    name = (sample.id if sample.epoch is None else f"{sample.id}#{sample.epoch}") or "sample"
    pen = _SampleWriter(name, FLAVOURS[options.flavour](options.version), options.history)
    teller = _TrajectoryWriter(pen, sample.trajectory, name)
    teller.tell()
    root = teller.roots[-1]
    for score in sample.scores:
        if (event := pen.flavour.score(score)) is not None:
            root.setdefault("events", []).append({**event, "timeUnixNano": root["endTimeUnixNano"]})
    return {"name": name, "spans": pen.spans}


class _SampleWriter:
    """Writes all trajectories of a sample: spans in order, each id used once."""

    def __init__(self, name: str, flavour: Flavour, history: str):
        self.name = name
        self.flavour = flavour
        self.history = history
        self.spans: list[Plain] = []
        self._used: set[str] = set()

    def id(self, length: int, own: str | None, *words: str) -> str:
        """The step's own id if it is a valid OTLP id that is not used yet, else one derived from its place."""
        if own is not None and len(own) == length and set(own) <= set(hexdigits) and own not in self._used:
            found = own.lower()
        else:
            # Derived, not random: sending the same file twice must not double the traces.
            found = sha256("\0".join((self.name, *words)).encode("utf-8", "surrogatepass")).hexdigest()[:length]
        if length == 16:
            self._used.add(found)
        return found

    def add(self, span: Plain, start: int, end: int) -> None:
        span["startTimeUnixNano"], span["endTimeUnixNano"] = start, max(start, end)
        for event in span.get("events", ()):
            event.setdefault("timeUnixNano", start)
        self.spans.append(span)


class _TrajectoryWriter:
    """Writes one trajectory; a sub-agent's, below the span that started it."""

    def __init__(self, pen: _SampleWriter, trajectory: Trajectory, conversation: str, below: Plain | None = None):
        self.pen = pen
        self.trajectory = trajectory
        self.conversation = conversation
        self.below = below
        self.roots: list[Plain] = []
        """The agent's span of each turn."""
        self.told: list[Message] = []
        """The conversation so far."""
        self._fresh = 0
        self._clock = _nanoseconds(trajectory.created) or (below["startTimeUnixNano"] if below is not None else 0)
        self._agents = {agent.name: agent for agent in trajectory.agents}
        self._met: set[str] = set()
        self._waiting = _callers(trajectory)
        self._resource = _resource(trajectory)
        pairs = call_pairs(trajectory, agent_only=False)
        self._calls = {id(pair.result): pair.call for pair in pairs if pair.result is not None}
        self._repeats = pen.history == "full" or (pen.history == "auto" and _repeated_characters(trajectory) <= MOST)

    def tell(self) -> None:
        trajectory = self.trajectory
        # Notes did not happen in the run; they are kept under `pantrace` only.
        every = [[step for step in turn.steps if step.kind != "note"] for turn in turns(trajectory)]
        # Even without any step, the agent's span shows that it ran and how it ended.
        every = [steps for steps in every if steps] or [[]]
        for number, steps in enumerate(every):
            self._turn(steps, number, is_last=number == len(every) - 1)
        for child, name in (each for listed in self._waiting.values() for each in listed):
            _TrajectoryWriter(self.pen, child, name, self.roots[-1]).tell()
        if trajectory.outcome is not None and trajectory.outcome.status == "error":
            reason = trajectory.outcome.reason
            self.roots[-1]["status"] = {"code": 2, **({"message": reason} if reason else {})}

    def _turn(self, steps: list[Step], number: int, *, is_last: bool) -> None:
        pen, place = self.pen, f"{self.conversation}/{number}"
        own = next((each.invocation for each in steps if each.invocation), None)
        # One trace per turn, as all libraries write it; a sub-agent is part of its caller's trace.
        trace = self.below["traceId"] if self.below is not None else pen.id(32, own, "trace", place)
        root = self._span(pen.id(16, None, "agent", place, trace), self.below, trace)
        lead = _lead(steps, self.trajectory.agents)
        pen.flavour.agent(root, lead, self.conversation, self._agents.get(lead or ""))
        pen.add(root, self._clock, self._clock)
        begun, asked = len(pen.spans), len(self.told)
        moments = _measured_moments(self.trajectory, trace, is_first=number == 0, is_last=is_last)
        for index, step in enumerate(steps):
            if (moment := _nanoseconds(step.at)) is not None:
                self._clock = moment
                moments.append(moment)
            moments += [moment] if (moment := _nanoseconds(step.ended)) is not None else []
            self._step(step, root, f"{place}/{index}", lead)
        answer = next((each for each in reversed(self.told[asked:]) if each.role == "assistant"), None)
        pen.flavour.asked(root, self.told[asked : asked + 1], [answer] if answer is not None else [])
        _close(root, moments, pen.spans[begun:])
        self.roots.append(root)

    def _step(self, step: Step, root: Plain, place: str, lead: str | None) -> None:
        said = [as_calls(part) for part in step.parts if not isinstance(part, ToolResult)]
        if step.role == "agent" and step.kind in ("message", "compaction"):
            self._model(step, said, root, place, lead)
            self.told.append(Message("assistant", said, step))
            self._fresh = len(self.told)
        elif said:
            self.told.append(Message(_ROLES.get(step.role, "user"), said, step))
        for number, result in enumerate(part for part in step.parts if isinstance(part, ToolResult)):
            self.told.append(Message("tool", [result], step))
            if (call := self._calls.get(id(result))) is not None:
                self._tool(step, call, result, root, f"{place}/{number}")

    def _model(self, step: Step, said: list[Part], root: Plain, place: str, lead: str | None) -> None:
        span = self._span(self.pen.id(16, step.id, place), root)
        agent = self._agents.get(step.agent or lead or "") or next(iter(self.trajectory.agents), None)
        is_new = agent is not None and agent.name not in (*self._met, lead)
        self._met |= {agent.name} if agent is not None else set()
        given = self.told if self._repeats else self.told[self._fresh :]
        call = ModelCall(step, given, said, self.conversation, agent, is_new)
        self.pen.flavour.model(span, call)
        self.pen.add(span, self._clock, _nanoseconds(step.ended) or self._clock)

    def _tool(self, step: Step, call: ToolCall, result: ToolResult, root: Plain, place: str) -> None:
        span = self._span(self.pen.id(16, step.id, place, "tool"), root)
        self.pen.flavour.tool(span, call, result, self.conversation)
        # What is left in `_waiting` at the end has no call: it goes below the last root.
        children = self._waiting.pop(call.id or "", ())
        known = [moment for child, _ in children if (moment := _nanoseconds(child.created)) is not None]
        began = _nanoseconds(result.started) or min(self._clock, *known, self._clock)
        self.pen.add(span, began, _nanoseconds(result.ended) or _nanoseconds(step.ended) or began)
        for child, name in children:
            _TrajectoryWriter(self.pen, child, name, span).tell()

    def _span(self, name: str, above: Plain | None, trace: str | None = None) -> Plain:
        span: Plain = {"traceId": trace or (above or {})["traceId"], "spanId": name}
        if above is not None:
            span["parentSpanId"] = above["spanId"]
        scope = {"name": "pantrace"}
        return {**span, "name": "", "kind": 1, "attributes": {}, "resource": self._resource, "scope": scope}


_ROLES = {"agent": "assistant", "tool": "tool", "system": "system"}


def _close(root: Plain, moments: list[int], inner: list[Plain]) -> None:
    """Stretch an agent's span over everything inside it."""
    own = [each for each in inner if each.get("parentSpanId") == root["spanId"]]
    begins = [*moments, *(each["startTimeUnixNano"] for each in own if each["startTimeUnixNano"])]
    root["startTimeUnixNano"] = min(begins, default=root["startTimeUnixNano"])
    ends = [*moments, *(each["endTimeUnixNano"] for each in own)]
    root["endTimeUnixNano"] = max(root["startTimeUnixNano"], *ends, 0)
    for event in root.get("events", ()):
        event.setdefault("timeUnixNano", root["startTimeUnixNano"])


def _measured_moments(trajectory: Trajectory, trace: str, *, is_first: bool, is_last: bool) -> list[int]:
    """The times that the source measured for a turn: it may be longer than its steps."""
    found = [trajectory.created if is_first else None, trajectory.ended if is_last else None]
    for each in trajectory.invocations:
        if each.id == trace and each.at is not None:
            found += [each.at, None if each.seconds is None else each.at + each.seconds]
    return [moment for seconds in found if (moment := _nanoseconds(seconds)) is not None]


def _lead(steps: list[Step], agents: tuple[Agent, ...]) -> str | None:
    named = (step.agent for step in steps if step.role == "agent" and step.agent)
    return next(named, agents[0].name if agents else None)


def _resource(trajectory: Trajectory) -> Plain:
    """The resource that was read, or else a service named after the agent."""
    own = rest_in(trajectory.extra, NAME).get("resources")
    if isinstance(own, list) and own and isinstance(own[0], dict) and isinstance(own[0].get("attributes"), dict):
        return {"attributes": own[0]["attributes"]}
    name = trajectory.agents[0].name if trajectory.agents else None
    return {"attributes": {"service.name": name or "pantrace"}}


def _callers(trajectory: Trajectory) -> dict[str, list[tuple[Trajectory, str]]]:
    """Sub-agents by the call that started them, each with its own conversation id."""
    found: dict[str, list[tuple[Trajectory, str]]] = {}
    for number, child in enumerate(trajectory.children, 1):
        name = child.id if child.id and child.id != trajectory.id else f"{trajectory.id or 'agent'}/{number}"
        found.setdefault(child.caller or f"\0{number}", []).append((child, name))
    return found


def _repeated_characters(trajectory: Trajectory) -> int:
    """How many characters would be repeated if each model call had its whole input."""
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
    """Seconds as exact nanoseconds, so that the same time is read back."""
    if seconds is None or not 0 < seconds < 1 << 33:
        return None
    # Multiplying the whole float would lose the last digits: 1.8e18 is beyond what a float can hold exactly.
    whole, part = divmod(seconds, 1) if isinstance(seconds, int) else (int(seconds), seconds - int(seconds))
    return int(whole) * 1_000_000_000 + round(part * 1_000_000_000)
