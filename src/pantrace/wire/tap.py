"""Tap: who wants to see what comes through the door while a recording is read.

Readers do not know of it. Whoever measures a reading listens for its time (`listening`); all places where bytes become
records (lines, documents, members of archives, rows of databases) tell what they hand out, each record once by its
place. Nobody listening costs one look at a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Listener = Callable[[Hashable, Any], None]
"""Takes the place of a record and its JSON text, its value where it never was JSON text, or a row of a table
(`wire.table_row`)."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)

listener = _listener.get
"""Who listens, or None."""


Hearer = Callable[[Any, Any], None]
"""Takes a JSON text and what it says, before anybody else may change that."""

_hearer: ContextVar[Hearer | None] = ContextVar("hearer", default=None)

hearer = _hearer.get
"""Who wants to know what texts say that the reader decodes, or None: decoding them again takes time."""


@contextmanager
def listening(to: Listener | None, hear: Hearer | None = None) -> Iterator[None]:
    """Everything that is read inside is told, and all JSON that is decoded inside is heard."""
    token, other = _listener.set(to), _hearer.set(hear)
    try:
        yield
    finally:
        _listener.reset(token)
        _hearer.reset(other)
