"""Shared judges: one bench for all who do the work. Its cache, its budget, its keys and its queue stay in the process
that the user started; workers put their questions through it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pantrace.judges import Listener

from .executor import Executor, InProcess
from .judge import Bench

_AHEAD = 2
"""Questions that one worker may have with us for each that can wait for its answer at once: enough that the next is
there, and so few that a thousand workers with slow judges fit into memory."""


@contextmanager
def shared_judges(bench: Bench, executor: Executor) -> Iterator[Bench]:
    """The judges as those have them who do the work: ours where that is this process, else one that can be sent to
    others, and that nobody can use when the block is left. The executor must be running."""
    if bench.judge is None or isinstance(executor, InProcess):
        yield bench
        return
    at_once, host = _AHEAD * bench.concurrency, executor.listening_host()
    with Listener(bench.judge, host=host, at_once=at_once, close=bench.close) as listener:
        yield bench.relayed(listener.line)
