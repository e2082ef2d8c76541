"""SQLite databases of other programs: read as of one moment, never changed, with no new files next to them.

The other program may write at any time. There are three ways to see one moment all the same:

- With a write-ahead log and its index (`-wal`, `-shm`): one read transaction, held while reading. Writers go on; the
  index is opened read-only, too, so that not even a read mark is left in it.
- With a rollback journal: a read transaction blocks writers, so the file is copied inside one, which is brief, and
  the copy is read.
- If SQLite would have to write next to the database (a log without its index, the journal of a killed program) or
  cannot lock it: a private copy of the files, repeated until nothing changed while copying. Two equal readings show
  that all of it existed at the moment between them; SQLite then repairs the copy as after a crash.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pantrace.errors import ReadError

from .files import read_error
from .limits import TooLarge, limits
from .private_folder import private_folder
from .read_listener import listener, rows_listener
from .table_row import TableRow

PATIENCE = 5.0
"""Seconds after which we give up on a database that is written all the time."""
_UNUSABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_BUSY,
}
"""Errors of a database that can still be read as a copy: a right, a lock or a file next to it is missing."""

Mark = tuple[int, int, int]


@contextmanager
def reading(path: Path, *, patience: float = PATIENCE) -> Iterator[sqlite3.Connection]:
    """A connection to the database's content as of now."""
    with ExitStack() as held, _explain_errors(path):
        database = _snapshot(path, held, patience, briefly=False)
        database.row_factory = sqlite3.Row if listener() is None else _row
        yield database


def copy_database(path: Path, held: ExitStack) -> str:
    """Copy the database's content as of now to a file that lives as long as `held`, so that several readers see the
    same moment."""
    with _explain_errors(path), ExitStack() as trying:
        database = _snapshot(path, trying, PATIENCE, briefly=False)
        [(*_, name)] = database.execute("pragma database_list").fetchall()
        # A snapshot that is a private copy itself need not be copied again, unless a part of it is in a log.
        if not path.samefile(name) and len(_change_marks(Path(name))) == 1:
            database.close()
            held.enter_context(trying.pop_all())
            return str(name)
        copy = held.enter_context(private_folder()) / "copy.db"
        with closing(sqlite3.connect(copy)) as target:
            database.backup(target)
    return str(copy)


@contextmanager
def reading_copy(path: Path, copy: str | None) -> Iterator[sqlite3.Connection]:
    """Connect to a copy that `copy_database` made, or to the database itself if there is none (on another machine)."""
    if copy is None or not Path(copy).exists():
        with reading(path) as database:
            yield database
        return
    with _explain_errors(path), closing(_connect_to_copy(Path(copy))) as database:
        database.row_factory = sqlite3.Row if listener() is None else _row
        yield database


def rows(database: sqlite3.Connection, question: str, *values: Any) -> Iterator[tuple[Any, ...]]:
    """The answers of a query as plain tuples."""
    cursor = database.cursor()
    cursor.row_factory = None if listener() is None else _row_reporter()
    return cursor.execute(question, values)


def number(database: sqlite3.Connection, question: str) -> int:
    """The answer of a query that counts. The database does not hold it, so nobody is told that it was read."""
    cursor = database.cursor()
    cursor.row_factory = None
    [(found,)] = cursor.execute(question).fetchall()
    return int(found)


def all_rows(database: sqlite3.Connection, question: str, *values: Any) -> list[tuple[Any, ...]]:
    """All answers of a query, for callers who want them at once: with many rows this takes less time."""
    if (tell := rows_listener()) is None:
        return list(rows(database, question, *values))
    cursor = database.cursor()
    cursor.row_factory = None
    found = cursor.execute(question, values).fetchall()
    tell(tuple([column[0] for column in cursor.description]), found)
    return found


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> sqlite3.Row:
    return sqlite3.Row(cursor, _report_row(cursor, values))


def _report_row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return _row_reporter()(cursor, values)


