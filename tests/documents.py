"""The JSON inside golden files: lines, members of archives, cells of databases, each of which can be put in another's
place."""

from __future__ import annotations

import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from pantrace.wire import zip_archive

Place = tuple[str | int, ...]
"""Keys and indices from the root of a document to a value in it."""
Write = Callable[[bytes], Path]
"""Gives a copy of a golden file in which one document is another."""


def kind(place: Place) -> str:
    return ".".join("[]" if isinstance(key, int) else key for key in place)


def documents(path: Path, folder: Path) -> Iterator[tuple[str, bytes, Write]]:
    """The files, members and cells of a golden input that may hold JSON."""
    target = folder / path.name
    if path.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(path, target)

    def of_file(file: Path) -> Write:
        def write(data: bytes) -> Path:
            (target / file.relative_to(path) if path.is_dir() else target).write_bytes(data)
            return target

        return write

    def of_member(member: str) -> Write:
        def write(data: bytes) -> Path:
            with zip_archive.reading(path) as before, zipfile.ZipFile(target, "w") as after:
                for each in before.members:
                    after.writestr(each, data if each == member else bytes(before.read(each)))
            return target

        return write

    def of_cell(table: str, column: str, row: int) -> Write:
        def write(data: bytes) -> Path:
            shutil.copy(path, target)
            with closing(sqlite3.connect(target)) as database, database:
                database.execute(f"update {table} set {column} = ? where rowid = ?", (data.decode(), row))
            return target

        return write

    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if not file.is_file():
            continue
        head = file.read_bytes()[:16]
        if head.startswith(b"PK\x03\x04") and file == path:
            with zip_archive.reading(file) as archive:
                for member in archive.members:
                    yield f"{member}: ", bytes(archive.read(member)), of_member(member)
        elif head.startswith(b"SQLite format 3") and file == path:
            for table, column, row, text in cells(file):
                yield f"{table}.{column}: ", text.encode(), of_cell(table, column, row)
        else:
            yield "" if file == path else f"{file.name}: ", file.read_bytes(), of_file(file)
            if path.is_dir():
                # The others are read beside it as they are.
                shutil.copy(file, target / file.relative_to(path))


def cells(database: Path) -> Iterator[tuple[str, str, int, str]]:
    """The first and the last text of each column that begins like JSON."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)) as reading:
        for (table,) in reading.execute("select name from sqlite_master where type = 'table'").fetchall():
            for _, column, *_ in reading.execute(f"pragma table_info({table})").fetchall():
                query = f"select rowid, {column} from {table} where {column} like '{{%' or {column} like '[%'"
                with suppress(sqlite3.OperationalError):
                    found = reading.execute(query).fetchall()
                    for row, text in dict.fromkeys(found[:1] + found[-1:]):
                        yield table, column, row, text
