"""A process with limits on its time and output; when it ends, all its children end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

STOPPED = "was stopped"
MARK = "PANTRACE_PROCESS"
"""An environment variable by which everything that a process started can be found."""
GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True)
class Finished:
    """How a process ended."""

    code: int | None
    """Its exit code; None if we ended it."""
    printed: bytes
    complained: bytes
    """The last part of what it wrote to stderr."""
    over: str | None = None
    """Which limit it exceeded."""


class _Drain(threading.Thread):
    """Reads a pipe to its end and keeps as much as allowed. Without a reader, a full pipe would block the process."""

    def __init__(self, pipe: IO[bytes], most: int, last: bool = False):
        super().__init__(daemon=True)
        self._pipe = pipe
        self._most = most
        self._last = last
        self.kept = bytearray()
        self.full = threading.Event()

    def run(self) -> None:
        while chunk := self._pipe.read1(65536):  # type: ignore[attr-defined]
            self.kept += chunk
            if len(self.kept) > self._most:
                # Of stderr the end is kept, because the last lines say why a program died; of stdout the beginning.
                if self._last:
                    del self.kept[: -self._most]
                else:
                    del self.kept[self._most :]
                    self.full.set()
        self._pipe.close()


def run_process(
    command: list[str],
    folder: Path,
    environment: dict[str, str],
    said: bytes | None,
    seconds: float,
    most: int,
    stopped: threading.Event,
) -> Finished:
    """Run a command to its end; OSError when it cannot be started."""
    mark = f"{MARK}={uuid4().hex}"
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, MARK: mark.partition("=")[2]},
        stdin=subprocess.PIPE if said is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A separate process group, so that its children can be ended with it.
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    drains = [_Drain(process.stdout, most), _Drain(process.stderr, 64_000, last=True)]
    for each in drains:
        each.start()
    if said is not None:
        # In a thread: a program that prints before it reads would block us, and we it.
        threading.Thread(target=_feed, args=(process, said), daemon=True).start()
    over = _wait(process, drains[0], stopped, seconds, most)
    # Also after a normal end: an agent may leave a server running, which would hold the pipes open.
    _end_group(process)
    _end_marked(mark.encode())
    for each in drains:
        # With a limit: a process that we may not end can still hold a pipe.
        each.join(GRACE)
    code = None if over else process.returncode
    return Finished(code, bytes(drains[0].kept), bytes(drains[1].kept), over)


def _wait(
    process: subprocess.Popen[bytes], printing: _Drain, stopped: threading.Event, seconds: float, most: int
) -> str | None:
    until = time.monotonic() + seconds
    while process.poll() is None:
        if stopped.is_set():
            return STOPPED
        if printing.full.is_set():
            return f"printed more than {most:,} bytes"
        left = until - time.monotonic()
        if left <= 0:
            return f"took longer than {round(seconds, 1):g} s"
        try:
            process.wait(min(left, 0.2))
        except subprocess.TimeoutExpired:
            continue
    return None


def _feed(process: subprocess.Popen[bytes], said: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(said)
        process.stdin.close()
    except OSError:
        pass  # It closed its input before reading all of the question, which is not an error.


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ask the process group to end, and kill what is left of it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            return
        until = time.monotonic() + GRACE
        while number == signal.SIGTERM and time.monotonic() < until and _alive(process):
            time.sleep(0.02)
    process.wait()


def _end_marked(mark: bytes) -> None:
    """Kill what has left the group (a daemon): it inherited a variable that no other process has. Systems without
    /proc do not show variables; there, nothing is found."""
    # Several rounds: a process may fork between our look and our signal.
    for _ in range(20):
        found = [int(each.name) for each in Path("/proc").glob("[0-9]*") if mark in _variables(each)]
        if not found:
            return
        for each in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.02)


def _variables(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _alive(process: subprocess.Popen[bytes]) -> bool:
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
