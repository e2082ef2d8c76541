"""Sources of the library's functions: paths, run directories, and runs in memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
"""A file, a directory, a run directory, the result of `evaluate`, or a run."""

T = TypeVar("T")


def listed(given: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """One name or several, as a list: a single string is one name, not a list of letters."""
    return [fspath(given)] if isinstance(given, (str, PathLike)) else [fspath(each) for each in given]


def refuse_other(name: str, given: object, allowed: Sequence[str]) -> None:
    """Raise a UsageError if a word is not allowed: a misspelt one must not silently mean another."""
    if given not in allowed:
        close = get_close_matches(str(given), allowed, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it is one of {', '.join(allowed)}"
        raise UsageError(f"{name}={given!r}: {hint}")


_SEVERAL = {"rubric": "rubrics", "margin": "margins", "metric": "metrics"}
"""Options that can be repeated; in Python one argument takes all of them."""


@contextmanager
def in_python_words() -> Iterator[None]:
    """A UsageError from here names arguments of Python (`split=NAME`) where it names options of a command."""

    def argument(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        return _SEVERAL.get(name, name) + ("=" if found[2] else "")

    try:
        yield
    except UsageError as error:
        # An option is followed by its value: a word in capitals, or in quotes.
        raise UsageError(re.sub(r"(?<![\w-])--([a-z][a-z-]*)( (?=[A-Z'\"]))?", argument, str(error))) from None


def pile_of(sources: Sequence[Recordings], format: str | None, notes: Notes) -> Run:  # noqa: A002
    """All sources as one run. Broken records are left out and noted."""
    if not sources:
        raise UsageError("name what to read: a file, a directory or a run")
    # A single run keeps its own name and header.
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
    """Do work that needs its own event loop; in a notebook, where one is running already, in a thread."""
    # Loading asyncio takes longer than reading a small input, and no loop runs where it is not loaded.
    if (asyncio := sys.modules.get("asyncio")) is None:
        return work()
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
    """The executor for such a task. Runs in memory are never sent to other processes."""
    if any(isinstance(each, Run) for each in sources):
        return InProcess()
    return engine.for_pile(paths_of(sources), selection if selection is not None else Selection(), on_start, task)
