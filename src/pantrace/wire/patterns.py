"""User-written patterns, searched in untrusted texts with a time limit.

Python's regular expressions go back and forth over a text; `(a+)+$` takes longer than a life for forty letters. They
listen to signals while they search, so a timer of this process's own computing time ends such a search. Timers belong
to the main thread: in another one, and on systems without them, a search is not bounded.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pantrace.errors import UsageError

T = TypeVar("T")

LONGEST = 5
"""Seconds of computing that one search may take. A pattern of a sane form takes milliseconds for a megabyte."""


class TooSlow(UsageError):
    """Raised when a pattern backtracks too long over a text."""


def compiled(text: str) -> re.Pattern[str]:
    """A pattern that a person wrote, compiled; a UsageError that begins with "not a regular expression" unless it
    can be."""
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:  # a{99999999999} and a thousand brackets
        told = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"not a regular expression: {told}") from None


def search(pattern: re.Pattern[str] | str, text: str, flags: int = 0) -> re.Match[str] | None:
    """Like `re.search`, but raises TooSlow when it takes too long."""
    compiled = re.compile(pattern, flags)
    return _bounded(compiled, lambda: compiled.search(text))


def find_all(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Like `finditer`, but raises TooSlow when it takes too long."""
    return _bounded(pattern, lambda: list(pattern.finditer(text)))


def _bounded(pattern: re.Pattern[str], work: Callable[[], T]) -> T:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return work()
    with _timer(pattern.pattern):
        return work()


@contextmanager
def _timer(pattern: str) -> Iterator[None]:
    def end(*_: Any) -> None:
        raise TooSlow(
            f"the pattern {pattern!r} takes more than {LONGEST} s of computing on one text; write it without a "
            "repetition inside a repetition, or with possessive ones (a++)"
        )

    # Counts this process's computing time, not the clock: a busy machine must not make a good pattern fail.
    former = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
