"""Mending: what a writer had to set right so that the target's own tools read it.

Writers say what they mended (`mended`); whoever reports a conversion listens for its time (`mending`). Nobody listening
costs one look at a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, str], None]
"""Takes the place of a value in what is written, and what was done to it."""

_listener: ContextVar[Listener | None] = ContextVar("mending", default=None)


def mended(place: str, what: str) -> None:
    """Say that the value at a place was set right."""
    if (listener := _listener.get()) is not None:
        listener(place, what)


@contextmanager
def mending(to: Listener) -> Iterator[None]:
    """Everything that writers mend inside is told."""
    token = _listener.set(to)
    try:
        yield
    finally:
        _listener.reset(token)
