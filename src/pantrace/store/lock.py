"""The writer's lock: one writer per run directory; the system lets go of it when its holder dies, however it dies."""

from __future__ import annotations

import os
import platform
import sys
import weakref
from contextlib import suppress
from pathlib import Path

from pantrace.errors import UsageError, WriteError


class Lock:
    """A lock that is held until `release`, or until the process ends."""

    def __init__(self, path: Path):
        """Take it; a UsageError names the holder when there is one."""
        try:
            self._handle: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise WriteError(f"{path}: cannot be locked: {error.strerror}") from None
        try:
            _take(self._handle)
        except BlockingIOError:
            holder = os.read(self._handle, 200).decode(errors="replace").strip()
            self._close()
            raise UsageError(
                f"{path.parent}: another process is writing here ({holder or 'its pid is not known'}); "
                "wait until it ends, or choose another directory"
            ) from None
        except OSError as error:
            self._close()
            raise WriteError(f"{path}: cannot be locked: {error.strerror}") from None
        with suppress(OSError):  # on a full disk the lock holds as well, only without a name
            os.ftruncate(self._handle, 0)
            os.write(self._handle, f"pid {os.getpid()} on {platform.node() or 'this machine'}\n".encode())
        _not_inherited(self)

    def release(self) -> None:
        """Let go; the file stays, because removing it could part two writers that wait for it."""
        if self._handle is not None:
            with suppress(OSError):
                os.ftruncate(self._handle, 0)
            self._close()

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        # Far behind the text, which stays readable for others.
        os.lseek(handle, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


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
