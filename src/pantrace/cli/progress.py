"""Progress: one line at the bottom of the terminal that counts what is done, and disappears at the end."""

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
"""Seconds between two updates; a shorter command shows no progress at all."""
# In ASCII letters: a bar of block characters is garbled on terminals without UTF-8.
BAR = 20
SURE = 0.01
"""The share of the work after which the remaining time is shown; before, the estimate would jump."""


@contextmanager
def progress(
    what: str, *, total: int | None = None, printing: bool = False, more: Callable[[], str] = lambda: ""
) -> Iterator[Callable[[Any], None]]:
    """A counter on stderr while a person is watching: how many, how fast, how far, how long still. Yields a function to
    call for each thing done.

    `what` is one of the things counted ("sample"). `total`: how many there will be at most; the share of input bytes is
    used if it is further along. Print nothing inside the block: it would land in the middle of the line. `printing`:
    the results are written to stdout inside the block; then there is no line, unless stdout is a file. `more`: further
    text for the line."""
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
    """Whether stderr is a terminal that can go back to the start of a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def _kept() -> bool:
    """Whether stdout is a file. The reader of a pipe may print to the terminal that we draw on."""
    try:
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False


class _Line(Thread):
    """Draws the line again and again, with only spaces and carriage returns: a killed process cannot leave the terminal
    in a strange mode."""

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
        with suppress(OSError):  # the terminal is gone; the next real message reports it
            while not self._ended.wait(PERIOD):
                self._drawn = True
                seconds = monotonic() - self._begun
                self._draw(line_text(self._what, self._pace.samples, self._share(), seconds, self._more()))

    def end(self) -> None:
        """Erase the line."""
        self._ended.set()
        self.join()
        if self._drawn:
            with suppress(OSError):
                self._draw("")

    def _share(self) -> float | None:
        """How much is done; it never goes back, even if more inputs are found later."""
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
        # The whole line is erased, because keys that were pressed are echoed after the text. A line as wide as the
        # terminal would wrap, and a carriage return would not reach its start: some room is left, also for ^C.
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        line = f"\r{' ' * (width - 1)}\r{text[: max(width - 4, 0)]}"
        # Not through sys.stderr: this thread could hold its lock when the interpreter ends, which would hang.
        os.write(sys.stderr.fileno(), line.encode(sys.stderr.encoding or "ascii", "replace"))


def line_text(what: str, done: int, share: float | None, seconds: float, more: str = "") -> str:
    """`1,234 samples, 310/s, 0:00:04 [########            ] 42 %, 0:00:06 left`: the count comes first, so that a
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
