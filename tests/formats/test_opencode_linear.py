"""Reading a database of OpenCode takes as many questions, decodings and steps of SQLite as it has rows."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from goldens import ROOT
from pantrace.formats.opencode.database import Database
from pantrace.formats.opencode.sessions import root_sample
from pantrace.model import all_trajectories
from pantrace.wire import sqlite
from pantrace.wire.rows import raise_broken

GOLDEN = ROOT / "opencode" / "database-1.18.33" / "opencode.db"
IDS = ("id", "session_id", "message_id", "parent_id")


class Work(NamedTuple):
    """What one reading took."""

    questions: int
    decodings: int
    steps_of_sqlite: int
    sessions: int
    messages: int


def grown(folder: Path, *, sessions: int, messages: int) -> Path:
    """The golden database with so many copies of each session, and of each message and part in them."""
    path = folder / f"{sessions}-{messages}.db"
    shutil.copy(GOLDEN, path)
    with sqlite3.connect(path) as database:
        database.execute("pragma foreign_keys = off")
        for table, copies in (("session", 1), ("message", messages), ("part", messages)):
            columns = [row[1] for row in database.execute(f"pragma table_info({table})")]
            rows = database.execute(f"select * from {table}").fetchall()
            database.execute(f"delete from {table}")
            marks = ", ".join("?" * len(columns))
            for session in range(sessions):
                for copy in range(copies):
                    told = [[_renamed(*cell, session, copy) for cell in zip(columns, row, strict=True)] for row in rows]
                    database.executemany(f"insert into {table} values ({marks})", told)
    database.close()
    return path


def _renamed(column: str, value: Any, session: int, copy: int) -> Any:
    if column not in IDS or value is None:
        return value
    return f"{value}.{session}" if value.startswith("ses_") else f"{value}.{session}.{copy}"


def work(path: Path) -> Work:
    counted: Counter[str] = Counter()

    def tell(_frame: Any, event: str, called: Any) -> None:
        counted["decodings"] += event == "c_call" and called.__name__ == "decode"

    with sqlite.reading(path) as connection:
        connection.set_trace_callback(lambda _: counted.update(questions=1))
        connection.set_progress_handler(lambda: counted.update(steps=100), 100)
        sys.setprofile(tell)
        try:
            reader = Database(connection, path, raise_broken)
            samples = [
                sample
                for session in reader.roots()
                for sample in root_sample(session, reader.trajectory, reader.children, path, raise_broken)
            ]
        finally:
            sys.setprofile(None)
    found = [
        each for sample in samples for each in all_trajectories(sample.trajectory) if sample.trajectory is not None
    ]
    return Work(
        counted["questions"],
        counted["decodings"],
        counted["steps"],
        len(found),
        sum(len(each.steps) for each in found),
    )


@pytest.mark.parametrize("more", ["sessions", "messages"])
def test_twice_the_rows_take_twice_the_work(more: str, tmp_path: Path) -> None:
    few, many = (work(grown(tmp_path, **{"sessions": 2, "messages": 2, more: count})) for count in (4, 8))
    assert many.messages >= 2 * few.messages * 0.9
    assert many.questions <= 2 * few.questions
    assert many.decodings <= 2 * few.decodings
    # SQLite sorts the sessions and looks rows up in indices: a little more than twice.
    assert many.steps_of_sqlite <= 2.3 * few.steps_of_sqlite


def test_a_session_takes_two_questions_however_many_messages_it_has(tmp_path: Path) -> None:
    one, more = (work(grown(tmp_path, sessions=1, messages=count)) for count in (1, 5))
    assert more.messages > 4 * one.messages
    assert more.questions == one.questions
    twice = work(grown(tmp_path, sessions=2, messages=1))
    # Messages, parts; and for those of which there are any: sub-agents, their rows, todos, rows of the V2 tables.
    assert (twice.questions - one.questions) / one.sessions < 3
