"""The writer's lock: one writer per run directory; the system lets go of it when its holder dies, however it dies.

Some file systems of a network keep locks to each machine, or know none. So the file also says who holds it, and while
he does, a number in it grows. Whoever finds the name of another machine in a lock that he was given watches that number
for a while: if it grows, the other one is still writing. No clock is asked, since those of two machines differ, and
one's own may jump.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import threading
import time
import weakref
from contextlib import suppress
from errno import ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP
from pathlib import Path

from pantrace.errors import UsageError, WriteError
from pantrace.wire.private_folder import is_alive

BEAT = 2.0
"""Seconds between two signs of life."""
WATCH = 10.0
"""Seconds in which one of another machine must be seen."""
# Bytes of the file that are read: a pid, the name of a machine and a count. More is not of our writing.
_LONGEST = 200
_HOLDER = re.compile(r"(pid (\d+) on (.*?))(?:, sign (\d+))?\n?")


class Lock:
    """A lock that is held until `release`, or until the process ends."""

    def __init__(self, path: Path, *, beat: float = BEAT, watch: float = WATCH):
        """Take it; a UsageError names the holder when there is one."""
        try:
            self._handle: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise WriteError(f"{path}: cannot be locked: {error.strerror}") from None
        self._path = path
        self._writing = threading.Lock()
        try:
            self._refuse_if_held(shared=_taken(self._handle), watch=watch)
        except BlockingIOError:
            raise self._refusal(self._holder()) from None
        except OSError as error:
            self._close()
            raise WriteError(f"{path}: cannot be locked: {error.strerror}") from None
        self._signs = 0
        self._released = threading.Event()
        self._sign()
        _not_inherited(self)
        threading.Thread(target=self._live, args=(beat,), name="lock", daemon=True).start()

    def release(self) -> None:
        """Let go; the file stays, because removing it could part two writers that wait for it."""
        self._released.set()
        with self._writing:
            if self._handle is not None:
                with suppress(OSError):
                    os.ftruncate(self._handle, 0)
                self._close()

    def _refuse_if_held(self, *, shared: bool, watch: float) -> None:
        """A UsageError where somebody lives whose lock this file system does not show. `shared`: it has locks, so what
        a process of this machine left is of one that died."""
        before = self._holder()
        found = _HOLDER.fullmatch(before)
        if found is None:
            return
        if found[3] == _machine():
            if not shared and int(found[2]) != os.getpid() and is_alive(int(found[2])):
                raise self._refusal(before)
            return
        until = time.monotonic() + watch
        while time.monotonic() < until:
            time.sleep(min(0.1, watch))
            if not (now := self._holder()):
                return  # it has let go meanwhile
            if now != before:
                raise self._refusal(now)

    def _holder(self) -> str:
        """What the file says now. It is opened anew: a file system of a network shows what others wrote only then."""
        try:
            with self._path.open("rb") as file:
                return file.read(_LONGEST).decode(errors="replace")
        except OSError:
            return ""

    def _refusal(self, holder: str) -> UsageError:
        self._close()
        found = _HOLDER.fullmatch(holder)
        return UsageError(
            f"{self._path.parent}: another process is writing here ({found[1] if found else 'its pid is not known'}); "
            "wait until it ends, or choose another directory"
        )

    def _live(self, beat: float) -> None:
        while not self._released.wait(beat):
            self._sign()

    def _sign(self) -> None:
        """Say who holds it, and that he lives. On a full disk the lock holds as well, only without a name."""
        self._signs += 1
        text = f"pid {os.getpid()} on {_machine()}, sign {self._signs}\n".encode()
        with self._writing, suppress(OSError):
            if self._handle is not None:
                os.lseek(self._handle, 0, os.SEEK_SET)
                os.write(self._handle, text)
                os.ftruncate(self._handle, len(text))

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _machine() -> str:
    return platform.node() or "this machine"


if sys.platform == "win32":
    import msvcrt

    def _taken(handle: int) -> bool:
        # Far behind the text, which stays readable for others.
        os.lseek(handle, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True
else:
    import fcntl

    def _taken(handle: int) -> bool:
        """Whether it is locked now; False where there are no locks. A BlockingIOError where somebody holds it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP):
                return False
            raise
        return True


_held: weakref.WeakSet[Lock] = weakref.WeakSet()
_watching = False


def _not_inherited(lock: Lock) -> None:
    """Forked workers close their copy: one that outlives a killed parent would otherwise hold the lock on."""
    global _watching
    _held.add(lock)
    if not _watching and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_close_all)
        _watching = True


def _close_all() -> None:
    for lock in list(_held):
        lock._close()
