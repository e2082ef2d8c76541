"""Finds every place where a recording differs from what OpenCode writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Violation
from pantrace.wire import sqlite
from pantrace.wire.head import Head
from pantrace.wire.rows import read_rows
from pantrace.wire.shape import violations
from pantrace.wire.violation import error, under, warning

from . import stream
from .database import Database
from .messages import Message
from .places import places
from .shapes import ASSISTANT, LINE, PARTS, SESSION, STATES, USER
from .storage import Tree
from .taken_keys import NAME, Raw
from .usage import NOTE, output_holds_reasoning, take_usage


def check(row: Any) -> Iterator[Violation]:
    """Violations of one export document, or of one line of a run stream."""
    if not isinstance(row, dict) or not isinstance(row.get("info"), dict):
        # A line of a run stream, which has no `info`.
        if isinstance(row, dict) and "sessionID" in row:
            yield from _line(row)
            return
        yield error("an export must be an object with `info`")
        return
    messages = row.get("messages")
    if not isinstance(messages, list):
        yield error("must be an array", "messages")
        messages = []
    yield from under("info", violations(row["info"], SESSION))
    whole: list[tuple[str, Message]] = []
    for place, raw in enumerate(messages):
        here = f"messages[{place}]"
        info = raw.get("info") if isinstance(raw, dict) else None
        parts = raw.get("parts") if isinstance(raw, dict) else None
        if isinstance(info, dict) and isinstance(parts, list):
            whole.append((here, (info, parts)))
        else:
            yield error("must be an object with `info` and `parts`", here)
    yield from _messages(whole, row["info"].get("version"), infix=True)


def _messages(messages: list[tuple[str, Message]], version: Any, *, infix: bool) -> Iterator[Violation]:
    """Violations of a session's messages. `infix`: each has its own `info` and `parts`, as in an export."""
    names = [info.get("id") for _, (info, _) in messages]
    known: set[Any] = set()
    for place, (info, parts) in messages:
        here = f"{place}.info" if infix else place
        name = info.get("id")
        role = info.get("role")
        if role not in ("user", "assistant"):
            yield error(f"{role!r} is not a role of OpenCode", f"{here}.role")
        else:
            yield from under(here, violations(info, USER if role == "user" else ASSISTANT))
            # The reader's own doubts about the tokens are worth a warning; a copy, as reading removes the keys.
            usage = take_usage(dict(info), output_holds_reasoning(version))
            if usage is not None and (doubt := usage.extra.get(NAME, {}).get(NOTE)) is not None:
                yield warning(doubt, f"{here}.tokens")
        if isinstance(name, str) and name in known:
            yield error(f"a second message has the id {name}", f"{here}.id")
        if isinstance(name, str):
            known.add(name)
        parent = info.get("parentID")
        if isinstance(parent, str) and parent not in names:
            yield warning(f"answers {parent}, which is not in this session", f"{here}.parentID")
        for number, part in enumerate(parts):
            yield from under(f"{place}.parts[{number}]", _part(part, name))


def _part(part: Any, message: Any) -> Iterator[Violation]:
    if not isinstance(part, dict):
        yield error("must be an object")
        return
    kind = part.get("type")
    if not isinstance(kind, str):
        yield error("must be text", "type")
        return
    if kind not in PARTS:
        # Only a warning: new versions bring new types.
        yield warning(f"{kind!r} is not a known type of part", "type")
        return
    yield from violations(part, PARTS[kind])
    if kind == "tool" and isinstance(part.get("state"), dict):
        state = part["state"]
        shape = STATES.get(state["status"]) if isinstance(state.get("status"), str) else None
        if shape is not None:
            yield from violations(state, shape, "state")
    owner = part.get("messageID")
    if isinstance(owner, str) and isinstance(message, str) and owner != message:
        yield error(f"claims to belong to {owner}", "messageID")


def _line(row: Raw) -> Iterator[Violation]:
    yield from violations(row, LINE)
    if row.get("type") not in stream.TYPES:
        yield warning(f"{row.get('type')!r} is not a known type of line", "type")
    elif row["type"] == "error" and "part" not in row:
        yield from violations(row, {"error": {"name": str}})
    elif "part" not in row:
        yield error("is missing", "part")
    else:
        yield from under("part", _part(row["part"], None))


def validate(path: Path) -> Iterator[Violation]:
    """Violations of a database, a tree, a file of exports or a stream."""
    broken: list[ReadError] = []
    head = Head(path)
    if head.kind == "directory":
        for place in places(path):
            found = _database(place.path) if place.variant == "sqlite" else _tree(place.path)
            yield from under(str(place.path.relative_to(path)) if place.path != path else "", found, ", ")
    elif head.kind == "sqlite":
        yield from _database(path)
    else:
        for where, row in read_rows(path, broken.append):
            yield from under(where or "", check(row), ", ")
        yield from _as_violations(broken)


def _database(path: Path) -> Iterator[Violation]:
    broken: list[ReadError] = []
    with sqlite.reading(path) as connection:
        reader = Database(connection, path, broken.append)
        yield from _sessions(reader, broken)
        # The reader accepts such sessions as roots; here they are named.
        for name, parent in reader.rows(
            "select id, parent_id from session s where parent_id is not null and not exists"
            " (select 1 from session p where p.id = s.parent_id)"
        ):
            yield warning(f"its parent {parent} is not in this database", f"session {name}")
        for (name,) in reader.rows(
            "select distinct session_id from message where session_id not in (select id from session)"
        ):
            yield error("has messages, but no row in the table session", f"session {name}")


def _tree(storage: Path) -> Iterator[Violation]:
    broken: list[ReadError] = []
    yield from _sessions(Tree(storage, broken.append), broken)


def _sessions(reader: Database | Tree, broken: list[ReadError]) -> Iterator[Violation]:
    for session in reader.names():
        place = f"session {session}"
        about = reader.info(session)
        yield from under(place, violations(about, SESSION), ", ")
        named = [(f"message {info.get('id')}", (info, parts)) for info, parts in reader.messages(session)]
        yield from under(place, _messages(named, about.get("version"), infix=False), ", ")
        yield from _as_violations(broken)
    yield from _as_violations(broken)


def _as_violations(broken: list[ReadError]) -> Iterator[Violation]:
    for each in broken:
        place = ", ".join(part for part in (each.place, each.remedy) if part)
        yield error(each.message, place or each.path)
    broken.clear()
