"""Writing: a sample as the lines of a session, with sub-agents on side chains of the same file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from pantrace.errors import SampleRefused
from pantrace.model import Action, Part, Sample, Step, Text, ToolCall, ToolResult, Trajectory, Unknown
from pantrace.wire.anthropic import part_to, usage_to
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.gui_calls import TOOL, action_arguments

from .lines import NAME, NEVER, NOTES, STEP, SYNTHETIC, Record, kept_lines, merge


def dump(sample: Sample, options: Any) -> list[Any]:
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("a session of Claude Code is a recording; this sample has not been run")
    session = trajectory.id or sample.id
    records = _Writer(trajectory, session).records()
    for child in trajectory.children:
        records += _Writer(child, session, agent=child.id or f"{session}-agent").records()
    if not any(isinstance(record, dict) for record in records):
        raise SampleRefused("nothing was said or done in it")
    document = rest_in(trajectory.extra, NAME).get("document")
    return records if document is None else [{"loglines": records, **document}]


class _Writer:
    """Writes the lines of one conversation."""

    def __init__(self, trajectory: Trajectory, session: str, agent: str | None = None):
        self.trajectory = trajectory
        self.common = rest_in(trajectory.extra, NAME).get("common", {})
        self.session = session
        self.agent = agent
        self.before: str | None = None
        self.uuids = {step.id for step in trajectory.steps}

    def records(self) -> list[Any]:
        """All lines in order. Other lines may come between those of one response, so each waits for its place."""
        found: list[Any] = []
        waiting: dict[int, Any] = {}
        for number, step in enumerate(self.trajectory.steps, 1):
            first = len(found)
            for after, line in self._lines(step, number):
                waiting[first + after] = line
            while len(found) in waiting:
                found.append(waiting.pop(len(found)))
            self.before = step.id or self.before
        return [*found, *(waiting[place] for place in sorted(waiting))]

    def _lines(self, step: Step, number: int) -> Iterator[tuple[int, Any]]:
        """The lines of a step, each with its distance from the first."""
        match step.parts:
            case (Unknown(kind=kind, raw=raw),) if step.kind == "note" and kind.startswith(f"{NAME}:"):
                yield 0, raw
                return
        if "message" in kept_lines(step):
            yield from self._as_read(step, kept_lines(step))
        elif step.kind != "note":
            yield from enumerate(self._new_lines(step, number))

    def _as_read(self, step: Step, notes: Record) -> Iterator[tuple[int, Any]]:
        head = dict(notes["message"])
        if step.usage is not None:
            # Kept on its line: older versions wrote the cost there, and not into the usage.
            on_line = any("costUSD" in line for line in (notes, *(notes.get("lines") or ())))
            usage = msgspec.structs.replace(step.usage, cost_usd=None) if on_line else step.usage
            head.setdefault("usage", usage_to(usage, NAME))
        fields = STEP.dump(step, *(note for note in NOTES if note != "without"))
        base = merge(self.common, fields)
        kind = {"type": "assistant" if step.role == "agent" else "user"} if "type" not in notes else {}
        others = notes.get("lines") or []
        blocks = [part_to(part, NAME) for part in step.parts]
        ends = [notes.get("blocks"), *(line.get("blocks") for line in others)]
        whole = len(blocks) == sum(1 if end is None else end for end in ends) or not blocks
        if not whole:
            # Parts were added or removed since reading, so they no longer fit the old lines: all go on the first.
            ends = [len(blocks), *(0 for _ in others)]
        for after, (line, end) in enumerate(zip([notes, *others], ends, strict=True)):
            first, count = after == 0, 1 if end is None else end
            record = base if first else merge(base, {k: v for k, v in line.items() if k not in _OF_LINES})
            message = head if first else merge(head, line["message"])
            mine, blocks = blocks[:count], blocks[count:]
            if end is not None or not mine:
                content: Record = {"content": mine} if end is not None else {}
            else:
                # A prompt that was typed is a bare text, not a list of blocks.
                content = {"content": mine[0]["text"] if mine[0] is not None else ""}
            yield 0 if first else line.get("n", after), {**record, **kind, "message": {**message, **content}}

    def _new_lines(self, step: Step, number: int) -> Iterator[Record]:
        results = [part for part in step.parts if isinstance(part, ToolResult)]
        others = [part for part in step.parts if not isinstance(part, ToolResult)]
        content = [block for part in others if (block := _block(part, f"toolu_{number}")) is not None]
        uuid = step.id or self._uuid(f"{number}")
        if content or (not results and step.role in ("agent", "user")):
            yield self._line(step, uuid, self._message(step, content, uuid))
            self.before, uuid = uuid, self._uuid(f"{number}.results")
        if results:
            blocks = [part_to(part, NAME) for part in results]
            # A line holds one message of one role. Steps of other formats may mix results with text, so the results get
            # their own line.
            yield {**self._line(step, uuid, {"role": "user", "content": blocks}), "type": "user"}
            self.before = uuid

    def _message(self, step: Step, content: list[Record], uuid: str) -> Record:
        if step.role != "agent":
            match content:
                case [{"type": "text", "text": str(text), **rest}] if not rest:
                    return {"role": "user", "content": text}
            return {"role": "user", "content": content}
        model = SYNTHETIC if step.kind == "synthetic" else step.model or "unknown"
        message = {"id": f"msg_{uuid}", "type": "message", "role": "assistant", "model": model, "content": content}
        usage = {"usage": usage_to(step.usage, NAME)} if step.usage is not None else {}
        return {**message, "stop_reason": step.stop, "stop_sequence": None, **usage}

    def _line(self, step: Step, uuid: str, message: Record) -> Record:
        frame: Record = {"parentUuid": self.before, "isSidechain": self.agent is not None}
        if self.agent is not None:
            frame["agentId"] = self.agent
        if step.kind == "compaction" and step.role == "user":
            frame["isCompactSummary"] = True
        elif step.role == "system" or (step.kind == "synthetic" and step.role == "user"):
            frame["isMeta"] = True
        time = STEP.dump(step).get("timestamp", NEVER)
        # Claude Code 2.1.197 resumes sessions that are written with these fields.
        around = {"userType": "external", "cwd": "", "sessionId": self.session, "version": "pantrace", "gitBranch": ""}
        kind = "assistant" if step.role == "agent" else "user"
        return {**frame, "type": kind, "message": message, "uuid": uuid, "timestamp": time, **around}

    def _uuid(self, what: str) -> str:
        name = f"{self.session}/{self.agent}/{what}".encode("utf-8", "backslashreplace").decode()
        # Derived, not random: writing the same sample twice gives the same file.
        return str(uuid5(NAMESPACE_URL, name))


_OF_LINES = ("n", "blocks", "message")


def _block(part: Part, name: str) -> Record | None:
    if isinstance(part, Action):
        return {"type": "tool_use", "id": part.id or name, "name": TOOL, "input": action_arguments(part)}
    if isinstance(part, Text) and not part.text:
        return None
    block = part_to(part, NAME)
    if block is None or not isinstance(part, ToolCall):
        return block
    # Arguments that are not an object (torn JSON, say) would make the whole line unreadable for other tools.
    odd = {} if isinstance(block["input"], dict) else {"input": {"arguments": block["input"]}}
    return {**block, **odd, "id": part.id or name}
