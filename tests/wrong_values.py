"""Golden files with one value of another type: what a reader must refuse, leave out, or read in a way that lasts."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pantrace.wire import zip_archive

VALUES: tuple[Any, ...] = (7, 1.5, "x", True, None, [], {}, [1], {"a": 1})


class Unit(NamedTuple):
    """One JSON value in a golden file, and how another is put in its place."""

    name: str
    value: Any
    write: Callable[[Any, Path], None]
    """Takes the new value and the copy of the golden input that is to hold it."""


def units(root: Path) -> Iterator[Unit]:
    """Every JSON value of a golden input: documents, lines, members of an archive, cells of a database."""
    for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
        if path.is_file():
            inside = path.relative_to(root)
            start = path.read_bytes()[:16]
            if start.startswith(b"SQLite"):
                yield from _cells(path, inside)
            elif start.startswith(b"PK"):
                yield from _members(path, inside)
            else:
                yield from _texts(path, inside)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything inside a value."""
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with something else at a path; the one that was given stays as it is."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def _texts(path: Path, inside: Path) -> Iterator[Unit]:
    data = path.read_bytes()
    try:
        value = json.loads(data)
    except ValueError:
        lines = data.splitlines()
        for number, line in enumerate(lines):
            try:
                value = json.loads(line)
            except ValueError:
                continue

            def write_line(new: Any, root: Path, number: int = number) -> None:
                (root / inside).write_bytes(
                    b"\n".join([*lines[:number], json.dumps(new).encode(), *lines[number + 1 :]])
                )

            yield Unit(f"{inside}:{number + 1}", value, write_line)
        return
    if isinstance(value, str):
        yield Unit(f"{inside}", json.loads(value), lambda new, root: _write(root / inside, json.dumps(json.dumps(new))))
    else:
        yield Unit(f"{inside}", value, lambda new, root: _write(root / inside, json.dumps(new)))


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def _members(path: Path, inside: Path) -> Iterator[Unit]:
    with zip_archive.reading(path) as archive:
        members = {name: bytes(archive.read(name)) for name in archive.members}
    for name, data in members.items():
        try:
            value = json.loads(data)
        except ValueError:
            continue

        def write_member(new: Any, root: Path, name: str = name) -> None:
            with zipfile.ZipFile(root / inside, "w") as written:
                for each, content in members.items():
                    written.writestr(each, json.dumps(new) if each == name else content)

        yield Unit(f"{inside}:{name}", value, write_member)


def _cells(path: Path, inside: Path) -> Iterator[Unit]:
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as database:
        for (table,) in database.execute("select name from sqlite_master where type = 'table'").fetchall():
            columns = [row[1] for row in database.execute(f'pragma table_info("{table}")')]
            for number, *cells in database.execute(f'select rowid, * from "{table}"').fetchall():
                for column, cell in zip(columns, cells, strict=True):
                    try:
                        value = json.loads(cell) if isinstance(cell, str) else None
                    except ValueError:
                        value = None
                    if not isinstance(value, (dict, list)):
                        continue

                    def write_cell(
                        new: Any, root: Path, table: str = table, column: str = column, number: int = number
                    ) -> None:
                        shutil.copy(path, root / inside)
                        with sqlite3.connect(root / inside) as copy:
                            copy.execute(
                                f'update "{table}" set "{column}" = ? where rowid = ?', (json.dumps(new), number)
                            )
                        copy.close()

                    yield Unit(f"{inside}:{table}.{column}[{number}]", value, write_cell)
    database.close()
