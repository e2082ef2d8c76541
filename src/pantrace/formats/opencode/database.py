"""The database `opencode.db` (1.2 and later): sessions one by one, each with its sub-agents.

Read are the tables session, message, part, todo, project and the V2 stub session_message; never account*, credential,
control_account or the secrets in session_share. `event` repeats the same facts as they came and is not read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Sample, Source, Trajectory
from pantrace.wire import sqlite
from pantrace.wire.cuts import Cutting, by_count
from pantrace.wire.json import decode
from pantrace.wire.pace import pace, tell_place
from pantrace.wire.rows import OnBroken, raise_broken
from pantrace.wire.span import Span

from .messages import Message
from .outputs import Outputs
from .raw import NAME, Raw
from .sessions import ROWS, load_session, root_sample
from .v2 import NOTE

INPUTS = "session_input"

_RENAMED = {
    "project_id": ("projectID",),
    "workspace_id": ("workspaceID",),
    "parent_id": ("parentID",),
    "share_url": ("share", "url"),
    "tokens_cache_read": ("tokens", "cache", "read"),
    "tokens_cache_write": ("tokens", "cache", "write"),
}
"""Columns of a session, and where their values stand in an export."""
_ROOTS = (
    "select id from session s where parent_id is null or not exists (select 1 from session p where p.id = s.parent_id)"
)
_BELOW = (
    "with recursive below(id) as (select id from ({}) union select s.id from session s"
    " join below b on s.parent_id = b.id)"
)
_JSON = ("permission", "revert", "metadata", "model", "summary_diffs")


def samples(path: Path, on_broken: OnBroken, seen: set[str] | None = None) -> Iterator[Sample]:
    """Root sessions in the order of their creation, sub-agents inside; ids are noted in `seen`, if given."""
    with sqlite.reading(path) as database:
        reader = Database(database, path, on_broken)
        total = reader.root_count() if pace() is not None else 0
        for number, session in enumerate(reader.roots()):
            tell_place(number, total)
            if seen is not None:
                if session in seen:
                    continue
                seen.add(session)
            yield from root_sample(session, reader.trajectory, reader.children, path, on_broken)
        if seen is not None:
            seen.update(reader.names())


def plan(path: Path, cutting: Cutting) -> Iterator[Span]:
    """Ranges of root sessions, all of one moment."""
    if (weight := path.stat().st_size) <= cutting.size:
        return
    copy = sqlite.copied(path, cutting.held)
    with sqlite.reading_copy(path, copy) as database:
        count = sum(1 for _ in Database(database, path, raise_broken).roots())
    for span in by_count(count, weight, cutting.size):
        yield span._replace(copy=copy)


def samples_between(path: Path, span: Span, on_broken: OnBroken) -> Iterator[Sample]:
    """The root sessions of a span, in the same order as `samples` gives them."""
    with sqlite.reading_copy(path, span.copy) as database:
        reader = Database(database, path, on_broken)
        for session in [*islice(reader.roots(), span.begin, span.end)]:
            yield from root_sample(session, reader.trajectory, reader.children, path, on_broken)


class Database:
    """An open database and what is asked of it again and again."""

    def __init__(self, database: sqlite3.Connection, path: Path, on_broken: OnBroken):
        self.database = database
        self.path = path
        self.on_broken = on_broken
        self.outputs = Outputs(path.parent / "tool-output")
        tables = sqlite.tables(database)
        for name in ("session", "message", "part"):
            if name not in tables:
                raise ReadError(f"no database of OpenCode: it has no table {name}", path=str(path))
        self.columns = tables["session"]
        self.projects = self._projects() if "project" in tables else {}
        self.having = {
            name: {session for (session,) in self.rows(f"select distinct session_id from {name}")}
            for name in ("todo", ROWS, INPUTS)
            if name in tables
        }

    def rows(self, question: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return sqlite.rows(self.database, question, *values)

    def roots(self) -> Iterator[str]:
        """Sessions whose parent is not in this database; at last those that only a ring of parents holds."""
        for (session,) in self.rows(f"{_ROOTS} order by time_created, id"):
            yield session
        held: set[str] = set()
        for (session,) in self.rows(
            f"{_BELOW.format(_ROOTS)} select id from session where id not in below order by time_created, id"
        ):
            if session not in held:
                start = "select ? as id"
                held.update(name for (name,) in self.rows(f"{_BELOW.format(start)} select id from below", session))
                yield session

    def root_count(self) -> int:
        [(count,)] = self.rows(f"select count(*) from ({_ROOTS})")
        return int(count)

    def names(self) -> Iterator[str]:
        """All sessions, sub-agents too."""
        return (name for (name,) in self.rows("select id from session order by time_created, id"))

    def children(self, session: str) -> list[str]:
        found = self.rows("select id from session where parent_id = ? order by time_created, id", session)
        return [name for (name,) in found]

    def trajectory(self, session: str) -> Trajectory:
        info = self.info(session)
        beside: Raw = {}
        if (project := self.projects.get(info.get("projectID"))) is not None:
            beside["project"] = project
        if session in self.having.get("todo", ()):
            beside["todo"] = self._todos(session)
        messages = self.messages(session)
        if session in self.having.get(ROWS, ()):
            beside[ROWS] = self._v2_rows(session)
        if session in self.having.get(INPUTS, ()):
            beside[INPUTS] = self._v2_inputs(session)
        if not messages and (ROWS in beside or INPUTS in beside):
            beside["note"] = NOTE
        version = info.get("version")
        source = Source(
            format=NAME,
            version="sqlite",
            producer=f"opencode {version}" if isinstance(version, str) else None,
            path=str(self.path),
            place=f"session {session}",
        )
        return load_session(info, messages, beside, source)

    def _broken(self, message: str, place: str) -> None:
        self.on_broken(ReadError(message, path=str(self.path), place=place))

    def _object(self, data: bytes, session: str, table: str, name: Any) -> Raw | None:
        """A decoded object; a broken one is reported and left out."""
        try:
            value = decode(data or b"")
        except ReadError as error:
            self.on_broken(error.at(path=str(self.path), place=f"session {session}, {table} {name}"))
            return None
        if type(value) is not dict:
            self._broken("not a JSON object", f"session {session}, {table} {name}")
            return None
        return value

    def messages(self, session: str) -> list[Message]:
        parts: dict[str, list[Raw]] = {}
        follow = self.outputs.follow
        for name, message, data in self.rows(
            "select id, message_id, cast(data as blob) as data from part where session_id = ? order by id", session
        ):
            raw = self._object(data, session, "part", name)
            if raw is not None:
                raw["id"] = name
                if raw.get("type") == "tool":
                    follow(raw)
                parts.setdefault(message, []).append(raw)
        messages: list[Message] = []
        for name, created, data in self.rows(
            "select id, time_created, cast(data as blob) as data from message where session_id = ?"
            " order by time_created, id",
            session,
        ):
            belonging = parts.pop(name, [])
            raw = self._object(data, session, "message", name)
            if raw is not None:
                raw["id"] = name
                raw.setdefault("time", {"created": created})
                messages.append((raw, belonging))
        for name, lost in parts.items():
            self._broken(
                f"{len(lost)} parts belong to a message that is not there", f"session {session}, message {name}"
            )
        return messages

    def info(self, session: str) -> Raw:
        """The session's row in the shape in which OpenCode exports it."""
        row = next(self.rows("select * from session where id = ?", session), None)
        if row is None:
            # An index that names it and a table that has lost it.
            raise ReadError("the row of this session is lost: the database is damaged", place=f"session {session}")
        columns: Raw = {key: value for key, value in zip(self.columns, row, strict=True) if value is not None}
        for key in _JSON:
            if isinstance(columns.get(key), (str, bytes)):
                text = columns[key]
                try:
                    columns[key] = decode(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
                except ReadError as error:
                    self.on_broken(error.at(path=str(self.path), place=f"session {session}, column {key}"))
        info: Raw = {}
        for key, value in columns.items():
            *above, last = _exported(key)
            inside = info
            for each in above:
                inside = inside.setdefault(each, {})
            inside[last] = value
        return info

    def _projects(self) -> dict[Any, Raw]:
        cursor = self.database.cursor()
        cursor.row_factory = sqlite3.Row
        found = cursor.execute("select * from project")
        return {row["id"]: {key: row[key] for key in row.keys() if row[key] is not None} for row in found}  # noqa: SIM118

    def _todos(self, session: str) -> list[Raw]:
        found = self.rows("select content, status, priority from todo where session_id = ? order by position", session)
        return [{"content": content, "status": status, "priority": priority} for content, status, priority in found]

    def _v2_rows(self, session: str) -> list[Raw]:
        rows = []
        for name, kind, seq, created, data in self.rows(
            f"select id, type, seq, time_created, cast(data as blob) as data from {ROWS} where session_id = ?"
            " order by seq",
            session,
        ):
            value = self._object(data, session, ROWS, name)
            if value is not None:
                rows.append({"id": name, "type": kind, "seq": seq, "time_created": created, "data": value})
        return rows

    def _v2_inputs(self, session: str) -> list[Raw]:
        rows = []
        for name, delivery, created, data in self.rows(
            f"select id, delivery, time_created, cast(prompt as blob) from {INPUTS} where session_id = ?"
            " order by admitted_seq",
            session,
        ):
            prompt = self._object(data, session, INPUTS, name)
            if prompt is not None:
                rows.append({"id": name, "delivery": delivery, "time_created": created, "prompt": prompt})
        return rows


@lru_cache(256)
def _exported(column: str) -> tuple[str, ...]:
    """Where a column of a session stands in an export: "tokens_cache_read" -> ("tokens", "cache", "read")."""
    if column in _RENAMED:
        return _RENAMED[column]
    first, _, second = column.partition("_")
    return (first, second) if first in ("summary", "tokens", "time") and second else (column,)


def has_its_tables(tables: dict[str, tuple[str, ...]]) -> bool:
    """Whether tables and columns are those of OpenCode."""
    return (
        {"id", "project_id", "directory"} <= set(tables.get("session", ()))
        and {"id", "session_id", "data"} <= set(tables.get("message", ()))
        and {"id", "message_id", "session_id", "data"} <= set(tables.get("part", ()))
    )
