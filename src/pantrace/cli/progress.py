"""Progress: one line at the bottom of the terminal that counts what is done, and is gone when all of it is."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event, Thread
from time import monotonic
from typing import Any

PERIOD = 0.15
"""Seconds between two drawings; what is done sooner shows no progress at all."""


@contextmanager
def progress(
    what: str, *, printing: bool = False, more: Callable[[], str] = lambda: ""
) -> Iterator[Callable[[Any], None]]:
    """A counter with its rate on stderr while a person is watching; a function to call for each thing done.

    Nothing may be said inside the block: it would land in the middle of the line. `printing`: the results are written
    to stdout inside the block; then there is no line unless they go to a file, where they cannot meet it. `more`: what
    else stands in the line."""
    if not _watched() or (printing and not _kept()):
        yield lambda _: None
        return
    line = _Line(what, more)
    line.start()
    try:
        yield line.count
    finally:
        line.end()


def _watched() -> bool:
    """Whether a person watches stderr, on a terminal that can go back to the start of a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def _kept() -> bool:
    """Whether stdout is a file. The reader of a pipe may well print to the terminal that we draw on."""
    try:
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False


class _Line(Thread):
    """Draws the line again and again, with nothing but spaces and carriage returns: there is no mode of the terminal
    that a killed process could leave behind."""

    def __init__(self, what: str, more: Callable[[], str]):
        super().__init__(name="progress", daemon=True)
        self._what = what
        self._more = more
        self._done = 0
        self._begun = monotonic()
        self._ended = Event()
        self._drawn = False

    def count(self, _: Any) -> None:
        self._done += 1

    def run(self) -> None:
        with suppress(OSError):  # the terminal has gone; whoever writes next is told so
            while not self._ended.wait(PERIOD):
                self._drawn = True
                self._draw(self._text())

    def end(self) -> None:
        """Wipe the line away."""
        self._ended.set()
        self.join()
        if self._drawn:
            with suppress(OSError):
                self._draw("")

    def _text(self) -> str:
        seconds = monotonic() - self._begun
        rate = f", {self._done / seconds:.0f}/s" if self._done else ""
        return f"{self._done} {self._what}{rate}, {timedelta(seconds=int(seconds))}{self._more()}"

    def _draw(self, text: str) -> None:
        # The whole line is wiped, since keys that were pressed meanwhile stand behind the text. A line as wide as the
        # terminal would wrap, and the next carriage return would not reach its start: some room is left, for ^C too.
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        line = f"\r{' ' * (width - 1)}\r{text[: max(width - 4, 0)]}"
        # Not through sys.stderr, whose lock may be held when the interpreter ends.
        os.write(sys.stderr.fileno(), line.encode())
