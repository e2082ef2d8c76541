"""Writing: a sample as the lines of a rollout; a session that was read is written back line by line.

Records that only repeat something for other readers of rollouts are marked as made by pantrace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from pantrace.errors import SampleRefused
from pantrace.model import Part, Sample, Step, Text, ToolCall, ToolResult, Trajectory, Unknown, add_usage
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.json import as_kind
from pantrace.wire.openai_responses import item_to, items_to
from pantrace.wire.openai_usage import bare, usage_to
from pantrace.wire.optional import present
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.times import iso_short

from . import stream
from .events import NAME, NESTED, Record
from .lines import MADE
from .session import payload_of, raw_of

_ROLES = {"system": "developer", "user": "user", "agent": "assistant", "tool": "user"}


def dump(sample: Sample, options: Any) -> list[Any]:
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("a rollout of Codex is a recording; this sample has not been run")
    own = rest_in(trajectory.extra, NAME)
    if own.get("stream") is True:
        lines = [_event(step) for step in trajectory.steps]
        return [{"events": lines, **own["document"]}] if "document" in own else lines
    records = _Writer(trajectory, trajectory.id or sample.id).records()
    if not any(each.get("type") != "session_meta" for each in records if isinstance(each, dict)):
        raise SampleRefused("nothing was said or done in it")
    return records


def _event(step: Step) -> Any:
    read = rest_in(step.extra, NAME).get("stream")
    if not isinstance(read, dict):
        return raw_of(step)
    return {**read["line"], "item": stream.item_to(step.parts, read["item"])}


class _Writer:
    """Writes the lines of one session."""

    def __init__(self, trajectory: Trajectory, name: str):
        self.trajectory = trajectory
        self.own = rest_in(trajectory.extra, NAME)
        self.name = name
        self.model: str | None = None
        self.time = trajectory.created or 0.0
        self.has_context = any(_is_context(raw_of(step)) for step in trajectory.steps)
        self.is_counted = any(payload_of(step, "token_count") for step in trajectory.steps)
        self.counted: list[Any] = []

    def records(self) -> list[Any]:
        """All lines in order. Other lines may come between those of one response, so each waits for its place."""
        found: list[Any] = []
        waiting: dict[int, Any] = {}
        place = 0
        forked = "history_base" in self.own.get("meta", {})
        agent = self.trajectory.agents[0] if self.trajectory.agents else None
        if self.own.get("meta") is not None or not self.own:
            found.append(self._meta())
        if agent is not None and agent.tools and not self.own:
            tools = [self._tool(tool) for tool in agent.tools]
            found.append(
                self._new_record("response_item", {"type": "additional_tools", "role": "developer", "tools": tools})
            )
        for number, step in enumerate(self.trajectory.steps, 1):
            if step.kind == "copied" and forked:
                continue  # it is in the file of the session that this one was forked from
            self.time = step.at if step.at is not None else self.time
            if step.model not in (None, self.model) and raw_of(step) is None and not self.has_context:
                self.model = step.model
                # Readers take the model of all following responses from this record.
                found.append(self._new_record("turn_context", {"model": step.model}))
            first = place
            for after, line in self._lines(step, number):
                waiting[first + after] = line
            while place in waiting:
                found.append(waiting.pop(place))
                place += 1
            # Other readers, such as ccusage, only know `token_count`.
            if step.usage is not None and not self.is_counted:
                found.append(self._count(step))
        return [*found, *(waiting[each] for each in sorted(waiting))]

    def _lines(self, step: Step, number: int) -> Iterator[tuple[int, Any]]:
        """The lines of a step, each with its distance from the first."""
        if (raw := raw_of(step)) is not None:
            yield 0, raw
        elif "lines" in rest_in(step.extra, NAME):
            lines = rest_in(step.extra, NAME)["lines"]
            parts = [_fold_script(part) for part in step.parts if not _is_nested(part)]
            whole = len(parts) == sum(line["parts"] for line in lines)
            for after, line in enumerate(lines):
                mine, parts = parts[: line["parts"]], parts[line["parts"] :]
                if whole:
                    yield line.get("n", after), self._as_read(step, line, mine)
            # Parts were added or removed since reading, so the old lines no longer fit.
            if not whole:
                yield from enumerate(self._new(step, number))
        elif step.kind != "note":
            yield from enumerate(self._new(step, number))

    def _as_read(self, step: Step, line: Record, parts: list[Part]) -> Record:
        envelope = line["line"]
        kind = envelope.get("type", "response_item")
        if kind == "token_usage_record":
            usage = {"usage": usage_to(step.usage, NAME, "flat")} if step.usage is not None else {}
            payload = {**line["item"], **usage}
        elif kind == "compacted":
            payload = {**line["item"], "message": "".join(part.text for part in parts if isinstance(part, Text))}
        else:
            payload = item_to(parts, line["item"], NAME)
        return {**envelope, "type": kind, "payload": payload}

    def _new(self, step: Step, number: int) -> Iterator[Record]:
        """Lines for a step of another format."""
        parts = [_with_tool_name(part, f"call_{number}") for part in step.parts if not _is_nested(part)]
        items = items_to(parts, _ROLES[step.role], NAME)
        if not items and step.role in ("user", "system"):
            items = [{"type": "message", "role": _ROLES[step.role], "content": []}]
        for item in items:
            named = {"id": step.id} if step.id is not None and item is items[0] else {}
            yield self._record("response_item", {**item, **named})
        # An agent's step without items would leave no line at all, and would be lost.
        if step.role == "agent" and (step.usage is not None or not items):
            usage = {"usage": usage_to(step.usage, NAME, "flat")} if step.usage is not None else {}
            named = {"response_id": step.id} if step.id is not None else {}
            yield self._record("token_usage_record", {"thread_id": self.name, **named, **usage})

    def _count(self, step: Step) -> Record:
        assert step.usage is not None
        self.counted.append(bare(step.usage))
        total = add_usage(self.counted)
        assert total is not None
        last = usage_to(self.counted[-1], NAME, "flat")
        info = {"total_token_usage": usage_to(total, NAME, "flat"), "last_token_usage": last}
        return self._new_record("event_msg", {"type": "token_count", "info": info})

    def _meta(self) -> Record:
        meta = dict(self.own.get("meta") or self._first())
        agent = self.trajectory.agents[0] if self.trajectory.agents else None
        if agent is not None and agent.instructions is not None and "instructions" not in meta:
            meta["base_instructions"] = {**(meta.get("base_instructions") or {}), "text": agent.instructions}
        if self.trajectory.id is not None or not self.own:
            meta["id"] = self.name
        line = self.own["line"] if "line" in self.own else {"timestamp": self._now()}
        return {**line, "type": "session_meta", "payload": meta}

    def _first(self) -> Record:
        """The metadata that Codex needs about a session."""
        # Codex 0.166.0 resumes sessions that are written with these fields.
        around = {"cwd": "", "originator": "pantrace", "cli_version": "0.0.0", "source": "exec"}
        origin, parent = self.trajectory.origin, self.trajectory.parent
        forked = {"forked_from_id": origin.trajectory} if origin and origin.kind == "forked" else {}
        agents = self.trajectory.agents
        name = {"agent_nickname": agents[0].name} if agents and agents[0].name != NAME else {}
        return {
            "timestamp": self._now(),
            **around,
            **forked,
            **({"parent_thread_id": parent} if parent else {}),
            **name,
        }

    def _record(self, kind: str, payload: Record) -> Record:
        return {"timestamp": self._now(), "type": kind, "payload": payload}

    def _new_record(self, kind: str, payload: Record) -> Record:
        return {**self._record(kind, payload), CARRIER: MADE}

    def _now(self) -> str:
        try:
            return iso_short(self.time)
        except (ValueError, OverflowError, OSError):
            return iso_short(0)  # the time is outside of the calendar

    @staticmethod
    def _tool(tool: Any) -> Record:
        row = {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return present(row)


def _is_context(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("type") == "turn_context"


def _is_nested(part: Part) -> bool:
    return isinstance(part, (ToolCall, ToolResult)) and NESTED in rest_in(part.extra, NAME)


def _fold_script(part: Part) -> Part:
    """The script (as a call or a result) that was replaced by the calls it made."""
    match part:
        case Unknown(kind="codex:script", raw={"call": call}):
            return as_kind(call, ToolCall)
        case Unknown(kind="codex:script", raw={"result": result}):
            return as_kind(result, ToolResult)
    return part


def _with_tool_name(part: Part, name: str) -> Part:
    return msgspec.structs.replace(part, id=name) if isinstance(part, ToolCall) and part.id is None else part