def _row_reporter() -> Callable[[sqlite3.Cursor, tuple[Any, ...]], tuple[Any, ...]]:
    """A row factory that reports each row of one query. Column names are kept, because SQLite builds them again each
    time."""
    names: tuple[str, ...] = ()

    def told(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal names
        if (tell := listener()) is not None:
            names = names or tuple([column[0] for column in cursor.description])
            # The hash identifies a row: keeping the rows themselves would keep the whole database in memory.
            tell(hash((names, values)), TableRow(names, values))
        return values

    return told


def tables_at(path: Path) -> dict[str, tuple[str, ...]]:
    """The tables of the database at a path as of now; nothing is copied if it can be read in place."""
    with ExitStack() as held, _explain_errors(path):
        found = _tables_at_rest(path.resolve())
        return tables(_snapshot(path, held, PATIENCE, briefly=True)) if found is None else found


def tables(database: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Table names with their columns."""
    cursor = database.cursor()
    cursor.row_factory = None
    # Virtual tables are left out: a module or an option that this SQLite lacks must not hide the others.
    ordinary = "select name from sqlite_master where type = 'table' and sql not like 'create virtual table%'"
    names = [row[0] for row in cursor.execute(ordinary).fetchall()]
    return {name: tuple(row[1] for row in cursor.execute(f'pragma table_info("{name}")')) for name in names}


def _tables_at_rest(real: Path) -> dict[str, tuple[str, ...]] | None:
    """The tables of a database for which SQLite would create a log, read without locks; None if that is not safe."""
    before = _change_marks(real)
    if len(before) > 1 or not _is_logged(real):
        return None
    with closing(_connect(real, "mode=ro&immutable=1")) as database:
        found = tables(database)
    return found if _change_marks(real) == before else None


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the system into a ReadError with a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(path) from None
        raise read_error(Path(error.filename or path), error) from None
    except (sqlite3.Error, UnicodeDecodeError) as error:  # messages quote a damaged schema, which may not be UTF-8
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            raise _no_room(path) from None
        if isinstance(error, sqlite3.DataError):  # "string or blob too big"
            raise TooLarge.record("a row").at(path=str(path)) from None
        raise ReadError(
            f"cannot be read as a SQLite database: {error}", path=str(path), remedy="it may be cut off or damaged"
        ) from None


def _no_room(path: Path) -> ReadError:
    return ReadError(
        "no room for a private copy of the database", path=str(path), remedy="set TMPDIR to a folder with more room"
    )


def _snapshot(path: Path, held: ExitStack, patience: float, *, briefly: bool) -> sqlite3.Connection:
    """A connection that sees one moment; `briefly`: it is closed at once, so a lock may be held until then."""
    until = time.monotonic() + patience
    pause = 0.0
    while (
        found := _try_snapshot(path.resolve(), held, patience, briefly=briefly)
    ) is None and time.monotonic() < until:
        time.sleep(pause := min(pause + 0.01, 0.25))
    if found is None:
        raise ReadError(
            "another program is writing the database, and it could not be read whole",
            path=str(path),
            remedy="try again, or close that program",
        )
    return found


def _try_snapshot(real: Path, held: ExitStack, patience: float, *, briefly: bool) -> sqlite3.Connection | None:
    """One attempt at a snapshot; None if a writer was in the way."""
    logged = _is_logged(real)
    try:
        if not logged:
            database = _begin_reading(real, held, "mode=ro", patience)
            return database if briefly else _copy_in_transaction(real, database, held)
        if all(_companion(real, ending).exists() for ending in ("-wal", "-shm")):
            return _begin_reading(real, held, "mode=ro&readonly_shm=1", patience)
    except sqlite3.OperationalError as error:
        kind = error.sqlite_errorcode & 0xFF  # the higher bits are only details
        if kind == sqlite3.SQLITE_BUSY and not logged:
            return None  # a copy of the files would not help: the writer may have the old pages only in memory
        if kind not in _UNUSABLE:
            raise
    copy = _private_copy(real, held)
    return None if copy is None else _begin_reading(copy, held, "mode=rw")


def _is_logged(real: Path) -> bool:
    """Whether the database has a write-ahead log: its header says so, or there is one."""
    with real.open("rb") as file:
        header = file.read(100)
    if len(header) < 100:  # SQLite would delete the log of an empty database
        raise sqlite3.DatabaseError("file is not a database")
    # Byte 19 of SQLite's header is the read version: 2 means write-ahead log.
    return header[19] == 2 or "-wal" in _change_marks(real)


def _begin_reading(real: Path, held: ExitStack, how: str, patience: float = 0) -> sqlite3.Connection:
    """A connection with an open read transaction."""
    with ExitStack() as trying:
        database = trying.enter_context(closing(_connect(real, how, patience)))
        database.execute("begin")
        # `begin` alone fixes nothing: only the first read makes the transaction see one moment.
        database.execute("select count(*) from sqlite_master").fetchone()
        held.enter_context(trying.pop_all())
    return database


def _connect(real: Path, how: str, patience: float = 0) -> sqlite3.Connection:
    # Quoted: a path may have a ? or a # in it.
    address = f"file:{quote(os.fsencode(real))}?{how}"
    database = sqlite3.connect(address, uri=True, timeout=patience, isolation_level=None)
    _limit_row_size(database)
    return database


def _limit_row_size(database: sqlite3.Connection) -> None:
    """Let SQLite refuse a row that is larger than a record may be, before it is in memory."""
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(limits().record, 2**31 - 1))


def _connect_to_copy(copy: Path) -> sqlite3.Connection:
    """Connect to a file that is ours alone: nobody changes it, so its pages can be mapped instead of copied."""
    database = _connect(copy, "mode=ro&immutable=1")
    database.execute(f"pragma mmap_size = {copy.stat().st_size}")
    return database


def _copy_in_transaction(real: Path, database: sqlite3.Connection, held: ExitStack) -> sqlite3.Connection:
    """Copy the file while a read transaction keeps writers out; the original is released at once."""
    # With a rollback journal, everything committed is in the file. SQLite's own backup copies page by page and takes
    # seven times as long. Closing the copied file drops the lock (POSIX), which is not needed any more.
    folder = held.enter_context(private_folder())
    shutil.copyfile(real, folder / real.name)
    database.close()
    return held.enter_context(closing(_connect_to_copy(folder / real.name)))


def _private_copy(real: Path, held: ExitStack) -> Path | None:
    """A private copy of the database with its log or journal; None if one of them changed meanwhile."""
    before = _change_marks(real)
    with ExitStack() as trying:
        folder = trying.enter_context(private_folder())
        pairs = [(_companion(real, ending), folder / f"{real.name}{ending}") for ending in before]
        try:
            for source, copy in pairs:
                shutil.copyfile(source, copy)
            # File times are too coarse to show a second write in the same tick, so the bytes are compared.
            if not all(_is_same(source, copy) for source, copy in pairs) or _change_marks(real) != before:
                return None
        except FileNotFoundError:
            real.stat()  # only a log may disappear; a missing database is an error
            return None
        held.enter_context(trying.pop_all())
    return folder / real.name


def _change_marks(real: Path) -> dict[str, Mark]:
    """Inode, size and time of the database ("") and of its log or journal, to see whether one changed."""
    found = {"": real.stat()}
    for ending in ("-wal", "-journal"):
        try:
            found[ending] = _companion(real, ending).stat()
        except FileNotFoundError:
            continue
    return {
        ending: (each.st_ino, each.st_size, each.st_mtime_ns)
        for ending, each in found.items()
        if each.st_size or not ending
    }


def _companion(real: Path, ending: str) -> Path:
    return real.with_name(real.name + ending)


def _is_same(one: Path, other: Path) -> bool:
    with one.open("rb") as left, other.open("rb") as right:
        while piece := left.read(1 << 20):
            if piece != right.read(1 << 20):
                return False
        return not right.read(1)
