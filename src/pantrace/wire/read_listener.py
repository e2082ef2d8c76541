"""Listening to a reading: a measuring caller sees every record that is read, without the readers knowing.

Readers do not know of it. Whoever measures a reading listens for its time (`listening`); all places where bytes become
records (lines, documents, members of archives, rows of databases) tell what they hand out, each record once by its
place. Nobody listening costs one look at a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Listener = Callable[[Hashable, Any], None]
"""Takes the place of a record and its JSON text, its value where it never was JSON text, or a row of a table
(`wire.table_row`)."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)

listener = _listener.get
"""The current listener, or None."""


DecodeListener = Callable[[Any, Any], None]
"""Takes a JSON text and what it says, or a list of texts and a list of what they say, before anybody else may change
that."""

_decode_listener: ContextVar[DecodeListener | None] = ContextVar("decode_listener", default=None)

decode_listener = _decode_listener.get
"""The current listener for decoded texts, or None. It saves decoding the same text a second time."""


RowsListener = Callable[[tuple[str, ...], Sequence[tuple[Any, ...]]], None]
"""Takes the names of columns and many rows of a table at once, which takes half the time of telling each."""

_rows_listener: ContextVar[RowsListener | None] = ContextVar("rows_listener", default=None)

rows_listener = _rows_listener.get
"""The current listener for many rows, or None: then each is told to the listener."""


@contextmanager
def listening(
    to: Listener | None, hear: DecodeListener | None = None, rows: RowsListener | None = None
) -> Iterator[None]:
    """Report everything that is read inside to `to` (many rows of a table to `rows`, if it is given), and all JSON that
    is decoded inside to `hear`."""
    tokens = _listener.set(to), _decode_listener.set(hear), _rows_listener.set(rows)
    try:
        yield
    finally:
        _listener.reset(tokens[0])
        _decode_listener.reset(tokens[1])
        _rows_listener.reset(tokens[2])
