"""Transcripts of Cursor's agent: a line for each message, in Anthropic's blocks.

Spec: none is published; learned from the readers and fixtures of other tools.
Detect: lines with `role` and a `message` that has a list `content`, and neither a type nor ids.
Lost: nothing is written.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Agent, Part, Role, Sample, Step, StepError, Text, ToolResult, Trajectory, Unknown
from pantrace.wire import anthropic
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.head import Head
from pantrace.wire.optional import text_of

from .format import Format

NAME = "cursor"
ROLES: dict[str, Role] = {"user": "user", "assistant": "agent", "system": "system"}
_QUERY = re.compile(r"(.*?)<user_query>\n?(.*?)\n?</user_query>(.*)", re.DOTALL)
"""The text before, inside and after `<user_query>`: Cursor puts its own text around what the user typed."""
_MOMENT = re.compile(r"<timestamp>\w+, (\w+ \d+, \d+, \d+:\d+ [AP]M) \(UTC(?:([+-])(\d+)(?::(\d+))?)?\)</timestamp>")


def detect(head: Head) -> str | None:
    # A transcript of one line looks like a document.
    return "" if head.kind == "json" and _is_message(head.record) else None


def _is_message(row: Any) -> bool:
    # Lines of Claude Code have a message in the same shape, but also these keys.
    if not isinstance(row, dict) or row.get("role") not in ("user", "assistant") or row.keys() & {"type", "uuid", "id"}:
        return False
    message = row.get("message")
    return isinstance(message, dict) and isinstance(message.get("content"), list)


def load(row: Any) -> Sample:
    """All lines of a file as a sample."""
    lines = row if isinstance(row, list) else [row]
    if not any(_is_message(each) for each in lines):
        raise ReadError("not a transcript of Cursor: no line has a role and a message", remedy="is --from right?")
    steps = tuple(_step(each) for each in lines)
    created = next((step.at for step in steps if step.at is not None), None)
    return Sample(id=NAME, trajectory=Trajectory(created=created, agents=(Agent(name=NAME),), steps=steps))


def _step(line: Any) -> Step:
    if not isinstance(line, dict):
        return Step(role="system", kind="note", parts=(Unknown(kind=f"{NAME}:line", raw=line),))
    role, message = line.get("role"), line.get("message")
    if not isinstance(role, str) or role not in ROLES or not isinstance(message, dict):
        return Step(role="system", kind="note", error=_turn_error(line), extra=as_extra(NAME, line))
    content = message.get("content")
    parts = anthropic.content_from(content, NAME)
    answers = bool(parts) and all(isinstance(part, ToolResult) for part in parts)
    rest = rest_of(line, ("role", "message"))
    rest |= {"message": inner} if (inner := rest_of(message, ("content",))) else {}
    return Step(
        role="tool" if answers else ROLES[role],
        agent=NAME if role == "assistant" else None,
        parts=tuple(piece for part in parts for piece in (_prompt_parts(part) if role == "user" else [part])),
        at=next((at for part in parts if isinstance(part, Text) and (at := _moment(part.text)) is not None), None),
        extra=as_extra(NAME, rest),
    )


def _turn_error(line: dict[str, Any]) -> StepError | None:
    """The error of a turn, which is reported on a separate line."""
    status, error = line.get("status"), line.get("error")
    if line.get("type") != "turn_ended" or not isinstance(status, str) or status == "success":
        return None
    return StepError(kind=status, message=text_of(error))


def _prompt_parts(part: Part) -> list[Part]:
    """What the user typed, with what Cursor inserted before and after it."""
    found = _QUERY.fullmatch(part.text) if isinstance(part, Text) else None
    if not isinstance(part, Text) or found is None:
        return [part]
    before, query, behind = found.groups()
    inserted = [Text(text=each, synthetic=True) if each.strip() else None for each in (before, behind)]
    # The whole text is kept as well: blanks around the tags are not in any of the pieces.
    typed = Text(text=query, extra=as_extra(NAME, {**rest_in(part.extra, NAME), "text": part.text}))
    return [each for each in (inserted[0], typed, inserted[1]) if each is not None]


def _moment(text: str) -> float | None:
    """The time of a prompt, to the minute: `Sunday, Sep 20, 2026, 12:31 AM (UTC+3)`."""
    if (found := _MOMENT.search(text)) is None:
        return None
    try:
        local = datetime.strptime(found[1], "%b %d, %Y, %I:%M %p").replace(tzinfo=UTC)
        ahead = timedelta(hours=int(found[3] or 0), minutes=int(found[4] or 0))
        return (local + ahead if found[2] == "-" else local - ahead).timestamp()
    except (ValueError, OverflowError):
        return None  # the day or the offset does not exist


def name_in_file(name: str, path: Path) -> str:
    """The file's name as the id: a transcript does not state its own."""
    return path.name.partition(".")[0] if name == NAME else name


FORMAT = Format(
    name=NAME,
    title="Cursor transcripts: messages and tool calls, without results and tokens",
    spec="derived from the readers of other tools (docs/formats/cursor.md)",
    detect=detect,
    load=load,
    name_in_file=name_in_file,
    layout="log",
    suffix=".jsonl",
    note="verified with fixtures and readers of other tools, not with our own transcripts",
)
