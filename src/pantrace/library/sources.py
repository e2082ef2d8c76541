"""Sources: what the functions of the library take: paths, run directories, runs that were read or made before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import TypeVar

from pantrace.engine.executor import Engine, Executor, InProcess
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.select import Selection, parse_since
from pantrace.engine.where import parse_where
from pantrace.errors import UsageError
from pantrace.model import Run, Sample
from pantrace.places import path_at

Recordings = str | PathLike[str] | Run
"""A file, a directory, a run directory, an object of these (what `evaluate` gives), or a run."""

T = TypeVar("T")


def listed(given: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """One name or several, as a list: a single text is no list of letters."""
    return [fspath(given)] if isinstance(given, (str, PathLike)) else [fspath(each) for each in given]


def refuse_other(name: str, given: object, allowed: Sequence[str]) -> None:
    """A UsageError where a word is none of those that an option knows: a misspelt one must not mean another."""
    if given not in allowed:
        close = get_close_matches(str(given), allowed, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it is one of {', '.join(allowed)}"
        raise UsageError(f"{name}={given!r}: {hint}")


def pile_of(sources: Sequence[Recordings], format: str | None, notes: Notes) -> Run:  # noqa: A002
    """All of them as one run. Broken records are left out, and noted."""
    if not sources:
        raise UsageError("name what to read: a file, a directory or a run")
    if len(sources) == 1 and isinstance(sources[0], Run):
        notes.reading = sources[0].name
        return sources[0]
    if not any(isinstance(each, Run) for each in sources):
        return read_pile([path_at(each) for each in sources if not isinstance(each, Run)], format=format, notes=notes)
    return Run(name=f"{len(sources)} sources", samples=_chained(sources, format, notes))


def _chained(sources: Sequence[Recordings], format_: str | None, notes: Notes) -> Iterator[Sample]:
    for each in sources:
        yield from pile_of([each], format_, notes).samples


def select(
    *,
    where: str | Iterable[str] = (),
    sample: str | Iterable[str] = (),
    since: str | None = None,
    until: str | None = None,
    limit: int | None = None,
) -> Selection:
    """Choose samples, in the words of the commands: `select(where="agent=build", since="7d", limit=10)`.

    docs/select.md lists the fields of `where`; `sample` takes ids, or the start of one."""
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    return Selection(
        since=parse_since(since, now) if since else None,
        until=parse_since(until, now, "--until") if until else None,
        sessions=tuple(listed(sample)),
        where=tuple(parse_where(text) for text in listed(where)),
        limit=limit,
    )


def outside_loop(work: Callable[[], T]) -> T:
    """Do work that needs an event loop of its own; in a notebook, where one is running already, in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def paths_of(sources: Sequence[Recordings]) -> list[Path]:
    """The sources that are paths."""
    return [path_at(each) for each in sources if not isinstance(each, Run)]


def engine_for(
    sources: Sequence[Recordings],
    engine: Engine,
    selection: Selection | None,
    on_start: Callable[[str], None],
    task: type,
) -> Executor:
    """Who does such a task. Runs that are held in memory are not sent to other processes."""
    if any(isinstance(each, Run) for each in sources):
        return InProcess()
    return engine.for_pile(paths_of(sources), selection if selection is not None else Selection(), on_start, task)
