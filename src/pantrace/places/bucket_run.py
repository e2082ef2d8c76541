"""Bucket run: a run directory in a bucket, and its working copy on this disk.

The bucket is authoritative. A writer holds the lease, works on the copy, and after every few commits uploads the new
parts and then the manifest, which it writes only over the version that it knows. Readers fetch the manifest and leave
parts in the bucket until they need them: a part's name has a hash, so a local copy is always the right one."""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

from pantrace.errors import PantraceError, UsageError, WriteError

from .bucket import Conflict, Object, bucket_of
from .cache import alone, below, cache_root, trying
from .lease import Lease
from .mirrored import Mirrored, Root, register, root_of
from .url import Url

RUN, MANIFEST, LOCK, PARTS, LABELS = "run.json", "manifest.sqlite", "lock", "parts", "labels.jsonl"
_OWN = (RUN, MANIFEST, LABELS)
_BESIDE = ("-wal", "-shm", "-journal")
_GROWTH = 64_000_000
"""Bytes by which a manifest may have grown since it was listed, because its writer is running."""
_SHARE = 20
"""After sending the manifest, wait 20 times as long as that took: at most a 20th of the time is spent on it. What was
committed in between is done again after `kill -9`."""
_SENT_AT_ONCE = 8


def is_run(url: Url, objects: Iterable[Object]) -> bool:
    """Whether these objects are a run directory."""
    names = {below(url, each.key).partition("/")[0] for each in objects}
    # Two of the three: a folder that happens to contain one file of that name is not a run directory.
    return len({RUN, MANIFEST, PARTS} & names) >= 2 and MANIFEST in names


