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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pantrace.wire.progress import Progress

PERIOD = 0.15
"""Seconds between two drawings; what is done sooner shows no progress at all."""
BAR = 20
SURE = 0.01
"""The share of the work after which the time left is told: before, it would jump."""


@contextmanager
def progress(
    what: str, *, total: int | None = None, printing: bool = False, more: Callable[[], str] = lambda: ""
) -> Iterator[Callable[[Any], None]]:
    """A counter on stderr while a person is watching: how many, how quick, how far, how much longer. Gives a function
    to call for each thing done.

    `what` is one of the things counted ("sample"). `total`: how many there will be at most; the bytes of the inputs say
    how far it is where they are further. Nothing may be said inside the block: it would land in the middle of the line.
    `printing`: the results are written to stdout inside the block; then there is no line unless they go to a file,
    where they cannot meet it. `more`: what else stands in the line."""
    if not _watched() or (printing and not _kept()):
        yield lambda _: None
        return
    from pantrace.wire.progress import Progress, watching

    with watching(Progress()) as pace:
        line = _Line(what, total, pace, more)
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

    def __init__(self, what: str, total: int | None, pace: Progress, more: Callable[[], str]):
        super().__init__(name="progress", daemon=True)
        self._what = what
        self._total = total
        self._pace = pace
        self._more = more
        self._begun = monotonic()
        self._furthest = 0.0
        self._ended = Event()
        self._drawn = False

    def count(self, _: Any) -> None:
        self._pace.samples += 1

    def run(self) -> None:
        with suppress(OSError):  # the terminal has gone; whoever writes next is told so
            while not self._ended.wait(PERIOD):
                self._drawn = True
                seconds = monotonic() - self._begun
                self._draw(line_text(self._what, self._pace.samples, self._share(), seconds, self._more()))

    def end(self) -> None:
        """Wipe the line away."""
        self._ended.set()
        self.join()
        if self._drawn:
            with suppress(OSError):
                self._draw("")

    def _share(self) -> float | None:
        """How much is done; it never goes back, even when inputs turn up late."""
        pace = self._pace
        shares = [pace.done() / pace.expected] if pace.expected else []
        total = self._total if pace.total is None else pace.total
        if total is not None and total > pace.skipped:
            shares.append(pace.samples / (total - pace.skipped))
        if not shares:
            return None
        self._furthest = max(self._furthest, min(max(shares), 1.0))
        return self._furthest

    def _draw(self, text: str) -> None:
        # The whole line is wiped, since keys that were pressed meanwhile stand behind the text. A line as wide as the
        # terminal would wrap, and the next carriage return would not reach its start: some room is left, for ^C too.
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        line = f"\r{' ' * (width - 1)}\r{text[: max(width - 4, 0)]}"
        # Not through sys.stderr, whose lock may be held when the interpreter ends.
        os.write(sys.stderr.fileno(), line.encode(sys.stderr.encoding or "ascii", "replace"))


def line_text(what: str, done: int, share: float | None, seconds: float, more: str = "") -> str:
    """`1,234 samples, 310/s, 0:00:04 [########            ] 42 %, 0:00:06 left`: the count stands first, so that a
    narrow terminal cuts the rest. No letters beyond ASCII, which any terminal can draw."""
    rate = f", {_per_second(done / seconds)}/s" if done and seconds else ""
    text = f"{done:,} {what}{'' if done == 1 else 's'}{rate}, {_clock(seconds)}{more}"
    if share is None:
        return text
    text += f" [{'#' * int(share * BAR):{BAR}}] {int(share * 100)} %"
    return f"{text}, {_clock(seconds / share - seconds)} left" if SURE <= share < 1 else text


def _per_second(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


def _clock(seconds: float) -> timedelta:
    return timedelta(seconds=int(seconds))
