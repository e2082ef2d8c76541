"""Pool: parts done by several processes of this machine. One that dies is replaced, and its part is done again.

Not the standard library's: there, one dead process ends all, and nobody knows which part it was at."""

from __future__ import annotations

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from threading import Thread
from traceback import format_exc
from typing import Any

from pantrace.errors import PantraceError, ReadError
from pantrace.wire.limits import Limits, limits, set_limits

from .collector import seldom_collecting
from .executor import InProcess, Task, several
from .input_part import InputPart
from .start_method import context_of, settle_in, surroundings, warm_up

DEATHS = 3
"""How often a part may end its process before it is given up."""
_TOGETHER_BYTES, _TOGETHER = 1_000_000, 64
"""Small parts are sent together, up to so many bytes and parts."""
_QUEUED = 2
"""Batches that a process has: the one it is at, and one to go on with while we are busy."""
_AHEAD = 4
"""Batches for each process that may be sent before the results of the oldest are taken: they wait in memory."""


@dataclass
class _Batch:
    parts: dict[int, InputPart]
    """By their place among all parts."""
    deaths: int = 0


class Pool:
    """Processes that are started when there is something to do, and ended when the block is left."""

    def __init__(self, jobs: int, on_start: Callable[[str], None] = lambda _: None, task: type | None = None):
        """`task`: what will be done, where that is sure to be worth it; it is loaded from now on, not when the first
        part is known."""
        self._jobs = jobs
        self._on_start = on_start
        self._workers: list[_Worker] = []
        if task is not None:
            warm_up(task.__module__)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers = []

    def map_parts(self, task: Task, parts: Iterable[InputPart]) -> Iterator[tuple[InputPart, Iterable[Any]]]:
        """Each part with its records, in the order of the parts; one part alone is done here."""
        worth_it, parts = several(parts)
        if not worth_it:
            yield from InProcess().map_parts(task, parts)
            return
        warm_up(type(task).__module__)
        self._on_start(f"{self._jobs} processes")
        yield from _Mapping(self._jobs, task, parts, self._workers).results()

    def listening_host(self) -> None:
        return None


class _Mapping:
    """One task over many parts."""

    def __init__(self, jobs: int, task: Task, parts: Iterable[InputPart], workers: list[_Worker]):
        self._jobs, self._task, self._workers = jobs, task, workers
        self._batches = _batches(parts)
        self._again: deque[_Batch] = deque()
        """What was with a process that died."""
        self._found: dict[int, tuple[InputPart, Any]] = {}
        self._told = self._sent = 0
        self._weight = 0
        """Bytes of the parts that were sent and not told."""

    def results(self) -> Iterator[tuple[InputPart, Iterable[Any]]]:
        while True:
            self._feed()
            while self._told in self._found:
                part, found = self._found.pop(self._told)
                self._told += 1
                self._weight -= part.weight
                if isinstance(found, BaseException):
                    raise found
                yield part, found
                self._feed()
            if not any(worker.batches for worker in self._workers):
                return
            self._receive()

    def _feed(self) -> None:
        """Give everybody something to do; the least busy first, so that one batch each comes before two."""
        for queued in range(_QUEUED):
            for number in range(self._jobs):
                if number < len(self._workers) and len(self._workers[number].batches) > queued:
                    continue
                if (batch := self._next()) is None:
                    return
                if number == len(self._workers):
                    self._workers.append(_Worker(self._task))
                self._workers[number].send(batch)

    def _next(self) -> _Batch | None:
        if self._again:
            return self._again.popleft()
        most = _AHEAD * self._jobs
        if self._sent - self._told >= most and self._weight >= most * _TOGETHER_BYTES:
            return None
        if (batch := next(self._batches, None)) is not None:
            self._sent += len(batch.parts)
            self._weight += sum(part.weight for part in batch.parts.values())
        return batch

    def _receive(self) -> None:
        by_end = {worker.line: worker for worker in self._workers if worker.batches}
        for ready in connection.wait([*by_end]):
            worker = by_end[ready]
            try:
                found = worker.line.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                self._bury(worker)
                continue
            batch = worker.batches.popleft()
            for (number, part), each in zip(batch.parts.items(), found, strict=False):
                self._found[number] = part, each

    def _bury(self, worker: _Worker) -> None:
        """Take what a dead process had: what it was at is tried again by itself, until it has killed too many."""
        first, *others = worker.batches
        worker.end()
        self._workers.remove(worker)
        first.deaths += 1
        if first.deaths == DEATHS and len(first.parts) == 1:
            ((number, part),) = first.parts.items()
            self._found[number] = part, _died(part, worker.process.exitcode)
        else:
            self._again += [_Batch({number: part}, first.deaths) for number, part in first.parts.items()]
        self._again += others


class _Worker:
    """A process, the line to it, and what it has to do."""

    def __init__(self, task: Task):
        context = context_of()
        self.line, theirs = context.Pipe()
        self.batches: deque[_Batch] = deque()
        given = (theirs, task, limits(), surroundings())
        self.process = context.Process(target=_work, args=given, name="pantrace worker", daemon=True)
        self.process.start()
        theirs.close()

    def send(self, batch: _Batch) -> None:
        self.batches.append(batch)
        try:
            self.line.send([*batch.parts.values()])
        except OSError:
            pass  # it has died, which is found out where its answer is awaited

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.line.close()


def _batches(parts: Iterable[InputPart]) -> Iterator[_Batch]:
    batch: dict[int, InputPart] = {}
    weight = 0
    for number, part in enumerate(parts):
        if batch and (weight + part.weight > _TOGETHER_BYTES or len(batch) == _TOGETHER):
            yield _Batch(batch)
            batch, weight = {}, 0
        batch[number] = part
        weight += part.weight
    if batch:
        yield _Batch(batch)


def _died(part: InputPart, code: int | None) -> ReadError:
    how = f"with exit code {code}"
    if code is not None and code < 0:
        how = f"by {signal.Signals(-code).name}"
    return ReadError(
        f"the process that read it ended {how}, {DEATHS} times",
        path=part.path,
        place=part.words,
        remedy="was there too little memory? --jobs 1 needs the least; run the same command to continue",
    )


# In the other process


def _work(line: connection.Connection, task: Task, allowed: Limits, environment: dict[str, str]) -> None:
    set_limits(allowed)
    settle_in(environment)
    # Ctrl-C reaches every process of a terminal; ours ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    with seldom_collecting():
        while True:
            try:
                parts = line.recv()
            except EOFError:
                return
            line.send([*_done(task, parts)])


def _end_with_parent() -> None:
    """A parent that was killed ends nobody: without this, its workers would go on and then wait for ever."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _done(task: Task, parts: list[InputPart]) -> Iterator[Any]:
    try:
        # A task that mostly waits may do small parts together.
        if len(parts) > 1 and (together := getattr(task, "together", None)) is not None:
            yield from together(parts)
            return
        for part in parts:
            yield [*task(part)]
    except Exception as error:  # noqa: BLE001 -- it is raised where the results are awaited
        yield sendable(error)


def sendable(error: Exception) -> Exception:
    """The error, or one that says the same, if it cannot be sent."""
    told = format_exc()
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 -- anything may be wrong with it
        kind = PantraceError if isinstance(error, PantraceError) else RuntimeError
        error = kind(str(error) if kind is PantraceError else f"{type(error).__name__}: {error}")
    error.add_note(told)
    return error
