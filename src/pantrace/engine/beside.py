"""Beside: small work that this process does while it waits for its workers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeVar

Made = TypeVar("Made")

_LATER = ("numpy", "pyarrow.dataset", "duckdb", "scipy.special")
"""What the summary of an evaluation needs: three quarters of a second to load, in which nobody would work."""


class Beside:
    """One thread, ended with the block. Not a pool of the standard library: that would finish everything that waits,
    and who pressed Ctrl-C does not want to wait for it."""

    def __init__(self) -> None:
        self.is_over = Event()
        """Whether nobody waits for the rest any more: whatever takes long looks at it."""
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread = Thread(target=self._work, name="pantrace beside", daemon=True)

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self._waiting.put(lambda: None)
        self._thread.join()

    def promise(self, make: Callable[[], Made]) -> Callable[[], Made]:
        """Begin something; gives a function that waits for it, and raises what it raised."""
        found: Future[Made] = Future()

        def work() -> None:
            try:
                found.set_result(make())
            except BaseException as error:  # noqa: BLE001 -- it is raised where the result is awaited
                found.set_exception(error)

        self._waiting.put(work)
        return found.result

    def load_for_summary(self) -> None:
        """Load what will be needed at the end."""
        self.promise(_load)

    def _work(self) -> None:
        while not self.is_over.is_set():
            self._waiting.get()()


def _load() -> None:
    for name in _LATER:
        try:
            import_module(name)
        except ImportError:  # said where it is needed
            return
