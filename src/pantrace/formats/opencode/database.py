"""Reads the database `opencode.db` (1.2 and later): sessions one by one, each with its sub-agents.

It reads the tables session, message, part, todo, project, and the V2 tables session_message and session_input. It never
reads account*, credential, control_account or the secrets in session_share. `event` repeats the same data as a log and
is not read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Sample, Source, Trajectory
from pantrace.wire import sqlite
from pantrace.wire.input_cuts import Cutting, by_count
from pantrace.wire.input_span import Span
from pantrace.wire.json import decode, decode_each
from pantrace.wire.progress import current_progress, report_place
from pantrace.wire.rows import OnBroken, raise_broken

from .long_outputs import Outputs
from .messages import Message
from .sessions import ROWS, load_session, root_sample
from .taken_keys import NAME, Raw
from .v2_rows import NOTE

INPUTS = "session_input"

_EXPORTED_AS = {
    "project_id": ("projectID",),
    "workspace_id": ("workspaceID",),
    "parent_id": ("parentID",),
    "share_url": ("share", "url"),
    "summary_additions": ("summary", "additions"),
    "summary_deletions": ("summary", "deletions"),
    "summary_files": ("summary", "files"),
    "summary_diffs": ("summary", "diffs"),
    "tokens_input": ("tokens", "input"),
    "tokens_output": ("tokens", "output"),
    "tokens_reasoning": ("tokens", "reasoning"),
    "tokens_cache_read": ("tokens", "cache", "read"),
    "tokens_cache_write": ("tokens", "cache", "write"),
    "time_created": ("time", "created"),
    "time_updated": ("time", "updated"),
    "time_compacting": ("time", "compacting"),
    "time_archived": ("time", "archived"),
}
"""Columns of a session, and where an export has their values; the others have the same name there."""
_ROOTS = "from session s where parent_id is null or not exists (select 1 from session p where p.id = s.parent_id)"
_BELOW = (
    "with recursive below(id) as (select id from ({}) union select s.id from session s"
    " join below b on s.parent_id = b.id)"
)
# Text is fetched as bytes: text that is not UTF-8 must be reported, and must not stop the reading.
# Parts are sorted by id, not by `time_created`: the migration from JSON files gave every part the time of the
# migration, which put 19 of 35 messages in the wrong order.
_PARTS = "select id, message_id, cast(data as blob) as data from part where session_id = ?"
_MESSAGES = (
    # By time first: ids wrap around every 2.18 years (last on 2026-08-14), so older ones can sort later.
    "select id, time_created, cast(data as blob) as data from message where session_id = ? order by time_created, id"
)
_V2_ROWS = (
    f"select id, type, seq, time_created, cast(data as blob) as data from {ROWS} where session_id = ? order by seq"
)
_V2_INPUTS = (
    f"select id, delivery, time_created, cast(prompt as blob) from {INPUTS} where session_id = ? order by admitted_seq"
)
_AT_ONCE = 256
"""How many rows of a session are decoded together; more would need more memory and be no faster."""
_JSON = ("permission", "revert", "metadata", "model", "summary_diffs")


def samples(path: Path, on_broken: OnBroken, seen: set[str] | None = None) -> Iterator[Sample]:
    """Root sessions in order of creation, sub-agents inside; ids are added to `seen` if given."""
    with sqlite.reading(path) as database:
        reader = Database(database, path, on_broken)
        total = reader.root_count() if current_progress() is not None else 0
        for number, session in enumerate(reader.roots()):
            report_place(number, total)
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
    copy = sqlite.copy_database(path, cutting.held)
    with sqlite.reading_copy(path, copy) as database:
        count = sum(1 for _ in Database(database, path, raise_broken).roots())
    for span in by_count(count, weight, cutting.size):
        yield span._replace(copy=copy)


def samples_between(path: Path, span: Span, on_broken: OnBroken) -> Iterator[Sample]:
    """The root sessions of a span, in the order of `samples`."""
    with sqlite.reading_copy(path, span.copy) as database:
        reader = Database(database, path, on_broken)
        for session in [*islice(reader.roots(), span.begin, span.end)]:
            yield from root_sample(session, reader.trajectory, reader.children, path, on_broken)


class Database:
    """An open database, with the answers that every session needs."""

    def __init__(self, database: sqlite3.Connection, path: Path, on_broken: OnBroken):
        self.database = database
        self.path = path
        self.on_broken = on_broken
        self.outputs = Outputs(path.parent / "tool-output")
        tables = sqlite.tables(database)
        # `--from opencode` skips detection, so any database may come here.
        for name in ("session", "message", "part"):
            if name not in tables:
                raise ReadError(f"not an OpenCode database: it has no table {name}", path=str(path))
        self.places = [(column, *_EXPORTED_AS.get(column, (column,))) for column in tables["session"]]
        self.met: tuple[Any, Any] = None, None
        """The last session that `roots` returned, and its row, so that `info` need not query it again."""
        self.projects = self._projects() if "project" in tables else {}
        # Most sessions have none of these: one query for each table is cheaper than one for each session.
        self.having = {
            name: {session for (session,) in self.rows(f"select distinct session_id from {name}")}
            for name in ("todo", ROWS, INPUTS)
            if name in tables
        }
        # One query for all: most sessions have no sub-agents, and asking for each costs as much as reading its row.
        self.parents = {name for (name,) in self.rows("select distinct parent_id from session")}

    def rows(self, question: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return sqlite.rows(self.database, question, *values)

    def roots(self) -> Iterator[str]:
        """Sessions whose parent is not in this database; last, sessions in a ring of parents, which have no root."""
        for session, *row in self.rows(f"select id, * {_ROOTS} order by time_created, id"):
            self.met = session, row
            yield session
        held: set[str] = set()
        below = _BELOW.format(f"select id {_ROOTS}")
        for (session,) in self.rows(f"{below} select id from session where id not in below order by time_created, id"):
            if session not in held:
                start = "select ? as id"
                held.update(name for (name,) in self.rows(f"{_BELOW.format(start)} select id from below", session))
                yield session

    def root_count(self) -> int:
        return sqlite.number(self.database, f"select count(*) {_ROOTS}")

    def names(self) -> Iterator[str]:
        """All sessions, including sub-agents."""
        return (name for (name,) in self.rows("select id from session order by time_created, id"))

    def children(self, session: str) -> list[str]:
        if session not in self.parents:
            return []
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
        # A session of the V2 API would otherwise look empty without an explanation.
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

    def _report_broken(self, message: str, place: str) -> None:
        self.on_broken(ReadError(message, path=str(self.path), place=place))

    def _objects(
        self, table: str, question: str, session: str, ordered: bool = True
    ) -> Iterator[tuple[Raw | None, tuple[Any, ...]]]:
        """Rows of a table with the JSON object of their last column; None for a broken one, which is reported. If they
        are not `ordered`, they are sorted by id."""
        found = sqlite.all_rows(self.database, question, session)
        if not ordered:
            # Sorted here: SQLite would carry the whole text of each row through its sorter.
            found.sort(key=_id_of)
        for begin in range(0, len(found), _AT_ONCE):
            rows = found[begin : begin + _AT_ONCE]
            values = decode_each([row[-1] or b"" for row in rows])
            # One bad row spoils the batch; row by row, the bad one can be named and the others kept.
            if values is None or set(map(type, values)) != {dict}:
                values = [self._object(row, table, session) for row in rows]
            yield from zip(values, rows, strict=True)

    def _object(self, row: tuple[Any, ...], table: str, session: str) -> Raw | None:
        place = f"session {session}, {table} {row[0]}"
        try:
            value = decode(row[-1] or b"")
        except ReadError as error:
            self.on_broken(error.at(path=str(self.path), place=place))
            return None
        if type(value) is dict:
            return value
        self._report_broken("not a JSON object", place)
        return None

    def messages(self, session: str) -> list[Message]:
        """The messages of a session with their parts, decoded for this call only."""
        parts: dict[str, list[Raw]] = {}
        belonging: list[Raw] = []
        last: Any = None
        longer = self.outputs.exists
        for raw, (name, message, _) in self._objects("part", _PARTS, session, ordered=False):
            if raw is not None:
                raw["id"] = name
                if longer and raw.get("type") == "tool":
                    self.outputs.follow(raw)
                # Parts of one message are usually together, but ids wrap around every 2.18 years, so not always.
                if message != last:
                    belonging, last = parts.setdefault(message, []), message
                belonging.append(raw)
        messages: list[Message] = []
        for raw, (name, created, _) in self._objects("message", _MESSAGES, session):
            belonging = parts.pop(name, [])
            if raw is not None:
                raw["id"] = name
                # The row's own time, which older versions did not repeat in the JSON.
                if "time" not in raw:
                    raw["time"] = {"created": created}
                messages.append((raw, belonging))
        for name, lost in parts.items():
            self._report_broken(f"{len(lost)} parts belong to a missing message", f"session {session}, message {name}")
        return messages

    def info(self, session: str) -> Raw:
        """The session's row in the shape of OpenCode's export."""
        name, row = self.met
        if name != session:
            row = next(self.rows("select * from session where id = ?", session), None)
        if row is None:
            # The index still has the session, but its row is gone.
            raise ReadError("the row of this session is lost: the database is damaged", place=f"session {session}")
        info: Raw = {}
        for value, (column, *above, last) in zip(row, self.places, strict=True):
            if value is None:
                continue
            inside = info
            for each in above:
                inside = inside.setdefault(each, {})
            inside[last] = self._decode_column(value, session, column) if column in _JSON else value
        return info

    def _decode_column(self, value: Any, session: str, column: str) -> Any:
        """A column's JSON value; broken JSON stays text and is reported."""
        if not isinstance(value, (str, bytes)):
            return value
        try:
            return decode(value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value)
        except ReadError as error:
            self.on_broken(error.at(path=str(self.path), place=f"session {session}, column {column}"))
            return value

    def _projects(self) -> dict[Any, Raw]:
        cursor = self.database.cursor()
        cursor.row_factory = sqlite3.Row
        found = cursor.execute("select * from project")
        return {row["id"]: {key: row[key] for key in row.keys() if row[key] is not None} for row in found}  # noqa: SIM118

    def _todos(self, session: str) -> list[Raw]:
        found = self.rows("select content, status, priority from todo where session_id = ? order by position", session)
        return [{"content": content, "status": status, "priority": priority} for content, status, priority in found]

    def _v2_rows(self, session: str) -> list[Raw]:
        return [
            {"id": name, "type": kind, "seq": seq, "time_created": created, "data": value}
            for value, (name, kind, seq, created, _) in self._objects(ROWS, _V2_ROWS, session)
            if value is not None
        ]

    def _v2_inputs(self, session: str) -> list[Raw]:
        return [
            {"id": name, "delivery": delivery, "time_created": created, "prompt": prompt}
            for prompt, (name, delivery, created, _) in self._objects(INPUTS, _V2_INPUTS, session)
            if prompt is not None
        ]


def _id_of(row: tuple[Any, ...]) -> tuple[bool, Any]:
    """The key that SQLite sorts ids by: text by its bytes, then everything that is not text."""
    return type(row[0]) is not str, row[0]


def has_its_tables(tables: dict[str, tuple[str, ...]]) -> bool:
    """Whether the tables and columns are OpenCode's."""
    return (
        # Names alone are not enough: other tools have tables called session and message, too.
        {"id", "project_id", "directory"} <= set(tables.get("session", ()))
        and {"id", "session_id", "data"} <= set(tables.get("message", ()))
        and {"id", "message_id", "session_id", "data"} <= set(tables.get("part", ()))
    )
