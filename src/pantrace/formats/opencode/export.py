"""Writes `opencode export` documents: one session per file, valid for samples of any other format, too.

Results are folded into the tool part of their call. Keys that OpenCode requires but the sample does not have are
filled in and listed under `unreported` (see `taken_keys`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from pantrace.errors import SampleRefused
from pantrace.formats.format import NoOptions
from pantrace.model import (
    Media,
    Part,
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
)
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.pantrace_key import CARRIER

from .messages import BESIDE, dump_error
from .parts import UNKNOWN, dump_file, dump_reasoning, dump_text, dump_tool
from .sessions import CALLER, ROWS, SAMPLE, load_document
from .taken_keys import NAME, UNREPORTED, Raw, fill, merge, put_times
from .usage import OURS, put_usage

CORNERS = (
    *(CARRIER, CALLER, SAMPLE, "note", "project", "session_diff", "session_input", ROWS, "todo"),
    *(f"{place}.{UNREPORTED}" for place in ("info", "messages[].info", "messages[].parts[]")),
    "messages[].parts[].state.full_output",
)
"""Keys that OpenCode's own exports do not have: data beside a session, the list of invented keys, the full text of long
outputs."""


def dump_document(sample: Sample, options: NoOptions) -> Raw:
    """One sample as an export document, as far as OpenCode can express it."""
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("an OpenCode session is a recording; this sample has not been run")
    writer = _Writer(trajectory, sample.id)
    document: Raw = {"info": writer.info(), "messages": list(writer.messages())}
    rows = [step.extra[NAME]["row"] for step in trajectory.steps if _is_row(step)]
    if rows:
        document[ROWS] = rows
    beside = trajectory.extra.get(NAME, {})
    return {**document, **{key: value for key, value in beside.items() if key != "info"}}


load, dump = carry_rest(load_document, dump_document, CARRIER)


def _is_row(step: Step) -> bool:
    return "row" in step.extra.get(NAME, {})


class _Writer:
    """Writes one session: remembers the ids it gave out, the last known time, the last prompt."""

    def __init__(self, trajectory: Trajectory, sample: str):
        self.trajectory = trajectory
        self.session = trajectory.id or sample
        self.clock = _first_moment(trajectory)
        self.part_numbers = count(1)
        self.results = _results_of_calls(trajectory)
        self.instructions = {agent.name: agent.instructions for agent in trajectory.agents if agent.instructions}
        if NAME in trajectory.extra:
            # Instructions that were read from OpenCode's messages are still in the `extra` of those steps.
            self.instructions = {}

    def info(self) -> Raw:
        trajectory = self.trajectory
        rest = trajectory.extra.get(NAME, {}).get("info", {})
        raw: Raw = {"id": self.session}
        if trajectory.parent is not None:
            raw["parentID"] = trajectory.parent
        if trajectory.title is not None:
            raw["title"] = trajectory.title
        if trajectory.usage and "" in trajectory.usage:
            put_usage(raw, trajectory.usage[""])
        put_times(raw, created=trajectory.created)
        merge(raw, rest)
        return fill(
            raw,
            {
                "slug": self.session,
                "projectID": "global",
                "directory": "",
                "title": "",
                "version": OURS,
                "time.created": self.clock,
                "time.updated": self.clock,
            },
        )

    def messages(self) -> Iterator[Raw]:
        taken = {step.id for step in self.trajectory.steps}
        asked: str | None = None
        for number, step in enumerate(self.trajectory.steps, 1):
            # OpenCode has no tool messages, and V2 rows are written as they were, beside the messages.
            if step.role == "tool" or _is_row(step):
                continue
            # An id that we make up must not meet one that another step already has.
            invented = next(name for suffix in count() if (name := _message_id(number, suffix)) not in taken)
            if step.at is not None:
                self.clock = round(step.at * 1000)
            message = step.id if step.id is not None else invented
            raw = self._message(step, message, asked)
            if raw["role"] == "user":
                asked = message
            beside = raw.pop(BESIDE, {})
            parts = [self._part(part, raw["id"]) for part in self._raw_parts(number - 1, step)]
            yield {"info": raw, "parts": parts, **beside}

    def _message(self, step: Step, message: str, asked: str | None) -> Raw:
        answers = step.role == "agent"
        raw: Raw = {"role": "assistant" if answers else "user"}
        if step.id is not None:
            raw["id"] = step.id
        # In OpenCode only an answer has a parent. Other formats link every step.
        if step.parent is not None and (answers or NAME in step.extra):
            raw["parentID"] = step.parent
        for key, value in (("agent", step.agent), ("modelID", step.model), ("finish", step.stop)):
            if value is not None:
                raw[key] = value
        put_times(raw, created=step.at, completed=step.ended)
        put_usage(raw, step.usage)
        if step.error is not None:
            raw["error"] = dump_error(step.error)
        if answers and step.kind == "compaction":
            raw["summary"] = True
        if answers and step.agent in self.instructions:
            raw["system"] = [self.instructions.pop(step.agent)]
        merge(raw, step.extra.get(NAME, {}))
        raw["sessionID"] = raw.get("sessionID", self.session)
        # OpenCode refuses a message without these keys; `fill` lists those that we invent.
        required: Raw = {"id": message, "time.created": self.clock, "agent": "build"}
        if not answers:
            required |= {"model.providerID": "unknown", "model.modelID": "unknown"}
        else:
            required |= {"parentID": asked or message, "modelID": "unknown", "providerID": "unknown"}
            required |= {"mode": step.agent or "build", "path.cwd": "", "path.root": "", "cost": 0}
            required |= {f"tokens.{name}": 0 for name in ("input", "output", "reasoning", "cache.read", "cache.write")}
        return fill(raw, required)

    def _raw_parts(self, place: int, step: Step) -> Iterator[Raw]:
        # OpenCode has no system messages, and a user's message must not seem to be typed by the user.
        inserted = step.kind == "synthetic" or (step.role == "system" and NAME not in step.extra)
        compacted = False
        for number, part in enumerate(step.parts):
            if isinstance(part, Text):
                yield dump_text(part, inserted or part.synthetic)
            elif isinstance(part, Thinking):
                yield fill(dump_reasoning(part), {"time.start": self.clock})
            elif isinstance(part, ToolCall):
                raw = dump_tool(part, self.results.get((place, number)))
                yield fill(raw, self._required_of(raw, part.id or f"call_{place}_{number}"))
            elif isinstance(part, Media):
                yield fill(dump_file(part), {"mime": "application/octet-stream", "url": ""})
            elif isinstance(part, Unknown) and part.kind.startswith(UNKNOWN):
                compacted = compacted or part.kind == f"{UNKNOWN}compaction"
                yield part.raw if type(part.raw) is not dict else dict(part.raw)
        # This part is what marks a compaction in OpenCode; without it, the step would read back as a prompt.
        if step.kind == "compaction" and step.role == "user" and not compacted:
            yield {"type": "compaction", "auto": False}

    def _required_of(self, raw: Raw, call: str) -> Raw:
        state = raw["state"]
        required: Raw = {"callID": call, "state.input": {}}
        status = state.get("status")
        if status == "completed":
            required |= {"state.output": "", "state.title": "", "state.metadata": {}}
            required |= {"state.time.start": self.clock, "state.time.end": self.clock}
        elif status == "error":
            required |= {"state.error": "", "state.time.start": self.clock, "state.time.end": self.clock}
        elif status == "running":
            required |= {"state.time.start": self.clock}
        elif status == "pending":
            required |= {"state.raw": ""}
        return required

    def _part(self, raw: Any, message: Any) -> Any:
        if type(raw) is not dict:
            return raw
        # `fill` starts a new list, so the earlier one is joined to it.
        invented = raw.pop(UNREPORTED, [])
        fill(raw, {"id": f"prt_{next(self.part_numbers):012d}"})
        invented = [*invented, *raw.pop(UNREPORTED, [])]
        if invented:
            raw[UNREPORTED] = invented
        raw["sessionID"] = raw.get("sessionID", self.session)
        raw["messageID"] = raw.get("messageID", message)
        return raw


def _message_id(number: int, suffix: int) -> str:
    return f"msg_{number:012d}" + (f"_{suffix}" if suffix else "")


def _first_moment(trajectory: Trajectory) -> int:
    moments = (trajectory.created, *(step.at for step in trajectory.steps))
    return next((round(at * 1000) for at in moments if at is not None), 0)


def _results_of_calls(trajectory: Trajectory) -> dict[tuple[int, int], ToolResult]:
    """The result of each call, by the call's place: the one right after it, else by id, else by name and order."""
    found: dict[tuple[int, int], ToolResult] = {}
    waiting: dict[tuple[str | None, str | None], list[tuple[int, int]]] = {}
    for place, step in enumerate(trajectory.steps):
        before: Part | None = None
        for number, part in enumerate(step.parts):
            if isinstance(part, ToolCall):
                key = (part.id, None if part.id is not None else part.name)
                waiting.setdefault(key, []).append((place, number))
            elif isinstance(part, ToolResult):
                behind = isinstance(before, ToolCall) and before.id == part.call_id
                name = before.name if behind and isinstance(before, ToolCall) else part.name
                places = waiting.get((part.call_id, None if part.call_id is not None else name), [])
                if places:
                    # Without ids, a result right after a call answers it; a later one answers the oldest open call.
                    found[places.pop(-1 if behind else 0)] = part
            before = part
    return found
