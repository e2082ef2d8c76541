"""Events for a trajectory of another format: spans, model calls with their real inputs, tool calls, scores.

Inputs are stored once, in the message pool; each model call refers to its part of it. A time that the source did not
measure is that of the previous event, and is marked as not measured.
"""

from __future__ import annotations

import hashlib
from itertools import accumulate
from typing import Any

from pantrace.model import Action, Sample, Step, ToolCall, ToolResult, Trajectory, call_pairs, is_prompt
from pantrace.wire.json import to_plain
from pantrace.wire.optional import object_of, present
from pantrace.wire.times import iso

from .message_drafts import MessageDrafts, message_name
from .messages import from_call, from_step, is_note
from .tool_messages import from_error, output_text
from .usage import from_usage

_STOPS = {
    "stop": "stop",
    "end_turn": "stop",
    "STOP": "stop",
    "tool-calls": "tool_calls",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "MAX_TOKENS": "max_tokens",
    "model_length": "model_length",
    "content_filter": "content_filter",
    "content-filter": "content_filter",
    "SAFETY": "content_filter",
}


def build_events(sample: Sample, row: dict[str, Any], drafts: MessageDrafts) -> dict[str, Any]:
    """`events`, `events_data` and `output` for a sample whose messages are already made."""
    if sample.trajectory is None:
        return {"events": [], "output": {"model": "", "choices": []}}
    maker = _Maker(sample, row, drafts)
    maker.build()
    return {
        "output": maker.output,
        "events": maker.events,
        "events_data": {"messages": maker.pool, "calls": []},
        "turn_count": sum(event["event"] == "model" for event in maker.events),
    }


