"""Beside: small tasks that the coordinator does in a thread while it waits for its workers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeVar

Made = TypeVar("Made")

_LATER = ("numpy", "pyarrow.dataset", "duckdb", "scipy.special")
"""Modules that the summary of an evaluation needs: loading them takes three quarters of a second, with workers idle."""


class Beside:
    """One thread that ends with the block. Not a pool of the standard library, which would finish all waiting tasks
    first: after Ctrl-C, nobody wants to wait for them."""

    def __init__(self) -> None:
        self.is_over = Event()
        """Set when the results are no longer needed; long tasks check it."""
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread = Thread(target=self._work, name="pantrace beside", daemon=True)

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        # Wakes the thread, which may be waiting for a task.
        self._waiting.put(lambda: None)
        self._thread.join()

    def promise(self, make: Callable[[], Made]) -> Callable[[], Made]:
        """Start a task; returns a function that waits for its result and raises its error."""
        found: Future[Made] = Future()

        def work() -> None:
            try:
                found.set_result(make())
            except BaseException as error:  # noqa: BLE001 -- it is raised where the result is awaited
                found.set_exception(error)

        self._waiting.put(work)
        return found.result

    def load_for_summary(self) -> None:
        """Load the modules that are needed at the end."""
        self.promise(_load)

    def _work(self) -> None:
        while not self.is_over.is_set():
            self._waiting.get()()


def _load() -> None:
    for name in _LATER:
        try:
            import_module(name)
        except ImportError:  # reported when the module is needed
            return
