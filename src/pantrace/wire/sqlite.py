"""SQLite databases of other programs: read while they are live, never changed, nothing left beside them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote

from pantrace.errors import ReadError


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the database's content as of now.

    With a write-ahead log or a journal beside it, a private copy of both is read: opening the original would create
    or change files next to it, and ignoring the log would lose what is only there."""
    beside = [path.with_name(path.name + ending) for ending in ("-wal", "-journal")]
    live = [extra for extra in beside if extra.exists() and extra.stat().st_size]
    with tempfile.TemporaryDirectory(prefix="pantrace-") if live else nullcontext() as folder:
        if folder is not None:
            copy = Path(folder, path.name)
            shutil.copyfile(path, copy)
            for extra in live:
                shutil.copyfile(extra, copy.with_name(extra.name))
            address = f"file:{quote(str(copy))}?mode=rw"
        else:
            address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(address, uri=True)) as database:
                database.row_factory = sqlite3.Row
                yield database
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a damaged schema is quoted in bytes that are no text
            raise ReadError(
                f"cannot be read as a SQLite database: {error}", path=str(path), remedy="it may be cut off or damaged"
            ) from None


def tables(database: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Table names with their columns."""
    names = [row[0] for row in database.execute("select name from sqlite_master where type = 'table'")]
    return {name: tuple(row[1] for row in database.execute(f'pragma table_info("{name}")')) for name in names}