class _Maker:
    """Builds the list of events."""

    def __init__(self, sample: Sample, row: dict[str, Any], drafts: MessageDrafts):
        assert sample.trajectory is not None
        self.sample = sample
        self.trajectory = sample.trajectory
        self.row = row
        self.drafts = drafts
        self.events: list[dict[str, Any]] = []
        self.pool: list[Any] = []
        self.output: dict[str, Any] = {"model": "", "choices": []}
        self.spans: list[str] = []
        self.begin = _first_time(self.trajectory)
        self.now = self.begin if self.begin is not None else 0.0

    def build(self) -> None:
        self.open("init", "init")
        self.add("sample_init", None, sample=self._sample_init(), state={})
        self.close()
        self.open("solvers", "solvers")
        name = self.trajectory.agents[0].name if self.trajectory.agents else (self.trajectory.title or "agent")
        span = self.open("agent", name)
        self.conversation(self.trajectory, self.row["messages"], self.drafts.sizes, span)
        for number, child in enumerate(self.trajectory.children):
            if not self._is_called(child, self.trajectory):
                self.child(child, number)
        self.close()
        self.close()
        self.scores()

    def _sample_init(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in ("input", "target", "id", "choices"):
            if key in self.row:
                found[key] = self.row[key]
        if self.row["metadata"]:
            found["metadata"] = self.row["metadata"]
        return found

    def open(self, kind: str, name: str, span: str | None = None, at: float | None = None, **metadata: Any) -> str:
        span = span or self._id("span")
        parent = {"parent_id": self.spans[-1]} if self.spans else {}
        self.spans.append(span)
        self.add("span_begin", at, metadata, id=span, type=kind, name=name, **parent)
        return span

    def close(self, at: float | None = None) -> None:
        span = self.spans[-1]
        self.add("span_end", at, id=span)
        self.spans.pop()

    def add(self, kind: str, at: float | None, notes: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        if at is not None:
            self.now = at
        event: dict[str, Any] = {"uuid": self._id("event")}
        if self.spans:
            event["span_id"] = self.spans[-1]
        event["timestamp"] = iso(self.now)
        # Rounded, so that the same sample always gives the same bytes.
        event["working_start"] = round(max(self.now - (self.begin or self.now), 0.0), 6)
        notes = dict(notes or {})
        if at is None and kind in ("model", "tool", "span_begin"):
            notes["timed"] = False
        if notes:
            event["metadata"] = {"pantrace": notes}
        event["event"] = kind
        event |= present(fields)
        self.events.append(event)
        return event

    def _id(self, what: str) -> str:
        # Derived from the content and not random: the same samples give the same file.
        text = f"{self.row['uuid']}/{self.row['epoch']}/{what}/{len(self.events)}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:22]

    def conversation(self, trajectory: Trajectory, messages: list[Any], sizes: list[int], span: str) -> None:
        """Add the model calls, tool calls and notes of one trajectory, in order."""
        base = len(self.pool)
        self.pool.extend(messages)
        answers = {id(pair.call): pair.result for pair in call_pairs(trajectory, agent_only=False)}
        firsts = accumulate(sizes, initial=base)
        start, turn = base, 0
        for place, step in enumerate(trajectory.steps):
            if is_note(step):
                notes = {"step": place} if trajectory is self.trajectory else {"step": place, "span": span}
                self.add("info", step.at, notes, source="pantrace", data=to_plain(step))
                continue
            first = next(firsts)
            if step.kind == "compaction":
                self.add("compaction", step.at, type="summary", source="pantrace")
            if is_prompt(step):
                if turn:
                    self.close()
                turn += 1
                self.open("turn", f"turn {turn}", at=step.at)
            if step.role == "agent":
                self.model_call(step, trajectory, self.pool[first], [[start, first]] if first > start else [])
            if step.kind == "compaction":
                start = first  # from here on the model sees the summary instead of the messages before it
            calls = [part for part in step.parts if isinstance(part, (ToolCall, Action))]
            raws = self.pool[first].get("tool_calls") or ()
            for number, call in enumerate(calls):
                name = self.pool[first].get("id", "")
                raw = raws[number] if number < len(raws) else from_call(call, name, number + 1)
                self.tool_call(raw, call, answers.get(id(call)), trajectory)
        if turn:
            self.close()

    def model_call(self, step: Step, trajectory: Trajectory, message: dict[str, Any], refs: list[list[int]]) -> None:
        agent = next((each for each in trajectory.agents if each.name == step.agent), None)
        agent = agent or (trajectory.agents[0] if trajectory.agents else None)
        # inspect_ai requires a model; "none/none" is its own name for none.
        model = step.model or (agent.model if agent else None) or "none/none"
        stop = _STOPS.get(step.stop or "stop", "unknown")
        output: dict[str, Any] = {"model": model, "choices": [{"message": message, "stop_reason": stop}]}
        if step.usage is not None:
            output["usage"] = from_usage(step.usage)
        if step.at is not None and step.ended is not None:
            output["time"] = round(max(step.ended - step.at, 0.0), 6)
        if step.error is not None:
            output["error"] = step.error.message or step.error.kind or "error"
        # A sample's own `output` is that of its last model call.
        self.output = output
        self.add(
            "model",
            step.at,
            model=model,
            # Inputs are in the pool: repeated here, they would make a log grow with the square of the conversation.
            input=[],
            input_refs=refs,
            tools=[_tool_info(tool) for tool in (agent.tools or ())] if agent else [],
            tool_choice="auto",
            config={},
            output=output,
            error=output.get("error"),
            traceback=step.error.traceback if step.error else None,
            completed=iso(step.ended) if step.ended is not None else None,
            working_time=output.get("time"),
        )

    def tool_call(
        self, raw: dict[str, Any], call: ToolCall | Action, result: ToolResult | None, trajectory: Trajectory
    ) -> None:
        child = next((each for each in trajectory.children if each.caller is not None and each.caller == call.id), None)
        started = result.started if result else None
        ended = result.ended if result else None
        self.add(
            "tool",
            started,
            {"made": True},
            type="function",
            id=raw["id"],
            function=raw["function"],
            arguments=raw["arguments"],
            # Text only: inspect_ai refuses a tool event whose result is an object.
            result=output_text(result) if result else "",
            error=_strict_error(result),
            truncated=[0, len(output_text(result))] if result and result.truncated else None,
            completed=iso(ended) if ended is not None else None,
            failed=True if result is not None and result.failure else None,
            agent=(child.agents[0].name if child.agents else child.title or "agent") if child else None,
            agent_span_id=child.id if child else None,
            events=[],
            working_time=None if ended is None or started is None else round(max(ended - started, 0.0), 6),
        )
        if ended is not None:
            # Events are in order of time: none is earlier than the one before it.
            self.now = max(self.now, ended)
        if child is not None:
            self.child(child, trajectory.children.index(child))

    def child(self, child: Trajectory, number: int) -> None:
        """Add a sub-agent as its own span, with its messages in the pool."""
        messages: list[Any] = []
        names: list[str] = []
        sizes: list[int] = []
        prefix = hashlib.sha256(f"{self._id('child')}/{child.id}/{number}".encode()).hexdigest()
        for place, step in enumerate(child.steps):
            if not is_note(step):
                made = from_step(step, self.drafts.unique(message_name(step, place, prefix)), self.drafts)
                sizes.append(len(made))
                names.extend(message["id"] for message in made)
                messages.extend(made)
        name = child.agents[0].name if child.agents else (child.title or "agent")
        # The type of a span tells readers, ours included, whether its tokens belong to the agent or to a grader.
        kind = {"grader": "scorer", "tool": "tool"}.get(child.purpose, "agent")
        span = self.open(kind, name, span=child.id, at=child.created, messages=names)
        self.conversation(child, messages, sizes, span)
        for other, grandchild in enumerate(child.children):
            if not self._is_called(grandchild, child):
                self.child(grandchild, other)
        self.close(child.ended)

    @staticmethod
    def _is_called(child: Trajectory, parent: Trajectory) -> bool:
        """Whether a call of the parent started the child; its span then follows that call."""
        calls = {part.id for step in parent.steps for part in step.parts if isinstance(part, ToolCall)}
        return child.caller is not None and child.caller in calls

    def scores(self) -> None:
        scores = self.row.get("scores") or {}
        if not scores:
            return
        self.open("scorers", "scorers")
        for name, score in scores.items():
            self.open("scorer", name)
            self.add("score", None, score=score, target=self.row["target"], intermediate=False, scorer=name)
            self.close()
        self.close()


def _strict_error(result: ToolResult | None) -> Any:
    error = from_error(result) if result is not None else None
    return error if error is None or isinstance(error, dict) else {"type": "unknown", "message": str(error)}


def _tool_info(tool: Any) -> dict[str, Any]:
    parameters = object_of(tool.parameters)
    properties = parameters.get("properties")
    # inspect_ai accepts only such a schema; any other is reduced below, and kept for pantrace.
    if parameters.get("type") == "object" and (properties is None or _are_schemas(properties)):
        return {"name": tool.name, "description": tool.description or "", "parameters": parameters}
    return {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": {
            "type": "object",
            "properties": properties if _are_schemas(properties) else {},
            "required": [name for name in parameters.get("required") or () if isinstance(name, str)],
            "additionalProperties": False,
        },
    }


_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def _are_schemas(properties: Any) -> bool:
    return isinstance(properties, dict) and all(
        isinstance(each, dict) and each.get("type") in (None, *_TYPES) for each in properties.values()
    )


def _first_time(trajectory: Trajectory) -> float | None:
    times = [step.at for step in trajectory.steps if step.at is not None]
    return trajectory.created if trajectory.created is not None else min(times, default=None)
