"""The recordings of a run: a native file that grows by one line per trial, and shows which trials are done."""

from __future__ import annotations

import os
import threading
import time
from io import FileIO
from pathlib import Path

from msgspec.structs import replace

from pantrace.errors import ReadError, UsageError, WriteError
from pantrace.formats import by_name
from pantrace.formats.native import VERSION, FirstLine
from pantrace.model import RunHeader, Sample
from pantrace.store import RECORDINGS
from pantrace.wire.append import append_whole
from pantrace.wire.json import encode

FILE = f"{RECORDINGS}/run.trace.jsonl"
ASIDE = f"{RECORDINGS}/superseded.trace.jsonl.kept"
NAME = "run"
_ATTEMPTS, _PAUSE = 40, 0.05
_PIECE = 1 << 20


class Recordings:
    """Samples on disk, each written with a single call. Only one process may write them at a time."""

    def __init__(self, folder: Path, header: RunHeader):
        self.path = folder / FILE
        self._aside = folder / ASIDE
        self._lock = threading.Lock()
        self._done: dict[tuple[str, int | None], str] = {}
        self.unanswered: set[tuple[str, int | None]] = set()
        """Trials in which the agent did not answer."""
        self._file = _open_to_append(self.path)
        try:
            # Before anything is read or repaired: an unfinished line may be one that another process is writing.
            _lock(self._file.fileno(), self.path)
            self._mend()
            self._look(header, folder)
        except BaseException:
            self._file.close()
            raise

    def has(self, case: str, number: int, hashed: str) -> bool:
        """Whether this trial is recorded, for the case as it is now."""
        return self._done.get((case, number)) == hashed

    def add(self, sample: Sample, hashed: str) -> None:
        noted = replace(sample, extra={**sample.extra, NAME: {**sample.extra.get(NAME, {}), "case": hashed}})
        with self._lock:
            try:
                append_whole(self._file.fileno(), encode(noted) + b"\n")
                # A trial may have cost money: it must survive a power cut.
                os.fsync(self._file.fileno())
            except OSError as error:
                remedy = "free some space, then run the same command to continue"
                raise WriteError(f"{self.path} cannot be written: {error.strerror} ({remedy})") from None
            self._done[(sample.id, sample.epoch or 0)] = hashed

    def close(self) -> None:
        self._file.close()

    def supersede(self, wanted: dict[str, str], *, unanswered: bool = False) -> int:
        """Set aside recordings whose case has changed and, with `unanswered`, those without an answer; returns their
        number. They were paid for, so none is deleted."""
        old = {key for key, hashed in self._done.items() if wanted.get(key[0], hashed) != hashed}
        if unanswered:
            old |= {key for key in self.unanswered if key[0] in wanted}
        if not old:
            return 0
        native = by_name("native")
        assert native.open is not None
        run = native.open(self.path, lambda _: None)
        staged = self.path.with_suffix(".staged")
        with staged.open("wb") as kept, self._aside.open("ab") as aside:
            kept.write(self._first_line)
            if not aside.tell():
                aside.write(self._first_line)
            for sample in run.samples:
                target = aside if (sample.id, sample.epoch or 0) in old else kept
                target.write(encode(sample) + b"\n")
        self._file.close()
        staged.replace(self.path)
        self._file = _open_to_append(self.path)
        _lock(self._file.fileno(), self.path)
        for key in old:
            del self._done[key]
        self.unanswered -= old
        return len(old)

    def _mend(self) -> None:
        """Cut off an unfinished last line that a killed run left: the next recording would be appended to it."""
        with self.path.open("r+b") as file:
            size = end = file.seek(0, os.SEEK_END)
            # From the end: the recordings of a long run need not fit into memory.
            while end > 0:
                begin = max(0, end - _PIECE)
                file.seek(begin)
                if (last := file.read(end - begin).rfind(b"\n")) >= 0:
                    end = begin + last + 1
                    break
                end = begin
            if end < size:
                file.truncate(end)

    def _look(self, header: RunHeader, folder: Path) -> None:
        native = by_name("native")
        assert native.open is not None
        if self.path.stat().st_size == 0:
            append_whole(self._file.fileno(), _first(header))
        run = native.open(self.path, _refuse)
        if run.agent is not None and run.agent != header.agent:
            raise UsageError(f"{folder} holds recordings of {run.agent}, not of {header.agent}; choose another --out")
        for sample in run.samples:
            noted = sample.extra.get(NAME)
            key = (sample.id, sample.epoch or 0)
            self._done[key] = noted.get("case", "") if isinstance(noted, dict) else ""
            outcome = sample.trajectory.outcome if sample.trajectory is not None else None
            if outcome is not None and outcome.status in ("error", "limit", "cancelled"):
                self.unanswered.add(key)

    @property
    def _first_line(self) -> bytes:
        with self.path.open("rb") as file:
            return file.readline()


def _open_to_append(path: Path) -> FileIO:
    if path.exists() and not path.is_file():
        # Opening a pipe would block until somebody reads from it.
        raise UsageError(f"{path} is not a regular file; move it away, or choose another --out")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab", buffering=0)
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror}") from None


def _first(header: RunHeader) -> bytes:
    return encode(FirstLine(pantrace=VERSION, run=header)) + b"\n"


def _refuse(error: ReadError) -> None:
    raise UsageError(f"{error}; repair or move the file, then run again")


def _lock(descriptor: int, path: Path) -> None:
    import fcntl

    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            # If a run was killed while it started an agent, that process holds the file for a moment longer.
            if attempt == _ATTEMPTS - 1:
                raise UsageError(f"{path.parent} is being written by another `pantrace run`") from None
            time.sleep(_PAUSE)
    if os.fstat(descriptor).st_ino != path.stat().st_ino:
        # We have locked a file that the other process has replaced in the meantime.
        raise UsageError(f"{path.parent} is being written by another `pantrace run`")
