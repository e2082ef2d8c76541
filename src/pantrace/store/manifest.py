"""The manifest says which parts count: a small SQLite database with a write-ahead log, readable while it is written.

SQLite does not notice a flipped bit in its file. So the rows are sealed: the table `seal` has the exclusive or of the
hashes of all rows, which a writer can update at the cost of only the rows it changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from hashlib import sha256
from os import fspath
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Record
from pantrace.wire import sqlite

from .durable import database_files, refuse_special, renewal
from .json_text import from_exact_json

COLUMNS = {
    "parts": ("sequence", "part", "profile", "written_at"),
    "files": ("part", "name", "file", "rows", "bytes", "sha256"),
    "aside": ("part", "since", "record"),
    "intakes": ("input", "fingerprint", "record"),
    "facts": ("name", "value"),
}

Rows = dict[str, list[tuple[Any, ...]]]


class PartFile(Record, frozen=True, kw_only=True):
    """A Parquet file of a part."""

    table: str
    file: str
    """Its name in `parts/`."""
    rows: int
    bytes: int
    sha256: str | None = None
    """Of its bytes; None in directories from before there were hashes."""


class CommittedPart(Record, frozen=True, kw_only=True):
    """A part that is complete on the disk."""

    part: str
    sequence: int
    """Order of commits."""
    profile: str | None = None
    """Set if the part contains decisions that replace older ones of this profile."""
    files: tuple[PartFile, ...] = ()

    def file(self, table: str) -> PartFile | None:
        """Its file for this table; None if the part has no rows of it."""
        return next((each for each in self.files if each.table == table), None)

    @property
    def samples(self) -> int:
        """How many samples it contains."""
        found = self.file("samples")
        return found.rows if found is not None else 0


class Intake(Record, frozen=True, kw_only=True):
    """What reading an input produced: the parts that contain its samples. While its fingerprint stays the same, it does
    not have to be read again."""

    input: str
    fingerprint: str
    parts: tuple[str, ...] = ()
    notes: dict[str, Any] = {}
    """What the writer wants to know about it next time."""


class Damaged(Exception):
    """The manifest is not what was written; the message says why."""


class Content(Record, frozen=True, kw_only=True):
    """The whole content of a manifest."""

    parts: dict[str, CommittedPart]
    aside: dict[str, tuple[int, CommittedPart]]
    """Parts that do not count, with the edition from which on they do not."""
    intakes: dict[tuple[str, str], Intake]
    facts: dict[str, str]
    seal: int | None
    """None in directories from before there were seals."""


def committed_parts(path: Path) -> list[CommittedPart]:
    """The parts that count at this moment, in the order of their samples; another process may be writing."""
    return list(read_manifest(path).parts.values())


def read_manifest(path: Path) -> Content:
    """Everything that a manifest says at this moment; another process may be writing."""
    try:
        return _read(path)
    except Damaged as error:
        raise damaged_manifest(path, error) from None


def damaged_manifest(path: Path, why: Damaged) -> ReadError:
    """The error for a manifest that cannot be read, with what to do about it."""
    return ReadError(f"the manifest of the run is damaged: {why}", path=str(path), remedy=renewal(path.parent))


def _read(path: Path) -> Content:
    if not path.is_file():
        raise Damaged("it is missing")
    refuse_special(*database_files(path))
    address = f"file:{quote(fspath(path.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=30, isolation_level=None)) as database:
            # One transaction, so that all tables are from the same moment.
            database.execute("begin")
            return content_of(database)
    except sqlite3.Error:
        # On a read-only disk SQLite cannot create the index of its log. There is no writer either, so read a copy.
        with sqlite.reading(path) as copy:
            return content_of(copy)


_PASSING = {3, 5, 6, 7, 8, 9, 10, 13, 14, 23}
"""SQLite's codes for trouble that is not damage: permissions, locks, memory, a full or failing disk."""


