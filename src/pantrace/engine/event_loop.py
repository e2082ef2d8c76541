"""Event loop: asks many questions at once, and ends cleanly when a person presses Ctrl-C."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

_ROUNDS = 100
"""Turns of the loop in which tasks may end that were told to; far more than they wait for each other."""


class EventLoop:
    """An asyncio runner for several coroutines one after the other."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __enter__(self) -> EventLoop:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns; afterwards another one can be run, even behind a KeyboardInterrupt."""
        try:
            return self._runner.run(coroutine)
        except KeyboardInterrupt:
            self._calm_down(self._runner.get_loop())
            if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                coroutine.close()  # the key came before it began, and Python would complain that nobody awaited it
            raise

    def _calm_down(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take away what an interruption leaves in the loop, which would end whatever is run next: an order to stop,
        if it came when the coroutine had just ended; itself, on its way from the task that it hit to those that wait
        for that task."""
        loop.set_exception_handler(lambda *_: None)  # that nobody took a task's exception is no news now
        for task in asyncio.all_tasks(loop):
            task.cancel()
        for _ in range(_ROUNDS):
            loop.stop()
            with suppress(KeyboardInterrupt):
                loop.run_forever()
            if not asyncio.all_tasks(loop):
                return