class BucketRun:
    """A run directory in a bucket; there is one object for each in this process."""

    def __init__(self, url: Url):
        self.url = url
        self._bucket = bucket_of(url.scheme, url.bucket)
        self._folder = cache_root() / "runs" / sha256(str(url).encode()).hexdigest()[:24]
        self._local = self._folder / url.name
        try:
            (self._local / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{self._folder}: cannot be made: {error.strerror}; PANTRACE_CACHE names another folder"
            ) from None
        self.path: Mirrored = register(Root(os.fspath(self._local), str(url)))
        self._sizes: dict[str, int] | None = None
        """Sizes of what is in the bucket, by name; None: not listed."""
        self._lease: Lease | None = None
        self._taken: dict[str, str] = {}
        """Tags of what was fetched or written, by name."""
        self._run_sent = b""
        self._pool: ThreadPoolExecutor | None = None
        self._sent: list[Future[str]] = []
        self._next = 0.0
        self.stands_apart = False
        """Whether the writer of the run directory cannot see our disk, so that our parts must go through the bucket."""

    @property
    def is_writing(self) -> bool:
        """Whether this process is the writer."""
        return self._lease is not None

    def _key(self, name: str) -> str:
        return f"{self.url.key}/{name}"

    def size(self, path: Path) -> int | None:
        """Bytes of a file in the bucket, as far as it was listed."""
        found = root_of(path)
        return (self._sizes or {}).get(found[1].replace(os.sep, "/")) if found is not None else None

    # Reading

    def refresh(self, objects: list[Object] | None = None) -> None:
        """Fetch what the bucket has, unless a process on this machine is writing: then the local copy is newer."""
        with alone(self._folder / "refresh"):
            if not self._is_written_here():
                self._take_in(self._bucket.listing(self.url.key) if objects is None else objects)

    def _is_written_here(self) -> bool:
        lock = self._local / LOCK
        # A holder writes its name into the lock. An empty one is not tried: a writer may be taking it at this moment.
        if not lock.is_file() or not lock.stat().st_size:
            return False
        with trying(lock) as is_free:
            return not is_free

    def _take_in(self, found: list[Object]) -> None:
        names = {below(self.url, each.key): each for each in found}
        self._sizes = {name: each.size for name, each in names.items()}
        for name in _OWN:
            target = self._local / name
            if name in names and self._taken.get(name) == names[name].tag and target.is_file():
                continue
            if name == MANIFEST:  # SQLite would apply an old log to a new database, and damage it
                for ending in _BESIDE:
                    target.with_name(name + ending).unlink(missing_ok=True)
            if name not in names:
                target.unlink(missing_ok=True)
                self._taken.pop(name, None)
                continue
            temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")
            try:
                tag = self._bucket.fetch(self._key(name), temporary, names[name].size + _GROWTH)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
            self._taken[name] = tag

    # Writing

    def enter(self) -> None:
        """Become the writer, or raise an error that says who is. The copy's local lock must be held already."""
        names = sorted(below(self.url, each.key) for each in self._bucket.listing(self.url.key))
        # Checked before the lease is taken: a typo in --out must not leave a lock in somebody's bucket.
        strange = [name for name in names if name.partition("/")[0] not in (*_OWN, LOCK, PARTS)]
        if strange and not {MANIFEST, RUN} & {*names}:
            raise UsageError(
                f"{self.url} is not a run directory and not empty (it contains {strange[0]}); "
                "choose a new or an empty one"
            )
        lease = Lease(self._bucket, self._key(LOCK), self._identity())
        lease.take(str(self.url))
        try:
            with alone(self._folder / "refresh"):
                self._taken = {}  # a writer that died may have left the copy ahead of the bucket
                self._take_in(self._bucket.listing(self.url.key))
            (self._folder / "token").write_text(lease.token)
        except BaseException:
            lease.release()
            raise
        self._lease = lease
        self._pool = ThreadPoolExecutor(_SENT_AT_ONCE)
        self._run_sent, self._next = b"", 0.0
        self.path = register(Root(os.fspath(self._local), str(self.url), lease.token))

    def _identity(self) -> str:
        """A unique name of the working copy."""
        path = self._folder / "copy"
        if not path.is_file():
            path.write_text(uuid.uuid4().hex)
        return path.read_text()

    @property
    def token(self) -> str:
        """The writer's token; this process must be the writer."""
        assert self._lease is not None
        return self._lease.token

    def send(self, names: Iterable[str]) -> None:
        """Start sending parts; `publish` waits for them."""
        assert self._pool is not None
        for name in names:
            path = self._local / PARTS / name
            size = path.stat().st_size
            # A part's name has its hash: one with the right size is there already, from before an interruption.
            if (self._sizes or {}).get(f"{PARTS}/{name}") != size:
                self._sent.append(self._pool.submit(self._bucket.write, self._key(f"{PARTS}/{name}"), path))
            self.note(name, size)

    def note(self, name: str, size: int) -> None:
        """Remember that a part is in the bucket, or being sent."""
        if self._sizes is not None:
            self._sizes[f"{PARTS}/{name}"] = size

    def publish(self, *, now: bool = False) -> None:
        """Send the manifest once all its parts are in the bucket: `now`, or if it has not been sent for a while."""
        if self._lease is None or (not now and time.monotonic() < self._next):
            return
        try:
            # All parts first: a manifest that names a missing part would make readers fail.
            for each in self._sent:
                each.result()
            self._sent = []
            if self._lease.is_lost:
                raise Conflict("")
            begun = time.monotonic()
            self._send_manifest()
            ended = time.monotonic()
            self._next = ended + _SHARE * (ended - begun)
            # After the manifest: `run.json` describes the run, and must never be ahead of the parts that count.
            told = (self._local / RUN).read_bytes()
            if told != self._run_sent:
                self._bucket.write(self._key(RUN), told)
                self._run_sent = told
        except Conflict:
            raise WriteError(
                f"{self.url}: another process has taken this run directory over, because this one gave no "
                "sign of life; what was committed is kept, and this command ends here"
            ) from None
        except PantraceError as error:
            raise WriteError(f"{error}; what was committed stays valid; run the same command to continue") from None

    def _send_manifest(self) -> None:
        data = _snapshot(self._local / MANIFEST)
        known = self._taken.get(MANIFEST)
        try:
            self._taken[MANIFEST] = self._bucket.write(self._key(MANIFEST), data, over=known, new=known is None)
        except Conflict:
            # The write may have succeeded and only its answer been lost; then what is there is ours.
            found = self._bucket.head(self._key(MANIFEST))
            if found is None or found.size != len(data):
                raise
            there, tag = self._bucket.read(self._key(MANIFEST), most=len(data))
            if there != data:
                raise
            self._taken[MANIFEST] = tag

    def sweep(self, needed: set[str]) -> None:
        """Remove parts that are no longer needed. Only after sending the manifest that does not name them."""
        unwanted = [
            each.key
            for each in self._bucket.listing(self._key(PARTS))
            if each.key.endswith(".parquet") and each.key.rpartition("/")[2] not in needed
        ]
        self._bucket.delete(unwanted)

    def leave(self) -> None:
        """Send what is left, and let others write."""
        if self._lease is None:
            return
        try:
            self.publish(now=True)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let others write, without sending anything more."""
        if self._lease is None or self._pool is None:
            return
        # Nothing may be written after the lease is released.
        self._pool.shutdown(cancel_futures=True)
        self._sent = []
        lease, self._lease, self._pool = self._lease, None, None
        with suppress(PantraceError):  # a lock that cannot be deleted is taken over after a minute
            lease.release()

    # In another process

    def join(self, token: str) -> None:
        """Work for the writer with this token."""
        # The token is in a file of the working copy: who can read it shares a disk with the writer.
        with suppress(OSError):
            if (self._folder / "token").read_text() == token:
                self.stands_apart = False
                return
        self.stands_apart = True

    def deliver(self, staged: Path, name: str) -> None:
        """Upload a staged part under its final name."""
        self._bucket.write(self._key(f"{PARTS}/{name}"), staged)
        staged.unlink(missing_ok=True)


def _snapshot(path: Path) -> bytes:
    """The current content of a database, without its log."""
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with closing(sqlite3.connect(path)) as database, closing(sqlite3.connect(temporary)) as copy:
            database.backup(copy)
            # A reader must not need a -wal file beside the manifest, which no bucket can keep in step with it.
            copy.execute("pragma journal_mode = delete")
        return temporary.read_bytes()
    finally:
        temporary.unlink(missing_ok=True)


_runs: dict[tuple[str, str], BucketRun] = {}


def bucket_run_at(url: Url) -> BucketRun:
    """The run directory at a URL."""
    name = (str(url), os.fspath(cache_root()))
    if name not in _runs:
        _runs[name] = BucketRun(url)
    return _runs[name]


def bucket_run_of(path: Path) -> BucketRun | None:
    """The run directory that a path is, or is part of; None if it is only on this disk."""
    found = root_of(path) if _runs else None
    if found is None:
        return None
    return next((each for each in _runs.values() if os.fspath(each.path) == found[0].local), None)
