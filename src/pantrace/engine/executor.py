"""Executor: who does the work on the parts of inputs. What it comes to is the same whoever does it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, Protocol

from pantrace.errors import UsageError

from .collector import seldom_collecting
from .input_part import InputPart, weight_of
from .select import Selection

Task = Callable[[InputPart], Iterator[Any]]
"""Reads one part and gives small records. It is sent to other processes, so it is an object of a module."""

SMALL = 64_000_000
"""Bytes of input below which starting processes costs more than they save."""


class Executor(AbstractContextManager["Executor"], Protocol):
    """Runs a task over parts. To be left by `with`, which ends whatever it has started."""

    def map_parts(self, task: Task, parts: Iterable[InputPart]) -> Iterator[tuple[InputPart, Iterable[Any]]]:
        """Each part with its records, in the order of the parts, whatever the order in which they were done."""
        ...

    def listening_host(self) -> str | None:
        """Address of this machine at which those who do the work reach this process; None: they are all on it."""
        ...


class InProcess:
    """Here, one part after another. Records come as they are made."""

    def __init__(self) -> None:
        self._held = ExitStack()

    def __enter__(self) -> InProcess:
        # As workers do: without it one process spends a quarter of its time looking for cycles that are not there.
        self._held.enter_context(seldom_collecting())
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def map_parts(self, task: Task, parts: Iterable[InputPart]) -> Iterator[tuple[InputPart, Iterable[Any]]]:
        for part in parts:
            yield part, task(part)

    def listening_host(self) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What was asked for: who is to do the work, and how many at a time."""

    name: Literal["local", "ray"] = "local"
    jobs: int | None = None
    """None: as many as there are cores, for input that is worth it."""
    address: str | None = None
    """Of a Ray cluster; None: one of our own, on this machine."""

    def executor(
        self, weight: int, on_start: Callable[[str], None] = lambda _: None, task: type | None = None
    ) -> Executor:
        """Who does it for input of so many bytes. `on_start` is told in words when others are started to do it.
        `task`: what they will do, so that they can load it while the input is looked at."""
        if self.name == "ray":
            from .ray_cluster import RayCluster

            return RayCluster(self.address, self.jobs, on_start)
        if self.address is not None:
            raise UsageError("--ray-address is for --engine ray")
        jobs = self.jobs if self.jobs is not None else cores() if weight > SMALL else 1
        if jobs < 2:
            return InProcess()
        from .pool import Pool

        return Pool(jobs, on_start, task if weight > SMALL else None)

    def for_pile(
        self, paths: Iterable[Path], selection: Selection, on_start: Callable[[str], None], task: type | None = None
    ) -> Executor:
        """Who does it for these inputs. A limit and the beginnings of names go over all samples in a row, so that one
        process does it."""
        if not selection.is_by_part:
            return InProcess()
        return self.executor(sum(map(weight_of, paths)), on_start, task)


ONE_PROCESS = Engine(jobs=1)


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not everywhere
        return os.cpu_count() or 1


def several(parts: Iterable[InputPart]) -> tuple[bool, Iterator[InputPart]]:
    """Whether there are at least two parts, and all of them."""
    rest = iter(parts)
    first = [*islice(rest, 2)]
    return len(first) > 1, chain(first, rest)
