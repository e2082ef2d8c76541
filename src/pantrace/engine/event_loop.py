"""Event loop: asks many questions at once, and ends cleanly on Ctrl-C."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

_ROUNDS = 100
"""Rounds of the loop in which cancelled tasks may end; far more than tasks wait for each other."""


class EventLoop:
    """An asyncio runner for several coroutines one after the other."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __enter__(self) -> EventLoop:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns. Another one can be run afterwards, even after a KeyboardInterrupt."""
        try:
            return self._runner.run(coroutine)
        except KeyboardInterrupt:
            self._calm_down(self._runner.get_loop())
            if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                # Ctrl-C came before it started, and Python would warn that it was never awaited.
                coroutine.close()
            raise

    def _calm_down(self, loop: asyncio.AbstractEventLoop) -> None:
        """Remove what an interruption leaves in the loop, because it would end whatever runs next: a request to stop,
        if it came just when the coroutine had ended; and the exception itself, on its way from the task that it hit to
        the tasks that wait for it."""
        # Otherwise asyncio prints that a task's exception was never retrieved.
        loop.set_exception_handler(lambda *_: None)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        for _ in range(_ROUNDS):
            loop.stop()
            with suppress(KeyboardInterrupt):
                loop.run_forever()
            if not asyncio.all_tasks(loop):
                return
