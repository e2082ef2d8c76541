"""User-written patterns, searched in untrusted texts with a time limit.

Python's regular expressions backtrack: `(a+)+$` takes years for forty letters. They react to signals while they search,
so a timer of this process's CPU time ends such a search. Timers belong to the main thread: in other threads, and on
systems without timers, a search has no limit.
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
"""Seconds of CPU time that one search may take. A reasonable pattern takes milliseconds for a megabyte."""


class TooSlow(UsageError):
    """Raised when a pattern backtracks too long over a text."""


def compiled(text: str) -> re.Pattern[str]:
    """A user's pattern, compiled; a UsageError that begins with "not a regular expression" if it is
    not valid."""
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

    # CPU time, not wall-clock time: a busy machine must not make a good pattern fail.
    former = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
