"""Repairs: what a writer had to change so that the target's own tools can read the file.

Writers call `note_repair`; the code that reports a conversion listens with `noting_repairs`. Without a listener, a note
costs one look at a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, str], None]
"""Takes the place of a value in the output, and what was done to it."""

_listener: ContextVar[Listener | None] = ContextVar("repairs", default=None)


def note_repair(place: str, what: str) -> None:
    """Report that the value at a place was repaired."""
    if (listener := _listener.get()) is not None:
        listener(place, what)


@contextmanager
def noting_repairs(to: Listener) -> Iterator[None]:
    """Pass every repair made inside to a listener."""
    token = _listener.set(to)
    try:
        yield
    finally:
        _listener.reset(token)
