"""The recordings of a run: a native file that grows by one line for each trial, and says what need not be run again."""

from __future__ import annotations

import os
import threading
import time
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


class Recordings:
    """Samples on disk, each handed to the operating system whole. Only one program may write them at a time."""

    def __init__(self, folder: Path, header: RunHeader):
        self.path = folder / FILE
        self._aside = folder / ASIDE
        self._lock = threading.Lock()
        self._done: dict[tuple[str, int | None], str] = {}
        self.unanswered: set[tuple[str, int | None]] = set()
        """Trials in which the agent did not answer."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab", buffering=0)
        try:
            # Before anything is read or mended: what another program is writing right now is none of ours.
            _lock(self._file.fileno(), self.path)
            self._mend()
            self._look(header, folder)
        except BaseException:
            self._file.close()
            raise

    def has(self, case: str, number: int, hashed: str) -> bool:
        """Whether this trial of this very case is recorded."""
        return self._done.get((case, number)) == hashed

    def add(self, sample: Sample, hashed: str) -> None:
        noted = replace(sample, extra={**sample.extra, NAME: {**sample.extra.get(NAME, {}), "case": hashed}})
        with self._lock:
            try:
                append_whole(self._file.fileno(), encode(noted) + b"\n")
                os.fsync(self._file.fileno())
            except OSError as error:
                remedy = "free some space, then run the same command to continue"
                raise WriteError(f"{self.path} cannot be written: {error.strerror} ({remedy})") from None
            self._done[(sample.id, sample.epoch or 0)] = hashed

    def close(self) -> None:
        self._file.close()

    def supersede(self, wanted: dict[str, str], *, unanswered: bool = False) -> int:
        """Set recordings aside whose case has changed since, and with `unanswered` those of these cases without an
        answer; gives how many. They were paid for: none is deleted."""
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
        self._file = self.path.open("ab", buffering=0)
        _lock(self._file.fileno(), self.path)
        for key in old:
            del self._done[key]
        self.unanswered -= old
        return len(old)

    def _mend(self) -> None:
        """Cut off a last line that a kill left unfinished: it is no recording, and would spoil the next one."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with self.path.open("r+b") as file:
                file.truncate(whole)

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
            told = sample.trajectory.outcome if sample.trajectory is not None else None
            if told is not None and told.status in ("error", "limit", "cancelled"):
                self.unanswered.add(key)

    @property
    def _first_line(self) -> bytes:
        with self.path.open("rb") as file:
            return file.readline()


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
            # An agent that was just being started when its run was killed holds the file for a moment longer.
            if attempt == _ATTEMPTS - 1:
                raise UsageError(f"{path.parent} is being written by another `pantrace run`") from None
            time.sleep(_PAUSE)
    if os.fstat(descriptor).st_ino != path.stat().st_ino:
        # The other one has put a new file in its place meanwhile.
        raise UsageError(f"{path.parent} is being written by another `pantrace run`")
