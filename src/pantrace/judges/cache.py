"""The cache of replies: a SQLite file outside the run directory, addressed by all that a reply depends on.

Several processes may use one file at once. What is stored is the reply and its address, not the prompt."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.wire.json import decode_as, encode

from .ask import Judge, Reply, Request, Unanswered

_VERSION = 1


class Cache:
    """Replies by address. A reply counts once it is written; a killed process loses only what it was waiting for."""

    def __init__(self, path: Path):
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Opened where options are read, used where questions are asked (`listener`): never by two threads at once.
            self._database = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            # Several processes write here at once; each waits for the other instead of failing.
            self._database.execute("pragma busy_timeout = 60000")
            (version,) = self._database.execute("pragma user_version").fetchone()
            if version not in (0, _VERSION):
                raise UsageError(f"{path}: a judge cache of another version ({version}); name another file")
            # Before the first write: a database of somebody else must not get a table of ours.
            self._refuse_foreign()
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = normal")
            self._database.execute(
                "create table if not exists replies (key text primary key, model text not null, reply blob not null)"
                " without rowid"
            )
            self._database.execute(f"pragma user_version = {_VERSION}")
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"{path}: cannot be used as a judge cache: {error}") from None

    def _refuse_foreign(self) -> None:
        """A UsageError for a database of something else, before anything is written into it."""
        columns = self._database.execute(
            "select t.name, c.name from sqlite_master t, pragma_table_info(t.name) c where t.type = 'table'"
        ).fetchall()
        if {*columns} not in (set(), {("replies", name) for name in ("key", "model", "reply")}):
            raise UsageError(f"{self.path}: a database of something else, not a judge cache; name another file")

    def get(self, key: str) -> Reply | None:
        found = self._read(key)
        return None if found is None else msgspec.structs.replace(found, cached=True)

    def _read(self, key: str) -> Reply | None:
        try:
            row = self._database.execute("select reply from replies where key = ?", (key,)).fetchone()
            return None if row is None else decode_as(bytes(row[0]), Reply)
        except (sqlite3.Error, ReadError, TypeError) as error:
            raise UsageError(f"{self.path}: the judge cache is damaged ({error}); remove it or name another") from None

    def put(self, request: Request, reply: Reply) -> Reply:
        """Keep a reply. Where another process was quicker, its reply is the one that counts."""
        try:
            self._database.execute(
                "insert or ignore into replies values (?, ?, ?)", (request.key, request.model, encode(reply))
            )
        except sqlite3.Error as error:
            raise UsageError(f"{self.path}: a reply cannot be stored in the judge cache: {error}") from None
        return self._read(request.key) or reply

    def __len__(self) -> int:
        (count,) = self._database.execute("select count(*) from replies").fetchone()
        return int(count)

    def close(self) -> None:
        self._database.close()


class Cached:
    """Asks only what the cache does not know; the same question asked twice at once goes out once."""

    def __init__(self, judge: Judge, cache: Cache):
        self.judge = judge
        self.cache = cache
        self.hits = 0
        self._asking: dict[str, asyncio.Future[None]] = {}

    async def ask(self, request: Request) -> Reply:
        key = request.key
        while True:
            known = self.cache.get(key)
            if known is not None:
                self.hits += 1
                return known
            if key not in self._asking:
                break
            # Somebody is asking the same. Look again afterwards: their question may have failed, and then this one goes
            # out.
            await self._asking[key]
        asking = self._asking[key] = asyncio.get_running_loop().create_future()
        try:
            return self.cache.put(request, await self.judge.ask(request))
        finally:
            del self._asking[key]
            asking.set_result(None)


class Replayed:
    """Answers from the cache only."""

    def __init__(self, cache: Cache):
        self.cache = cache
        self.hits = 0
        self.missing = 0

    async def ask(self, request: Request) -> Reply:
        known = self.cache.get(request.key)
        if known is None:
            self.missing += 1
            raise Unanswered("not in the cache, and --replay uses only the cache", unasked=True)
        self.hits += 1
        return known
