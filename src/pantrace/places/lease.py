"""Lease: the writer's lock of a run directory in a bucket.

A bucket has no locks that end with their holder. So the lock is an object that is created only if there is none, and
that its holder rewrites every few seconds. If it has not been written for a while, it is abandoned and can be taken
over. Its age is measured by the server's clock, because clocks of machines differ. The new holder changes the manifest
first, so an old holder that wakes up late cannot write it any more: it writes only over the version that it knows."""

from __future__ import annotations

import os
import platform
import uuid
from contextlib import suppress
from threading import Event, Thread

import msgspec

from pantrace.errors import PantraceError, UsageError
from pantrace.model import Record

from .bucket import Bucket, Conflict, NoSuchObject

EVERY = 15.0
"""Seconds between two renewals."""
LOST_AFTER = 60.0
"""Seconds without a renewal after which a lock is abandoned."""


class Holder(Record, frozen=True, kw_only=True):
    """The content of the lock."""

    who: str
    copy: str
    """The holder's working copy. A process that holds the local lock of that copy knows that this holder is gone."""
    token: str
    lost_after: float = LOST_AFTER
    beat: str = ""
    """Different each time, so that the object's tag changes with every renewal."""


class Lease:
    """Held from `take` until `release`; `is_lost` once another process has taken it."""

    def __init__(self, bucket: Bucket, key: str, copy: str):
        self._bucket, self._key = bucket, key
        who = f"pid {os.getpid()} on {platform.node() or 'a machine without a name'}"
        self._holder = Holder(who=who, copy=copy, token=uuid.uuid4().hex)
        self._tag = ""
        self._stop = Event()
        self._thread: Thread | None = None
        self.is_lost = False

    @property
    def token(self) -> str:
        """Different each time a run directory is opened for writing."""
        return self._holder.token

    def take(self, where: str) -> None:
        """Take the lease, or raise a UsageError that says who holds it."""
        while not self._tag:
            try:
                self._tag = self._bucket.write(self._key, self._content(), new=True)
            except Conflict:
                with suppress(NoSuchObject):  # it was released at this moment: try again
                    self._take_over(where)
        self._thread = Thread(target=self._beat, name="pantrace lease", daemon=True)
        self._thread.start()

    def _take_over(self, where: str) -> None:
        data, tag = self._bucket.read(self._key)
        try:
            other = msgspec.json.decode(data, type=Holder)
        except msgspec.DecodeError:
            raise UsageError(
                f"{where}/lock was not written by pantrace; remove it if nobody else writes there"
            ) from None
        # The same working copy: we hold its local lock, so the process that wrote this lease is dead.
        if other.copy != self._holder.copy and (left := other.lost_after - self._age()) > 0:
            raise UsageError(
                f"{where}: another process is writing here ({other.who}); wait until it ends, or choose another "
                f"directory. If it was killed, its lock can be taken over in {left:.0f} s"
            )
        try:
            self._tag = self._bucket.write(self._key, self._content(), over=tag)
        except Conflict:
            raise UsageError(f"{where}: another process is writing here; it was faster") from None

    def _age(self) -> float:
        """Seconds since the lock was written, by the server's clock."""
        # The only way to ask a bucket for the time: write an object and look at its date.
        probe = f"{self._key}.{uuid.uuid4().hex}"
        self._bucket.write(probe, b"what time is it?")
        try:
            now, then = self._bucket.head(probe), self._bucket.head(self._key)
        finally:
            self._bucket.delete([probe])
        return now.modified - then.modified if now is not None and then is not None else 0.0

    def _content(self) -> bytes:
        return msgspec.json.encode(msgspec.structs.replace(self._holder, beat=uuid.uuid4().hex))

    def _beat(self) -> None:
        while not self._stop.wait(EVERY):
            try:
                self._tag = self._bucket.write(self._key, self._content(), over=self._tag)
            except (Conflict, NoSuchObject):
                if not self._is_ours():
                    self.is_lost = True
                    return
            except PantraceError:
                continue  # the network may come back; if another process takes over, writing the manifest fails

    def _is_ours(self) -> bool:
        """Whether the lock is ours after all: if an answer is lost, the request is repeated and conflicts."""
        with suppress(PantraceError, msgspec.DecodeError):
            data, tag = self._bucket.read(self._key)
            if msgspec.json.decode(data, type=Holder).token == self.token:
                self._tag = tag
                return True
        return False

    def release(self) -> None:
        """Delete the lock, if it is still ours."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if not self.is_lost and self._is_ours():
            self._bucket.delete([self._key])
