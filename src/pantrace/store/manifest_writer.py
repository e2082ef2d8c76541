"""The manifest, as its only writer sees it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from pantrace.wire import sqlite

from .durable import LOGS, sync, temporary_name
from .json_text import exact_json
from .manifest import (
    COLUMNS,
    CommittedPart,
    Content,
    Damaged,
    Intake,
    PartFile,
    content_of,
    damage_of,
    row_seal,
    seal_of,
    sealed_rows,
)

_TABLES = """
create table if not exists parts (
    sequence integer primary key,
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
    sha256 text,
    primary key (part, name)
);
create table if not exists aside (part text primary key, since integer not null, record text not null);
create table if not exists intakes (
    input text not null,
    fingerprint text not null,
    record text not null,
    primary key (input, fingerprint)
);
create table if not exists facts (name text primary key, value text not null);
create table if not exists seal (value text not null);
"""


class Manifest:
    """Parts, parts set aside, and what reading inputs produced. Every change is one transaction.

    During the first run, each part counts as soon as it is committed. Afterwards the parts that count are an edition:
    parts of a later run are set aside until it calls `settle`, and then all of them count at once."""

    def __init__(self, path: Path):
        """Open it, or create one; Damaged if it is not what was written."""
        self.is_new = False
        """Whether there was none before, or an empty file."""
        self._path = path
        self._database = sqlite3.connect(path, isolation_level=None)
        try:
            content = self._open()
        except BaseException:
            self._database.close()
            raise
        self.parts, self.aside, self._facts = content.parts, content.aside, content.facts
        self._intakes: dict[str, dict[str, Intake]] = {}
        for name, fingerprint in content.intakes:
            self._intakes.setdefault(name, {})[fingerprint] = content.intakes[name, fingerprint]
        self._seal = content.seal or 0
        self._sequence = max((each.sequence for each in self.parts.values()), default=0)
        self._waiting: dict[tuple[str, str], Intake] = {}
        self._identity = _identity(path)

    def _open(self) -> Content:
        execute = self._database.execute
        try:
            # WAL, so that others can read the directory while it is written; full, so that a commit survives a power
            # cut.
            execute("pragma journal_mode = wal")
            execute("pragma synchronous = full")
            if sqlite.tables(self._database):
                content = content_of(self._database)
                # This also checks indexes and free pages, which no row shows and the next change relies on.
                if (found := execute("pragma integrity_check(1)").fetchone()[0]) != "ok":
                    raise Damaged(found)
                if content.seal is not None:
                    return content
            else:
                self.is_new = True
            self._create()
            return content_of(self._database)
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise damage_of(error) from None

    def _create(self) -> None:
        """Create the tables, or those that a directory of an older version lacks; then the seal."""
        execute = self._database.execute
        execute("begin immediate")
        files = sqlite.tables(self._database).get("files", ("sha256",))
        if "sha256" not in files:
            execute("alter table files add column sha256 text")
        _create_tables(self._database)
        rows = {
            table: execute(f"select {', '.join(names)} from {table}").fetchall() for table, names in COLUMNS.items()
        }
        execute("insert into seal values (?)", (f"{seal_of(rows):064x}",))
        execute("commit")

    # What it knows

    def fact(self, name: str) -> str | None:
        """A fact about the directory: its plan's hash, whether a run has ended, the number of its edition."""
        return self._facts.get(name)

    @property
    def settled(self) -> bool:
        """Whether a run has ended, so that the parts that count are an edition."""
        return "edition" in self._facts

    @property
    def _next(self) -> int:
        return int(self._facts.get("edition", "0")) + 1

    def known(self, part: str) -> CommittedPart | None:
        """A part, whether it counts or is set aside."""
        if part in self.parts:
            return self.parts[part]
        return self.aside[part][1] if part in self.aside else None

    def intake(self, name: str, fingerprint: str) -> Intake | None:
        """What reading an input with this fingerprint produced, if it has been read before."""
        return self._waiting.get((name, fingerprint)) or self._intakes.get(name, {}).get(fingerprint)

    # Changes

    def commit(self, part: str, files: Iterable[PartFile], *, profile: str | None = None) -> None:
        """Record a part. A renewed part keeps its place in the order of commits; repeated decisions come last."""
        former = self.parts.get(part) if profile is None else None
        found = CommittedPart(
            part=part, sequence=former.sequence if former is not None else 0, profile=profile, files=tuple(files)
        )
        with self._change():
            self._remove("aside", part=part)
            if part in self.parts or profile is not None or not self.settled:
                self._remove_part(part)
                found = self._insert_part(found)
                self.parts[part] = found
                self.aside.pop(part, None)
            else:
                self._put_aside(found)

    def recall(self, part: str) -> None:
        """Make a part count that is set aside; within an edition, only `settle` does that."""
        if part in self.aside and not self.settled:
            with self._change():
                self._take_back(part)

    def set_all_aside(self) -> None:
        """Set all parts aside until they are recalled."""
        if self.parts:
            with self._change():
                for part in [*self.parts]:
                    self._put_aside(self.parts[part])

    def note(self, facts: dict[str, str]) -> None:
        """Record facts about the directory."""
        # Without a change there is no transaction, so that opening a directory twice writes nothing.
        if not facts.items() <= self._facts.items():
            with self._change():
                for name, value in facts.items():
                    self._note(name, value)

    def withdraw(self, fact: str) -> None:
        """Remove a fact about the directory, if it is there."""
        if fact in self._facts:
            with self._change():
                self._remove("facts", name=fact)
                del self._facts[fact]

    def remember(self, intake: Intake) -> None:
        """Record what reading an input produced, together with the next change."""
        # A transaction of its own would cost a sync for each input. If the next change never comes, the input is
        # only read again.
        self._waiting[intake.input, intake.fingerprint] = intake

    def settle(self, wanted: Iterable[str]) -> list[CommittedPart]:
        """Make exactly these parts count, all at once and in this order. Returns those that no longer count.

        They are set aside, so that one wrong command costs nothing; parts that an earlier edition set aside are
        dropped."""
        kept = dict.fromkeys(wanted)
        left = [each for part, each in self.parts.items() if part not in kept]
        back = [part for part in kept if part not in self.parts]
        with self._change():
            # A run that changes nothing makes no edition: a wrong command that is repeated must not drop what the first
            # one set aside.
            if left or back or not self.settled:
                for each in left:
                    self._put_aside(each)
                for part in back:
                    self._take_back(part)
                edition = self._next
                for part in [part for part, (since, _) in self.aside.items() if since < edition]:
                    self._remove("aside", part=part)
                    del self.aside[part]
                self._note("edition", str(edition))
                self._forget_intakes()
            self._put_in_order([*kept])
        # If a bit of the log flips, SQLite silently ignores everything after it: a finished run must not depend on it.
        self._database.execute("pragma wal_checkpoint(truncate)")
        return left

    def close(self) -> None:
        """Close the database; SQLite merges the log into it."""
        self._database.close()

    # Rows, with the seal kept up

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One transaction, and the state that it leads to. If it fails, this object must not be used any more."""
        execute = self._database.execute
        execute("begin immediate")
        try:
            yield
            for (name, fingerprint), intake in self._waiting.items():
                # A selection such as "since two hours ago" has another fingerprint each time, but often the same parts.
                same = [other for other, each in self._intakes.get(name, {}).items() if each.parts == intake.parts]
                self._forget(name, fingerprint, *same)
                self._insert("intakes", name, fingerprint, exact_json(intake).decode())
                self._intakes.setdefault(name, {})[fingerprint] = intake
            execute("update seal set value = ?", (f"{self._seal:064x}",))
            execute("commit")
        except BaseException:
            if self._database.in_transaction:
                execute("rollback")
            raise
        self._waiting = {}
        if _identity(self._path) != self._identity:
            # The commit succeeded, but in a file that has been deleted, so nobody will ever see it.
            raise FileNotFoundError(2, "the directory was removed or replaced while it was written")

    def _insert(self, table: str, *row: Any) -> None:
        places = ", ".join("?" * len(row))
        self._database.execute(f"insert into {table} ({', '.join(COLUMNS[table])}) values ({places})", row)
        self._seal ^= row_seal(table, row)

    def _remove(self, table: str, **key: str) -> None:
        condition = " and ".join(f"{name} = ?" for name in key)
        values = tuple(key.values())
        columns = ", ".join(COLUMNS[table])
        for row in self._database.execute(f"select {columns} from {table} where {condition}", values).fetchall():
            self._seal ^= row_seal(table, row)
        self._database.execute(f"delete from {table} where {condition}", values)

    def _remove_part(self, part: str) -> None:
        self._remove("parts", part=part)
        self._remove("files", part=part)

    def _insert_part(self, found: CommittedPart) -> CommittedPart:
        sequence = found.sequence or self._sequence + 1
        self._sequence = max(sequence, self._sequence)
        self._insert("parts", sequence, found.part, found.profile, time.time())
        for each in found.files:
            self._insert("files", found.part, each.table, each.file, each.rows, each.bytes, each.sha256)
        return msgspec.structs.replace(found, sequence=sequence)

    def _put_in_order(self, parts: list[str]) -> None:
        """Number the parts in this order, that of the inputs: they may have been committed in another order, or taken
        over from an earlier run."""
        if [(part, place) for place, part in enumerate(parts, 1)] == [
            (each.part, each.sequence) for each in self.parts.values()
        ]:
            return
        select = f"select {', '.join(COLUMNS['parts'])} from parts"
        rows = {part: rest for _, part, *rest in self._database.execute(select).fetchall()}
        # All of them first: `sequence` is the primary key, so a number must be free before it is given again.
        for part in parts:
            self._remove("parts", part=part)
        for sequence, part in enumerate(parts, 1):
            self._insert("parts", sequence, part, *rows[part])
            self.parts[part] = msgspec.structs.replace(self.parts.pop(part), sequence=sequence)
        self._sequence = len(parts)

    def _put_aside(self, found: CommittedPart) -> None:
        self._remove_part(found.part)
        self._remove("aside", part=found.part)
        self._insert("aside", found.part, self._next, exact_json(found).decode())
        self.aside[found.part] = (self._next, found)
        self.parts.pop(found.part, None)

    def _take_back(self, part: str) -> None:
        _, found = self.aside.pop(part)
        self._remove("aside", part=part)
        self.parts[part] = self._insert_part(msgspec.structs.replace(found, sequence=0))

    def _note(self, name: str, value: str) -> None:
        self._remove("facts", name=name)
        self._insert("facts", name, value)
        self._facts[name] = value

    def _forget_intakes(self) -> None:
        """Drop the records of inputs whose parts are gone."""
        for name, intakes in self._intakes.items():
            gone = [key for key, each in intakes.items() if any(self.known(part) is None for part in each.parts)]
            self._forget(name, *gone)

    def _forget(self, name: str, *fingerprints: str) -> None:
        for each in fingerprints:
            self._remove("intakes", input=name, fingerprint=each)
            self._intakes.get(name, {}).pop(each, None)


def _create_tables(database: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";\n"):
        database.execute(statement)


def replace_manifest(path: Path, plan_hash: str) -> bool:
    """Replace a damaged manifest. Returns whether all its rows could be kept, which is so if only an index was damaged
    and it belongs to this plan; if not, no part is known any more."""
    try:
        with closing(sqlite3.connect(path)) as damaged:
            rows, _ = sealed_rows(damaged)
            # Rows can match their seal and still not be a manifest.
            content_of(damaged)
    except (Damaged, sqlite3.Error):
        rows = {}
    whole = ("plan_hash", plan_hash) in rows.get("facts", ())
    kept = rows if whole else {}
    temporary = temporary_name(path.parent)
    with closing(sqlite3.connect(temporary)) as database:
        database.execute("pragma journal_mode = memory")
        _create_tables(database)
        for table, some in kept.items():
            names = COLUMNS[table]
            places = ", ".join("?" * len(names))
            database.executemany(f"insert into {table} ({', '.join(names)}) values ({places})", some)
        database.execute("insert into seal values (?)", (f"{seal_of(kept):064x}",))
        database.commit()
    # The old log goes first: SQLite would apply it to the new database.
    for ending in LOGS:
        path.with_name(path.name + ending).unlink(missing_ok=True)
    temporary.replace(path)
    sync(path.parent)
    return whole


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
