"""A time limit for each piece that a server sends.

The client's own limits are for single requests. A server that sends a byte now and then, or endless empty pages of a
listing, never exceeds them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar, cast

from pantrace.errors import UsageError

T = TypeVar("T")

LONGEST = 120.0
"""Seconds that a piece may take (a page of a listing, some hundred kilobytes of an object), unless
PANTRACE_CLOUD_TIMEOUT says otherwise."""


def patience() -> float:
    """Seconds for a piece. Read here and not by the command line, because nodes of a cluster have none."""
    text = os.environ.get("PANTRACE_CLOUD_TIMEOUT", "")
    try:
        found = float(text) if text else LONGEST
    except ValueError:
        found = 0.0
    if not 0 < found < 86_400:
        raise UsageError(f"PANTRACE_CLOUD_TIMEOUT is {text!r}; it is a number of seconds")
    return found


class TooSlow(Exception):
    """A piece did not arrive in time."""


def in_time(begin: Callable[[], Iterable[T]]) -> Iterator[T]:
    """The pieces that `begin` returns; TooSlow if one does not arrive in time. A call that hangs is abandoned: its
    thread ends with the process."""
    # Two at most: a fast server must not fill the memory while we write to a slow disk.
    waiting: Queue[tuple[str, Any]] = Queue(maxsize=2)
    stopped = Event()

    def put(kind: str, piece: Any = None) -> bool:
        while not stopped.is_set():
            try:
                waiting.put((kind, piece), timeout=0.2)
            except Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for piece in begin():
                if not put("piece", piece):
                    return
            put("end")
        except BaseException as error:  # noqa: BLE001 -- raised again where somebody waits for it
            put("error", error)

    Thread(target=work, name="bucket", daemon=True).start()
    seconds = patience()
    try:
        while True:
            try:
                kind, piece = waiting.get(timeout=seconds)
            except Empty:
                raise TooSlow(f"nothing came for {seconds:g} s") from None
            if kind == "error":
                raise piece
            if kind == "end":
                return
            yield cast("T", piece)
    finally:
        stopped.set()
