"""The writer's lock: one writer per run directory. The system releases it when its holder dies, however it dies.

Some network file systems keep locks local to each machine, or have none. So the file also names its holder, and has a
counter that increases while it is held. A process that gets the lock but finds the name of another machine in it
watches the counter for a while: if it increases, the other process is still writing. Clocks are not used, because
those of two machines differ, and our own may jump.
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
"""Seconds in which a living holder on another machine would be noticed: several beats."""
# Bytes of the file that are read: a pid, the name of a machine and a counter. We never write more.
_LONGEST = 200
_HOLDER = re.compile(r"(pid (\d+) on (.*?))(?:, sign (\d+))?\n?")


class Lock:
    """A lock that is held until `release`, or until the process ends."""

    def __init__(self, path: Path, *, beat: float = BEAT, watch: float = WATCH):
        """Take it; a UsageError names the holder if there is one."""
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
        """Release it. The file stays: if it were removed, two writers could hold locks on two different files."""
        self._released.set()
        with self._writing:
            if self._handle is not None:
                with suppress(OSError):
                    os.ftruncate(self._handle, 0)
                self._close()

    def _refuse_if_held(self, *, shared: bool, watch: float) -> None:
        """A UsageError if the holder is alive but its lock is not visible on this file system. `shared`: the file
        system has locks, so a holder on this machine whose lock we got must have died."""
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
                return  # released in the meantime
            if now != before:
                raise self._refusal(now)

    def _holder(self) -> str:
        """What the file says now. Opened again each time: only then does a network file system show others' writes."""
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
        """Write who holds it, and a new count. If the disk is full, the lock still holds, only without a name."""
        self._signs += 1
        text = f"pid {os.getpid()} on {_machine()}, sign {self._signs}\n".encode()
        with self._writing, suppress(OSError):
            if self._handle is not None:
                # Write, then cut: a reader in between must not find an empty file, which means "released".
                os.lseek(self._handle, 0, os.SEEK_SET)
                os.write(self._handle, text)
                os.ftruncate(self._handle, len(text))

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def living_holder(path: Path) -> str | None:
    """The process of this machine that holds a lock: "pid 7 on host". None if there is none, or if it runs on another
    machine, whose processes cannot be seen from here."""
    try:
        with path.open("rb") as file:
            found = _HOLDER.fullmatch(file.read(_LONGEST).decode(errors="replace"))
    except OSError:
        return None
    # Signal 0, by which a process is found, ends it on Windows.
    if found is None or found[3] != _machine() or sys.platform == "win32":
        return None
    return found[1] if is_alive(int(found[2])) else None


def _machine() -> str:
    return platform.node() or "this machine"


if sys.platform == "win32":
    import msvcrt

    def _taken(handle: int) -> bool:
        # Locked far behind the text, because Windows lets nobody read a locked range.
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
        """True if we have the lock, False if the file system has none. A BlockingIOError if another holds it."""
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
    """Make forked workers close their copy: one that outlives a killed parent would otherwise keep the lock."""
    global _watching
    _held.add(lock)
    if not _watching and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_close_all)
        _watching = True


def _close_all() -> None:
    for lock in list(_held):
        lock._close()
