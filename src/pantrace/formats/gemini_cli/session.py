"""A session: an append-only log of messages, of changes to its head, and of lists that replace all messages.

The last line of a message wins. A list (`$set`) is what the model sees from there on. A resume repeats all messages in
such a list, without tokens and with the time of the resume, so the earlier lines are the better source. A message that
a list leaves out was replaced by a summary or taken back, but it was said. `$rewindTo` abandons a branch.

What the steps cannot hold (earlier lines of a message, lists, repeated results) is kept in `extra` as a script of the
file, so that a session comes back line by line.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import (
    Origin,
    Outcome,
    Sample,
    Step,
    StepError,
    ToolResult,
    Trajectory,
    active_steps,
    call_pairs,
    step_text,
)
from pantrace.wire.extra_keys import as_extra, rest_in
from pantrace.wire.optional import text_of
from pantrace.wire.times import from_iso, iso_short

from .messages import CONTEXT, NAME, message_to, step_from

Raw = dict[str, Any]
TAKEN_BACK = StepError(
    kind="unanswered", message="the prompt was taken back without an answer: the request failed or was cancelled"
)


def load(row: Any) -> Sample:
    """The records of a session; an older document is first split into records."""
    if isinstance(row, list):
        row = [each for record in row for each in _records(record)]
    if not isinstance(row, list) or not any(_is_head(each) for each in row):
        raise ReadError(
            "not a session of Gemini CLI: no record has sessionId and projectHash", remedy="is --from right?"
        )
    trajectory = _Session(row).trajectory()
    return Sample(id=trajectory.id or "session", trajectory=trajectory)


def _is_head(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("sessionId"), str)
        and isinstance(record.get("projectHash"), str)
    )


def _records(record: Any) -> list[Any]:
    if not _is_head(record) or not isinstance(record.get("messages"), list):
        return [record]
    return [{key: value for key, value in record.items() if key != "messages"}, *record["messages"]]


def _is_message(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("id"), str) and isinstance(record.get("type"), str)


class _Session:
    """Reads the records of a session in order."""

    def __init__(self, records: list[Any]):
        self.head: Raw = {}
        self.started: float | None = None
        self.messages: dict[str, Raw] = {}
        """The most complete record of each message, in the order in which they came."""
        self.active: list[str] = []
        self.parents: dict[str, str | None] = {}
        self.rewound = False
        self.notes: dict[str, Raw] = {}
        """What the log says about a message beside its record: kind, replaces, error."""
        for record in records:
            self._take(record)
        self.script = [self._note_in_script(record) for record in records]

    def _take(self, record: Any) -> None:
        if _is_message(record):
            # A message with calls is written again under its id when they end: the last line is the complete one.
            self.messages[record["id"]] = record
            self._activate(record["id"])
        elif not isinstance(record, dict):
            return
        elif isinstance(target := record.get("$rewindTo"), str):
            self.rewound = True
            # The message itself goes as well: the user rewinds to before it.
            del self.active[self.active.index(target) if target in self.active else 0 :]
        elif isinstance(changes := record.get("$set"), dict):
            self.head |= {key: value for key, value in changes.items() if key != "messages"}
            if isinstance(listed := changes.get("messages"), list):
                self._replace([each for each in listed if _is_message(each)])
        elif _is_head(record):
            self.head |= record
            if self.started is None:
                self.started = from_iso(record.get("startTime"))

    def _activate(self, name: str) -> None:
        if name not in self.active:
            self.parents.setdefault(name, self.active[-1] if self.active else None)
            self.active.append(name)

    def _replace(self, listed: list[Raw]) -> None:
        """Note that the model sees only these messages from here on."""
        names = {each["id"] for each in listed}
        gone = [name for name in self.active if name not in names and not _is_answer(self.messages[name])]
        fresh = [each for each in listed if each["id"] not in self.messages and not _is_answer(each)]
        for each in listed:
            # Not replaced: a resume repeats messages without tokens and with its own time.
            self.messages.setdefault(each["id"], each)
            self._activate(each["id"])
        fresh = [each for each in fresh if not _is_context(each)]
        if gone and fresh:
            self.notes[fresh[0]["id"]] = {"kind": "compaction", "replaces": tuple(gone)}
            self.notes |= {each["id"]: {"kind": "synthetic"} for each in fresh[1:]}
        # A request that failed leaves no line of its own: the next list merely lacks its prompt.
        elif gone and all(self.messages[name]["type"] == "user" for name in gone):
            self.notes[gone[-1]] = {"taken back": True}
        # Messages that are gone stay on the path: they were said, and their tokens were paid for.

    def _note_in_script(self, record: Any) -> Any:
        if _is_message(record):
            return self._message(record)
        match record:
            case {"$set": {"messages": list(listed), **rest}} if len(record) == 1:
                return {"set": rest, "messages": [self._message(each) for each in listed]}
        return {"line": record}

    def _message(self, record: Any) -> Raw:
        """A message for the script: its id if its step holds all of it, else the line itself."""
        if not _is_message(record) or self._is_repeated(record):
            return {"line": record}
        best = self.messages[record["id"]]
        if record == best:
            return {"step": record["id"]}
        without = [key for key in best if key not in record]
        if record == {key: value for key, value in best.items() if key in record}:
            return {"step": record["id"], "without": without}
        return {"line": record}

    def _is_repeated(self, record: Raw) -> bool:
        """Whether a message only repeats results that are also stored with their calls."""
        answers = _answers(record)
        return bool(answers) and answers <= self._answered_calls

    @cached_property
    def _answered_calls(self) -> set[str]:
        """Ids of calls that are stored with their results."""
        calls = [each for raw in self.messages.values() for each in _messages_in(raw.get("toolCalls"))]
        return {each["id"] for each in calls if isinstance(each.get("id"), str) and each.get("result")}

    def trajectory(self) -> Trajectory:
        steps: list[Step] = []
        nearest: dict[str | None, str | None] = {None: None}
        """The nearest step for each message: one that repeats results has none of its own."""
        for name, raw in self.messages.items():
            parent = nearest.get(self.parents.get(name))
            if self._is_repeated(raw):
                nearest[name] = parent
                continue
            nearest[name] = name
            note = dict(self.notes.get(name, {}))
            taken_back = note.pop("taken back", False)
            step = msgspec.structs.replace(step_from(raw), **note)
            steps.append(msgspec.structs.replace(step, parent=parent) if self.rewound else step)
            if taken_back:
                steps.append(Step(role="agent", error=TAKEN_BACK, at=step.at))
        head, last = self.head, steps[-1] if steps else None
        is_child = head.get("kind") == "subagent"
        summary = text_of(head.get("summary"))
        return Trajectory(
            id=head["sessionId"],
            # A sub-agent's summary is what it reported to its parent; that of a session is a title.
            title=None if is_child else summary,
            response=summary if is_child else None,
            created=self.started,
            ended=from_iso(head.get("lastUpdated")),
            steps=tuple(steps),
            leaf=nearest.get(self.active[-1]) if self.rewound and self.active else None,
            outcome=Outcome(status="error", reason=last.error.message) if last is not None and last.error else None,
            extra=as_extra(NAME, {"script": self.script}),
        )


def _messages_in(value: Any) -> list[Raw]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _answers(record: Raw) -> set[str]:
    """Ids of the calls that a message answers, if it does nothing else."""
    content = _messages_in(record.get("content"))
    if record["type"] != "user" or not content or len(content) != len(record["content"]):
        return set()
    if any("text" in each for each in content):
        return set()
    answers = [each["functionResponse"] for each in content if isinstance(each.get("functionResponse"), dict)]
    return {each["id"] for each in answers if isinstance(each.get("id"), str)}


def _is_answer(record: Raw) -> bool:
    return bool(_answers(record))


def _is_context(record: Raw) -> bool:
    first = next(iter(_messages_in(record.get("content"))), {})
    return isinstance(text := first.get("text"), str) and text.startswith(CONTEXT)


def dump(sample: Sample, options: Any) -> list[Any]:
    if sample.trajectory is None:
        raise SampleRefused("a session is a recording; this sample has not been run")
    trajectory = sample.trajectory
    script = rest_in(trajectory.extra, NAME).get("script")
    pairs = call_pairs(trajectory, agent_only=False)
    answers: dict[int, list[ToolResult]] = {}
    for pair in pairs:
        if pair.result is not None:
            answers.setdefault(id(pair.step), []).append(pair.result)
    paired = {id(pair.result) for pair in pairs}
    rows: list[Raw] = []
    for number, step in enumerate(trajectory.steps if script else active_steps(trajectory), 1):
        if step.role == "tool" and all(id(part) in paired for part in step.parts) and not rest_in(step.extra, NAME):
            continue  # its results are written with their calls
        if step.error == TAKEN_BACK and not step.parts:
            continue  # the script takes the prompt back
        if script or step.kind != "note" or step_text(step):
            rows.append({"id": f"{number}", **message_to(step, answers.get(id(step), []))})
    if isinstance(script, list):
        return _Replay({row["id"]: row for row in rows}).of(script)
    return [_head(trajectory, sample.id), *rows]


def _head(trajectory: Trajectory, name: str) -> Raw:
    times = [step.at for step in trajectory.steps if step.at is not None]
    created = trajectory.created if trajectory.created is not None else min(times, default=None)
    ended = trajectory.ended if trajectory.ended is not None else max(times, default=None)
    # Gemini CLI recognises a session by these two keys.
    head: Raw = {"sessionId": trajectory.id or name, "projectHash": "unknown"}
    head |= {key: iso_short(at) for key, at in (("startTime", created), ("lastUpdated", ended)) if at is not None}
    if (summary := trajectory.title or trajectory.response) is not None:
        head["summary"] = summary
    return head | {"kind": "subagent" if trajectory.parent is not None else "main"}


class _Replay:
    """Writes the lines of a file by its script, with the messages as the steps are now."""

    def __init__(self, rows: dict[str, Raw]):
        self.rows = rows
        self.written: set[str] = set()

    def of(self, script: list[Any]) -> list[Any]:
        lines: list[Any] = []
        for entry in script:
            if "set" in entry:
                listed = [line for each in entry["messages"] for line in self._message(each)]
                lines.append({"$set": {**entry["set"], "messages": listed}})
            else:
                lines += self._message(entry)
        # Steps that were added since reading are not in the script.
        return lines + [row for name, row in self.rows.items() if name not in self.written]

    def _message(self, entry: Raw) -> list[Any]:
        if "step" not in entry:
            return [entry["line"]]
        row = self.rows.get(entry["step"])
        if row is None:
            return []  # the step was removed
        self.written.add(entry["step"])
        return [{key: value for key, value in row.items() if key not in entry.get("without", ())}]


def mark_resumed(trajectory: Trajectory) -> Trajectory:
    """A session that was read from a file that only continues another one."""
    return msgspec.structs.replace(trajectory, origin=Origin(kind="resumed", trajectory=trajectory.id))
