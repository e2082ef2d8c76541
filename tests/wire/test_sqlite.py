"""Databases that other programs write: each reading shows one moment, and leaves everything as it was."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from pantrace.errors import ReadError
from pantrace.wire import sqlite
from pantrace.wire.read_listener import listening
from thorough import thorough

WRITER = """
import os, random, signal, sqlite3, sys, time

path, habit = sys.argv[1:]

def opened():
    database = sqlite3.connect(path, isolation_level=None, timeout=60)
    if habit == "alone":
        database.execute("pragma locking_mode = exclusive")
    database.execute("pragma synchronous = off")
    database.execute("pragma cache_size = 5")
    return database

database = opened()
print("writing", flush=True)
while True:
    database.execute("begin immediate")
    for table in ("debit", "credit"):
        for _ in range(8):
            page = (random.randbytes(900), random.randint(1, 60))
            database.execute(f"update {table} set amount = amount + 1, pad = ? where id = ?", page)
    if habit == "killed" and random.random() < 0.2:
        os.kill(os.getpid(), signal.SIGKILL)
    database.execute("commit")
    if habit == "closing":
        database.close()
        database = opened()
    if habit == "resting":
        time.sleep(3600)
"""
"""Each transaction adds the same amount to both tables, over many pages, so a mixture of two shows."""


def ledger(path: Path, mode: str) -> Path:
    """A database in which the sums of two tables are equal at every moment."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"pragma journal_mode = {mode}")
        database.execute("pragma synchronous = off")
        for table in ("debit", "credit"):
            database.execute(f"create table {table} (id integer primary key, amount int, pad blob)")
            database.execute(
                f"insert into {table} with recursive ids(id) as (select 1 union select id + 1 from ids limit 60)"
                " select id, 0, zeroblob(900) from ids"
            )
    return path


