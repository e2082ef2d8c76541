"""The journal's file, and the native file to which a finished recording is added."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.model import Sample
from pantrace.wire.append import append_whole
from pantrace.wire.journal import NO_EVENT, Event, event_in, sample_of
from pantrace.wire.json import encode

FIRST_LINE = b'{"pantrace":"2"}\n'
"""The header of a native file."""
DEEPEST = 100
"""Levels of lists and objects that are recorded of one value; a value that contains itself has no end."""
WIDEST = 13_000
"""Bits of an integer that is recorded in decimal: Python refuses to print more than 4,300 digits."""


class Journal:
    """A file that grows by whole lines. Each event is passed to the operating system at once, so what was recorded
    before the process is killed is in the file."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        # O_EXCL: two recorders must never share a journal. O_APPEND: each write goes to the end of the file.
        self._file: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o644)
        self._lock = threading.Lock()
        self._encoder = msgspec.json.Encoder(enc_hook=str)
        self._numbers = count(1)

    def number(self) -> int:
        """A number that nothing else in this recording has."""
        return next(self._numbers)

    def add(self, event: Event) -> None:
        try:
            line = self._encoder.encode(event) + b"\n"
        except (UnicodeEncodeError, ValueError, OverflowError, TypeError):
            # The slow encoder writes what msgspec refuses: half letters, integers beyond 64 bits.
            line = encode(msgspec.to_builtins(event, enc_hook=str)) + b"\n"
        try:
            event_in(line)
        except ReadError as error:
            # Refused here, where the mistake is made: one unreadable line would cost the whole recording at its end.
            raise UsageError(f"that cannot be recorded: {error.message.removeprefix(NO_EVENT)}") from None
        with self._lock:
            if self._file is None:
                raise UsageError("the recording is finished: nothing can be added to it")
            # One write for one line: lines of several threads never mix.
            append_whole(self._file, line)

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            # The system may reuse the number for another file, and a thread that still records would write into that.
            self._file = None

    def sample(self) -> Sample:
        """What was recorded, as a reader will see it."""
        with self.path.open("rb") as lines:
            # A line without its end was cut off when the process was killed.
            return sample_of(event_in(line) for line in lines if line.endswith(b"\n"))


def add_to_native(sample: Sample, target: Path) -> None:
    """Add a sample to a native file, which is created if necessary. Several processes may do so at once."""
    # Late: Windows has no fcntl, and must still be able to import this module.
    import fcntl

    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # Under the lock: two processes that both find the file empty would write two headers.
        start = b"" if os.fstat(file.fileno()).st_size else FIRST_LINE
        append_whole(file.fileno(), start + encode(sample) + b"\n")


def plain(value: Any, levels: int = DEEPEST) -> Any:
    """A value as JSON can represent it: objects of other libraries by their fields, otherwise by their text. Numbers
    that JSON lacks (NaN, infinity) become text, since null would mean that there was none. Never raises: recording must
    not stop an agent, whatever it passes."""
    # Before the general case: printing such a number would raise an error in the middle of somebody's agent.
    if isinstance(value, int) and value.bit_length() > WIDEST:
        return hex(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if not levels:
        return f"(nested deeper than {DEEPEST} levels)"
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {_text(key): plain(each, levels - 1) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each, levels - 1) for each in value]
    try:
        for method in ("model_dump", "to_dict"):
            if callable(dump := getattr(value, method, None)) and not isinstance(value, type):
                return plain(dump(), levels - 1)
        return msgspec.to_builtins(value, enc_hook=_text, str_keys=True)
    except Exception:  # noqa: BLE001 -- whatever somebody else's object does when it is asked
        return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 -- as above
        return f"({type(value).__name__}, without a text: {type(error).__name__})"
