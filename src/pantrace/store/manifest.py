"""The manifest says which parts count: a small SQLite database with a write-ahead log, readable meanwhile."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from pantrace.errors import ReadError
from pantrace.model import Record
from pantrace.wire import sqlite

_TABLES = """
create table if not exists parts (
    sequence integer primary key autoincrement,
    part text not null unique,
    profile text,
    written_at real not null
);
create table if not exists files (
    part text not null,
    name text not null,
    file text not null,
    rows integer not null,
    bytes integer not null,
    primary key (part, name)
);
"""


class PartFile(Record, frozen=True, kw_only=True):
    """A Parquet file that counts."""

    table: str
    file: str
    """Its name in `parts/`."""
    rows: int
    bytes: int


class CommittedPart(Record, frozen=True, kw_only=True):
    """A part that counts."""

    part: str
    sequence: int
    """Order of commits."""
    profile: str | None = None
    """Set when the part holds decisions that replace older ones of this profile."""
    files: tuple[PartFile, ...] = ()

    def file(self, table: str) -> PartFile | None:
        """Its file of that table; None when the table has no rows in it."""
        return next((each for each in self.files if each.table == table), None)


class Manifest:
    """The manifest in the hands of the one writer."""

    def __init__(self, path: Path):
        self._path = path
        self._database = sqlite3.connect(path, isolation_level=None)
        try:
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = full")
            self._database.executescript(_TABLES)
            self.parts = {each.part: each for each in _committed(self._database)}
        except sqlite3.Error:
            self._database.close()
            raise
        self._identity = _identity(path)

    def commit(self, part: str, files: Iterable[PartFile], *, profile: str | None = None) -> None:
        """Make a part count, in one transaction. One that is renewed keeps its place in the order of commits;
        decisions made again take the newest."""
        files = tuple(files)
        execute = self._database.execute
        execute("begin immediate")
        try:
            if profile is not None:
                execute("delete from parts where part = ?", (part,))
            execute(
                "insert into parts (part, profile, written_at) values (?, ?, ?) "
                "on conflict (part) do update set written_at = excluded.written_at",
                (part, profile, time.time()),
            )
            execute("delete from files where part = ?", (part,))
            self._database.executemany(
                "insert into files (part, name, file, rows, bytes) values (?, ?, ?, ?, ?)",
                [(part, each.table, each.file, each.rows, each.bytes) for each in files],
            )
            (sequence,) = execute("select sequence from parts where part = ?", (part,)).fetchone()
            execute("commit")
        except BaseException:
            if self._database.in_transaction:
                execute("rollback")
            raise
        if _identity(self._path) != self._identity:
            # Written into a file that has no name any more.
            raise FileNotFoundError(2, "the directory was removed or replaced while it was written")
        self.parts[part] = CommittedPart(part=part, sequence=sequence, profile=profile, files=files)

    def close(self) -> None:
        """Close the database; its log goes into it."""
        self._database.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_whole(path: Path, file: PartFile) -> bool:
    """Whether a file is there in its size; a part is only ever replaced as a whole."""
    try:
        return path.stat().st_size == file.bytes
    except OSError:
        return False


def committed_parts(path: Path) -> list[CommittedPart]:
    """The parts that count at this moment, by name; another process may be writing."""
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=30)) as database:
            return _committed(database)
    except sqlite3.OperationalError:
        # Where nothing can be written there is no room for the log's index, and no writer either: read it as foreign.
        with sqlite.reading(path) as database:
            return _committed(database)
    except sqlite3.Error as error:
        raise ReadError(f"the manifest of the run cannot be read: {error}", path=str(path)) from None


def _committed(database: sqlite3.Connection) -> list[CommittedPart]:
    rows = database.execute(
        "select part, sequence, profile, name, file, rows, bytes from parts left join files using (part) "
        "order by part, name"
    )
    found: dict[str, CommittedPart] = {}
    files: dict[str, list[PartFile]] = {}
    for part, sequence, profile, table, file, count, size in rows:
        found.setdefault(part, CommittedPart(part=part, sequence=sequence, profile=profile))
        if table is not None:
            files.setdefault(part, []).append(PartFile(table=table, file=file, rows=count, bytes=size))
    return [
        CommittedPart(part=part, sequence=each.sequence, profile=each.profile, files=tuple(files.get(part, ())))
        for part, each in found.items()
    ]