def damage_of(error: Exception) -> Exception:
    """The error as Damaged, if it shows that the file is damaged; otherwise the error itself."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return error if code in _PASSING else Damaged(str(error))


def content_of(database: sqlite3.Connection) -> Content:
    """The whole content of a manifest; Damaged if it does not match its seal."""
    rows, seal = sealed_rows(database)
    try:
        return _content(rows, seal)
    except (TypeError, ValueError, AttributeError, ReadError, msgspec.MsgspecError) as error:
        raise Damaged(str(error)) from None


def sealed_rows(database: sqlite3.Connection) -> tuple[Rows, int | None]:
    """All rows and their seal, None if there is none; Damaged if they do not match."""
    try:
        rows, seal = _rows_and_seal(database)
    except (sqlite3.Error, TypeError, ValueError) as error:
        raise damage_of(error) from None
    if seal is not None and seal_of(rows) != seal:
        raise Damaged("its rows are not those that were written")
    return rows, seal


def _rows_and_seal(database: sqlite3.Connection) -> tuple[Rows, int | None]:
    known = sqlite.tables(database)
    if not {"parts", "files"} <= known.keys():
        raise Damaged("it has no parts")
    sealed = "seal" in known
    if sealed != ("sha256" in known["files"]):
        raise Damaged("its tables are not those that were written")
    rows: Rows = {}
    for table, columns in COLUMNS.items():
        if sealed or table in ("parts", "files"):
            names = ", ".join(each if sealed or each != "sha256" else "null" for each in columns)
            rows[table] = [tuple(row) for row in database.execute(f"select {names} from {table}")]
    if not sealed:
        return rows, None
    ((text,),) = database.execute("select value from seal").fetchall()
    return rows, int(text, 16)


def row_seal(table: str, row: Iterable[Any]) -> int:
    """One row's share in the seal."""
    # repr distinguishes 1 from "1", and null from the word.
    text = repr((table, *row)).encode("utf-8", "surrogatepass")
    return int.from_bytes(sha256(text).digest(), "big")


def seal_of(rows: Rows) -> int:
    """The seal of all rows, whatever their order."""
    found = 0
    for table, some in rows.items():
        for row in some:
            # With XOR, a commit updates the seal for the rows that it adds or removes, without reading the others.
            found ^= row_seal(table, row)
    return found


def _typed(kind: type[Any], **fields: Any) -> Any:
    """A record with its fields checked against their types: SQLite stores any value in any column."""
    return msgspec.convert(fields, kind)


def _content(rows: Rows, seal: int | None) -> Content:
    files: dict[str, list[PartFile]] = {}
    for part, table, file, count, size, digest in sorted(rows["files"], key=lambda row: row[:2]):
        files.setdefault(part, []).append(
            _typed(PartFile, table=table, file=file, rows=count, bytes=size, sha256=digest)
        )
    parts = {
        part: _typed(CommittedPart, part=part, sequence=sequence, profile=profile, files=tuple(files.get(part, ())))
        for sequence, part, profile, _ in sorted(rows["parts"])
    }
    aside = {
        part: (int(since), from_exact_json(record.encode(), CommittedPart))
        for part, since, record in rows.get("aside", ())
    }
    for part in parts.values():
        if part.files and part.profile is None and part.file("samples") is None:
            raise Damaged(f"the part {part.part[:100]} has no samples")
    for file in (file for each in (*parts.values(), *(part for _, part in aside.values())) for file in each.files):
        if file.file != PurePath(file.file).name or "\\" in file.file or "\0" in file.file:
            # A path in a forged manifest could make us read, or delete, any file.
            raise Damaged(f"{file.file[:100]!r} is not the name of a part")
    intakes = {
        (name, fingerprint): from_exact_json(record.encode(), Intake)
        for name, fingerprint, record in rows.get("intakes", ())
    }
    facts: dict[str, str] = dict(rows.get("facts", ()))
    int(facts.get("edition", "0"))  # a writer counts on from it, and would only then find that it is no number
    return Content(parts=parts, aside=aside, intakes=intakes, facts=facts, seal=seal)
