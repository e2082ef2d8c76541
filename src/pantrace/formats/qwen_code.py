"""Sessions of Qwen Code: lines that form a tree, each with a message in Gemini's format.

Spec: github.com/QwenLM/qwen-code, packages/core/src/services/chatRecordingService.ts
Detect: `uuid`, `parentUuid`, `sessionId`, and a `message` with `parts`, or a `systemPayload`.
Lost: nothing for pantrace, which keeps the rest in a line of its own; for other tools cases, scores, outcomes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import (
    Kind,
    Origin,
    Part,
    Role,
    Sample,
    Step,
    StepError,
    Text,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
)
from pantrace.wire import gemini
from pantrace.wire.carry_rest import carry_rest_in_log
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.field_map import TEXT, TIME, FieldMap
from pantrace.wire.gemini_tools import with_failure
from pantrace.wire.head import Head
from pantrace.wire.optional import object_of

from .format import Format

NAME = "qwen-code"
LINE = FieldMap(
    NAME,
    Step,
    {
        "uuid": ("id", TEXT),
        "parentUuid": ("parent", TEXT),
        "timestamp": ("at", TIME),
        "model": ("model", TEXT),
        "agentName": ("agent", TEXT),
    },
)
AROUND = "around"
"""The key that keeps what a message has beside its parts."""
ROLES: dict[str, Role] = {"user": "user", "assistant": "agent", "tool_result": "tool", "system": "system"}
_PROGRAM = ("notification", "cron", "background_task_completed", "goal_runtime")
"""Subtypes of user lines that the program wrote, not the user."""


def detect(head: Head) -> str | None:
    if head.kind != "json":
        return None
    return next(("" for each in head.records if _is_line(each)), None)


def _is_line(row: Any) -> bool:
    if not isinstance(row, dict) or not {"uuid", "parentUuid", "sessionId"} <= row.keys():
        return False
    kind, message = row.get("type"), row.get("message")
    # `type` is checked first: an unhashable value cannot be looked up in a dict.
    return (
        isinstance(kind, str)
        and kind in ROLES
        and (
            isinstance(row.get("systemPayload"), dict)
            or (isinstance(message, dict) and isinstance(message.get("parts"), list))
        )
    )


def load_lines(row: Any) -> Sample:
    """All lines of a file as a sample."""
    lines = row if isinstance(row, list) else [row]
    if not any(_is_line(each) for each in lines):
        message = "not a session of Qwen Code: no line has uuid, parentUuid and a message"
        raise ReadError(message, remedy="is --from right?")
    objects = [each for each in lines if isinstance(each, dict)]
    names = [each["sessionId"] for each in objects if isinstance(each.get("sessionId"), str)]
    # The last one: a fork may begin with lines of its parent.
    name = names[-1] if names else None
    steps = tuple(_step(each, name) if isinstance(each, dict) else _unknown_line(each) for each in lines)
    lines = objects
    fork: dict[str, Any] = next((each["forkedFrom"] for each in lines if isinstance(each.get("forkedFrom"), dict)), {})
    parent = fork.get("sessionId")
    titles = [_payload(each).get("customTitle") for each in lines if each.get("subtype") == "custom_title"]
    trajectory = Trajectory(
        id=name,
        title=next((each for each in reversed(titles) if isinstance(each, str)), None),
        created=next((step.at for step in steps if step.at is not None), None),
        origin=Origin(kind="forked", trajectory=parent) if isinstance(parent, str) else None,
        steps=steps,
        leaf=_leaf(steps),
    )
    return Sample(id=name or "session", trajectory=trajectory)


def _payload(line: dict[str, Any]) -> dict[str, Any]:
    found = line.get("systemPayload")
    return object_of(found)


def _leaf(steps: tuple[Step, ...]) -> str | None:
    """The last line, if some lines are not on its path to the root: a rewind continues from an earlier line."""
    parents = {step.id: step.parent for step in steps if step.id is not None}
    last = next((step.id for step in reversed(steps) if step.id is not None), None)
    path: set[str | None] = set()
    name = last
    while name is not None and name not in path:
        path.add(name)
        name = parents.get(name)
    return last if parents.keys() - path else None


def _step(line: dict[str, Any], session: str | None) -> Step:
    kind = line.get("type")
    role = ROLES.get(kind) if isinstance(kind, str) else None
    taken: set[str] = set() if role is None or (role == "agent" and kind != "assistant") else {"type"}
    given: dict[str, Any] = {}
    form: dict[str, Any] = {}
    if line.get("sessionId") == session:
        taken.add("sessionId")
    parts: list[Part] = []
    message = line.get("message")
    if isinstance(message, dict) and isinstance(message.get("parts"), list):
        taken.add("message")
        parts = [gemini.part_from(each, NAME) for each in message["parts"]]
        form[AROUND] = rest_of(message, {"parts"})
    if role == "tool":
        status = line["toolCallResult"].get("status") if isinstance(line.get("toolCallResult"), dict) else None
        parts = [with_failure(each, status) if isinstance(each, ToolResult) else each for each in parts]
    if (usage := _usage(line.get("usageMetadata"))) is not None:
        taken.add("usageMetadata")
        given["usage"] = usage
    step_kind = _kind(line, role)
    # Lines of the parent session: their tokens were already counted there.
    if "forkedFrom" in line:
        step_kind = "copied"
    if line.get("subtype") == "chat_compression":
        parts = [Text(text=each) for each in _summary(_payload(line))]
    event = _payload(line).get("uiEvent")
    # A refused request leaves no message, only this record of telemetry.
    if isinstance(event, dict) and event.get("event.name") == "qwen-code.api_error":
        words = {key: value for key, value in event.items() if isinstance(value, str)}
        given["error"] = StepError(
            kind=words.get("error_type"), message=words.get("error_message") or words.get("error") or "the API refused"
        )
    return LINE.load(
        line,
        taken,
        role=role or "system",
        kind=step_kind,
        parts=tuple(parts),
        extra=as_extra(NAME, form),
        **given,
    )


def _unknown_line(line: Any) -> Step:
    return Step(role="system", kind="note", parts=(Unknown(kind=f"{NAME}:line", raw=line),))


def _kind(line: dict[str, Any], role: Role | None) -> Kind:
    if line.get("subtype") == "chat_compression":
        return "compaction"
    if role is None or role == "system":
        return "note"
    return "synthetic" if role == "user" and line.get("subtype") in _PROGRAM else "message"


def _summary(payload: dict[str, Any]) -> list[str]:
    """The summary: the first text of the history that replaced the earlier one."""
    history = payload.get("compressedHistory")
    listed = [each for each in history if isinstance(each, dict)] if isinstance(history, list) else []
    parts = [part for content in listed[:1] for part in gemini.parts_from(content, NAME)]
    return [part.text for part in parts if isinstance(part, Text)]


def _usage(raw: Any) -> Usage | None:
    """Usage as the provider counts it: with OpenAI-compatible providers, the answer includes thoughts."""
    if not isinstance(raw, dict):
        return None
    counts = {gemini.snake(key): value for key, value in raw.items() if value is not None}
    # Anything else stays in `extra` as it was.
    if not all(type(counts[key]) is int for key in gemini.COUNTS & counts.keys()):
        return None
    usage = gemini.usage_from(raw, NAME)
    answer, thoughts = counts.get("candidates_token_count"), counts.get("thoughts_token_count")
    if usage is None or answer is None or thoughts is None:
        return usage
    # The file does not name the provider; only the total shows whether thoughts are inside the answer.
    inside = counts.get("prompt_token_count", 0) + answer == counts.get("total_token_count") and thoughts > 0
    if not inside:
        return usage
    extra = as_extra(NAME, {**rest_in(usage.extra, NAME), "thoughts": "inside"})
    return msgspec.structs.replace(usage, output=answer, extra=extra)


def dump_lines(sample: Sample, options: Any) -> list[Any]:
    if sample.trajectory is None:
        raise SampleRefused("a session is a recording; this sample has not been run")
    name = sample.trajectory.id or sample.id
    lines: list[Any] = []
    before: str | None = None
    for number, step in enumerate(sample.trajectory.steps, 1):
        match step.parts:
            case (Unknown(kind="qwen-code:line", raw=raw),):
                lines.append(raw)
                continue
        own = rest_in(step.extra, NAME)
        foreign = NAME not in step.extra
        line = {"uuid": f"{number}", "parentUuid": before, "sessionId": name, **_line(step, own)}
        # A root that was read stays a root; steps of other formats form one chain.
        if not foreign and step.parent is None and "parentUuid" not in own:
            line["parentUuid"] = None
        before = line["uuid"]
        lines.append(line)
    if not lines:
        raise SampleRefused("nothing was said or done in it")
    return lines


_ROLES: dict[Role, str] = {"user": "user", "agent": "model", "tool": "user", "system": "user"}
_TYPES = {role: name for name, role in ROLES.items()}


def _line(step: Step, own: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"type": _TYPES[step.role]}
    row |= LINE.dump(step, AROUND)
    parts = [raw for part in step.parts if (raw := gemini.camel_part_to(part, NAME)) is not None]
    if AROUND in own:
        row["message"] = {**own[AROUND], "parts": parts}
    elif NAME not in step.extra and (parts or step.role != "system"):
        row["message"] = {"role": _ROLES[step.role], "parts": parts}
    if step.usage is not None:
        row["usageMetadata"] = _usage_to(step.usage)
    return row


def _usage_to(usage: Usage) -> dict[str, Any]:
    rest = dict(rest_in(usage.extra, NAME))
    inside = rest.pop("thoughts", None) == "inside"
    counts = gemini.usage_to(msgspec.structs.replace(usage, extra=as_extra(NAME, rest)), NAME)
    if inside and usage.output is not None:
        counts["candidates_token_count"] = usage.output
    return {_camel(key): value for key, value in counts.items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


load, dump = carry_rest_in_log(load_lines, dump_lines)

FORMAT = Format(
    name=NAME,
    title="Qwen Code sessions: a tree of lines with Gemini's messages",
    spec="github.com/QwenLM/qwen-code, packages/core/src/services/chatRecordingService.ts",
    detect=detect,
    load=load,
    dump=dump,
    layout="log",
    suffix=".jsonl",
    corners=("[]",),
    lost={"": "a session of Qwen Code holds messages, calls, results and tokens"},
)