@contextmanager
def writers(path: Path, habit: str, count: int = 1) -> Iterator[None]:
    """Programs that write all the time; one that kills itself is started again."""
    loop = f"while true; do {sys.executable} -c '{WRITER}' {path} {habit} || true; done"
    if habit != "killed":
        loop = f"exec {sys.executable} -c '{WRITER}' {path} {habit}"
    with ExitStack() as stack:
        for _ in range(count):
            program = stack.enter_context(
                subprocess.Popen(
                    ["/bin/sh", "-c", loop],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
            stack.callback(os.killpg, program.pid, signal.SIGKILL)
            assert program.stdout is not None
            assert program.stdout.readline() == b"writing\n"
        yield


def sums(path: Path, patience: float = 60) -> tuple[int, int]:
    with sqlite.reading(path, patience=patience) as database:
        (debit,) = database.execute("select sum(amount) from debit").fetchone()
        time.sleep(0.001)  # room for the writers
        (credit,) = database.execute("select sum(amount) from credit").fetchone()
        assert database.execute("pragma integrity_check").fetchone()[0] == "ok"
    return debit, credit


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("mode", "habit", "count"),
    [
        pytest.param("wal", "steady", 300, marks=thorough),
        pytest.param("wal", "closing", 100, marks=thorough),
        ("wal", "killed", 50),
        pytest.param("delete", "steady", 300, marks=thorough),
        pytest.param("delete", "killed", 50, marks=thorough),
        pytest.param("truncate", "closing", 50, marks=thorough),
        ("persist", "steady", 50),
    ],
)
def test_every_reading_of_a_database_at_work_is_one_moment(tmp_path: Path, mode: str, habit: str, count: int) -> None:
    path = ledger(tmp_path / "x.db", mode)
    found: list[tuple[int, int]] = []
    until = time.monotonic() + 60
    with writers(path, habit, count=2):
        while len(found) < count or (len(set(found)) < 10 and time.monotonic() < until):
            assert set(sqlite.tables_at(path)) == {"debit", "credit"}
            found.append(sums(path))
    assert [(debit, credit) for debit, credit in found if debit != credit] == []
    assert found == sorted(found), "a later reading shows an earlier moment"
    assert len(set(found)) >= 10, "nothing was written meanwhile"


def test_a_writer_that_lets_nobody_in_is_read_by_its_log_or_not_at_all(tmp_path: Path) -> None:
    """In exclusive mode the log has no index; its files are copied between two writings or, at last, given up."""
    path = ledger(tmp_path / "x.db", "wal")
    with writers(path, "alone"):
        names = sorted(contents(tmp_path))
        assert names == ["x.db", "x.db-wal"]
        for _ in range(10):
            try:
                debit, credit = sums(path, patience=0.2)
            except ReadError as error:
                assert "is writing the database" in str(error)
            else:
                assert debit == credit
        assert sorted(contents(tmp_path)) == names


def test_a_database_that_stays_locked_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = ledger(tmp_path / "x.db", "delete")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin exclusive")
        with pytest.raises(ReadError, match=r"x\.db: another program is writing the database.* \(try again"):
            sums(path, patience=0.1)
    assert sums(path) == (0, 0)


def test_reading_holds_up_no_writer(tmp_path: Path) -> None:
    for mode in ("wal", "delete"):
        path = ledger(tmp_path / f"{mode}.db", mode)
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
            other.execute("update debit set amount = 1 where id = 1")
            with sqlite.reading(path) as database:
                other.execute("update debit set amount = 2 where id = 1")
                assert database.execute("select amount from debit where id = 1").fetchone()[0] == 1


def killed(path: Path, *orders: str) -> None:
    """A program that is killed after these orders."""
    code = (
        "import os, signal, sqlite3, sys; database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for order in sys.argv[2:]: database.execute(order)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, path, *orders], check=False)


def left_behind(folder: Path, state: str) -> tuple[Path, int]:
    """A database that no program has open any more, in one of the states programs leave; and its true amount."""
    path = ledger(folder / "x.db", "delete" if state in ("journal", "hot journal") else "wal")
    write = "update debit set amount = 7 where id = 1"
    if state == "hot journal":
        killed(path, "pragma cache_size = 2", "begin", "update debit set amount = 9, pad = randomblob(900)")
        assert (folder / "x.db-journal").stat().st_size > 0
        return path, 0
    if state in ("journal", "closed"):
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute(write)
        return path, 7
    killed(path, write)
    assert sorted(contents(folder)) == ["x.db", "x.db-shm", "x.db-wal"]
    if state == "log without index":
        (folder / "x.db-shm").unlink()
    if state == "index without log":
        (folder / "x.db-wal").unlink()
        return path, 0
    if state == "empty index":
        (folder / "x.db-shm").write_bytes(b"")
    return path, 7


STATES = ["journal", "hot journal", "closed", "killed", "log without index", "index without log", "empty index"]


@pytest.mark.parametrize("state", STATES)
def test_a_database_left_behind_is_read_whole_and_left_as_it_is(tmp_path: Path, state: str) -> None:
    path, amount = left_behind(tmp_path, state)
    before = contents(tmp_path)
    assert set(sqlite.tables_at(path)) == {"debit", "credit"}
    assert sums(path) == (amount, 0)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("state", STATES)
def test_a_copy_for_several_readers_is_whole_and_goes_with_its_holder(tmp_path: Path, state: str) -> None:
    path, amount = left_behind(tmp_path, state)
    before = contents(tmp_path)
    with ExitStack() as held:
        copy = sqlite.copy_database(path, held)
        assert Path(copy).parent != tmp_path
        for _ in range(2):
            with sqlite.reading_copy(path, copy) as database:
                [(found,)] = sqlite.rows(database, "select sum(amount) from debit")
                assert found == amount
        assert contents(tmp_path) == before
    assert not Path(copy).parent.exists()


def test_a_program_that_has_it_open_sees_no_change_either(tmp_path: Path) -> None:
    """Not even in the log's index, where SQLite notes who reads."""
    path = ledger(tmp_path / "x.db", "wal")
    with writers(path, "resting"):
        while not (tmp_path / "x.db-wal").stat().st_size:
            time.sleep(0.01)
        time.sleep(0.1)
        before = contents(tmp_path)
        assert sorted(before) == ["x.db", "x.db-shm", "x.db-wal"]
        assert set(sqlite.tables_at(path)) == {"debit", "credit"}
        assert sums(path) == (8, 8)
        assert contents(tmp_path) == before


def test_a_link_to_a_database_is_read_with_the_log_of_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path, _ = left_behind(tmp_path / "real", "log without index")
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert sums(link) == (7, 0)
    assert sorted(contents(tmp_path / "real")) == ["x.db", "x.db-wal"]


def _as_nobody(path: Path, answers: Any) -> None:
    if os.getuid() == 0:  # permissions do not bind root
        os.setgid(65534)
        os.setuid(65534)
    try:
        (path.parent / "new").touch()
    except PermissionError:
        pass
    else:
        answers.put("the folder can be written to")
        return
    try:
        answers.put((sorted(sqlite.tables_at(path)), sums(path)))
    except ReadError as error:
        answers.put(str(error))


def asked_without_rights(path: Path) -> Any:
    """What a user reads who may not write to the folder or its files."""
    for each in path.parent.iterdir():
        each.chmod(each.stat().st_mode & 0o444)
    path.parent.chmod(0o555)
    context = get_context("fork")
    answers = context.Queue()
    reader = context.Process(target=_as_nobody, args=(path, answers))
    reader.start()
    answer = answers.get(timeout=60)
    reader.join()
    path.parent.chmod(0o755)
    return answer


forking = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
"""A child that gives up its rights must be a fork: another user may not even start our Python."""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users can get to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@forking
@pytest.mark.parametrize("state", STATES)
def test_a_database_that_cannot_be_written_to_is_read_all_the_same(shared: Path, state: str) -> None:
    path, amount = left_behind(shared, state)
    before = contents(shared)
    assert asked_without_rights(path) == (["credit", "debit"], (amount, 0))
    assert contents(shared) == before


@forking
def test_a_log_that_cannot_be_read_is_an_error_that_names_it(shared: Path) -> None:
    path, _ = left_behind(shared, "killed")
    for ending in ("-wal", "-shm"):
        (shared / f"x.db{ending}").chmod(0o200)
    assert asked_without_rights(path) == f"{path}-wal: not readable (check its permissions)"


def test_an_emptied_database_keeps_its_log(tmp_path: Path) -> None:
    """SQLite deletes the log of a database without pages; someone may still need it."""
    path, _ = left_behind(tmp_path, "killed")
    path.write_bytes(b"")
    before = contents(tmp_path)
    with pytest.raises(ReadError, match="not a database"):
        sums(path)
    assert contents(tmp_path) == before


def test_nothing_stays_in_the_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "temporary"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    for state in STATES:
        (tmp_path / state).mkdir()
        path, amount = left_behind(tmp_path / state, state)
        assert sums(path) == (amount, 0)
    assert list(room.iterdir()) == []


def test_a_table_of_an_unknown_module_does_not_hide_the_others(tmp_path: Path) -> None:
    """Extensions for vectors and search put virtual tables beside ordinary ones, which need no module."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table sessions (id text, title text)")
        database.execute("pragma writable_schema = on")
        made = "CREATE VIRTUAL TABLE vectors USING vec_nobody_has(id)"
        database.execute("insert into sqlite_master values ('table', 'vectors', 'vectors', 0, ?)", (made,))
        database.commit()
    with closing(sqlite3.connect(path)) as database:
        with pytest.raises(sqlite3.OperationalError, match="no such module"):
            database.execute("pragma table_info(vectors)").fetchall()
        assert sqlite.tables(database) == {"sessions": ("id", "title")}


def test_a_count_is_not_in_the_database(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript("create table word (text); insert into word values ('one'), ('two')")
    told: list[object] = []
    with listening(lambda _, data: told.append(data)), sqlite.reading(path) as database:
        assert sqlite.number(database, "select count(*) from word") == 2
        assert told == []
        assert len([*sqlite.rows(database, "select text from word")]) == len(told) == 2
