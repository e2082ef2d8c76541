"""Session stores read while their program writes: what a transaction holds together is read together."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pantrace import read
from pantrace.model import Text, Trajectory
from thorough import quick

GOLDEN = Path(__file__).parents[1] / "golden"

OPENCODE = """
import json, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
database.execute("pragma synchronous = off")
(session,) = database.execute("select id from session").fetchone()
for number in range(10_000):
    now, name = 2_000_000_000_000 + number, f"msg_z{number:06}"
    database.execute("begin immediate")
    for part in "abc":
        data = json.dumps({"type": "text", "text": f"{number} " + part * 3000})
        values = (f"prt_z{number:06}{part}", name, session, now, now, data)
        database.execute("insert into part values (?, ?, ?, ?, ?, ?)", values)
    database.execute("insert into message values (?, ?, ?, ?, ?)", (name, session, now, now, '{"role": "user"}'))
    database.execute("commit")
    time.sleep(0.002)
    if number == 0:
        print("writing", flush=True)
"""
ADK = """
import json, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
database.execute("pragma synchronous = off")
app, user, session = database.execute("select app_name, user_id, id from sessions").fetchone()
for number in range(1, 10_000):
    data = json.dumps({"author": "user", "invocation_id": "i", "content": {"parts": [{"text": "x" * 9000}]}})
    database.execute("begin immediate")
    values = (f"z{number}", app, user, session, "i", 2e9 + number, data)
    database.execute("insert into events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)"
        " values (?, ?, ?, ?, ?, ?, ?)", values)
    database.execute("update sessions set state = ?", (json.dumps({"written": number}),))
    database.execute("commit")
    time.sleep(0.002)
    if number == 1:
        print("writing", flush=True)
"""


@contextmanager
def written(path: Path, program: str) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        try:
            yield
        finally:
            writer.kill()


def only(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


@pytest.mark.parametrize("mode", quick({"wal"}, ("wal", "delete")))
def test_an_opencode_database_at_work_has_no_half_messages(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "opencode.db"
    shutil.copy(GOLDEN / "opencode" / "todo.db", path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"pragma journal_mode = {mode}")
    counts = set()
    with written(path, OPENCODE):
        for source in [path, tmp_path] * 10:
            steps = [step for step in only(source).steps if (step.id or "").startswith("msg_z")]
            said = [[part.text for part in step.parts if isinstance(part, Text)] for step in steps]
            expected = [[f"{number} {part * 3000}" for part in "abc"] for number in range(len(steps))]
            assert said == expected
            counts.add(len(steps))
    assert len(counts) > 1, "nothing was written meanwhile"


@pytest.mark.parametrize("mode", quick({"wal"}, ("wal", "delete")))
def test_an_adk_store_at_work_has_as_many_events_as_its_state_says(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "sessions.db"
    shutil.copy(GOLDEN / "adk-session" / "sqlite_session_service.sqlite", path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"pragma journal_mode = {mode}")
    before = len(only(path).steps)
    counts = set()
    with written(path, ADK):
        for _ in range(20):
            found = only(path)
            assert found.state is not None
            assert found.state["written"] == len(found.steps) - before
            counts.add(len(found.steps))
    assert len(counts) > 1, "nothing was written meanwhile"
