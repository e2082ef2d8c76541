"""Exchanges: requests to a model's API with their responses, one on each line, as people log them.

Each request repeats what was said before, or names the response that it goes on from. Lines that go on from each other
are one conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source

from .carrying import Load
from .head import Head
from .rows import OnBroken, read_rows
from .source import with_source

UNNAMED = "conversation"
"""The id of a sample whose row has none, until it is named for its place in the file."""
Exchange = dict[str, Any]
History = Callable[[Exchange], list[Any]]


def is_exchange(row: Any) -> bool:
    """Whether a row is a request with its response."""
    return isinstance(row, dict) and isinstance(row.get("request"), dict) and isinstance(row.get("response"), dict)


def run_of(
    path: Path,
    source: Source,
    on_broken: OnBroken,
    load: Load,
    is_message: Callable[[Any], bool],
    history: History,
) -> Run:
    """The conversations of a file."""

    def samples() -> Iterator[Sample]:
        for place, row in conversations(path, on_broken, is_message, history):
            try:
                sample = load(row)
            except ReadError as error:
                on_broken(error.at(path=str(path), place=place))
                continue
            if sample.id == UNNAMED:
                name = path.name.partition(".")[0]
                sample = msgspec.structs.replace(sample, id=f"{name} {place}" if place else name)
            yield with_source(sample, source)

    return Run(name=path.name, source=source, samples=samples())


def conversations(
    path: Path, on_broken: OnBroken, is_message: Callable[[Any], bool], history: History
) -> Iterator[tuple[str | None, Any]]:
    """Rows of a file: conversations as they are, a bare list of messages as one, exchanges that belong together as one
    list."""
    head = Head(path)
    if head.layout == "array" and head.records and is_message(head.records[0]):
        yield None, [row for _, row in read_rows(path, on_broken)]
        return
    open_: list[Exchange] = []
    begin: str | None = None
    for place, row in read_rows(path, on_broken):
        if not is_exchange(row):
            if open_:
                yield begin, open_
                open_ = []
            yield place, row
        elif open_ and _goes_on(open_[-1], row, history):
            open_.append(row)
        else:
            if open_:
                yield begin, open_
            open_, begin = [row], place
    if open_:
        yield begin, open_


def _goes_on(before: Exchange, after: Exchange, history: History) -> bool:
    name = before["response"].get("id")
    if name is not None and after["request"].get("previous_response_id") == name:
        return True
    was, now = history(before), history(after)
    return len(now) > len(was) and now[: len(was)] == was


def new_in(exchanges: list[Exchange], history: History, answer: Callable[[Exchange], list[Any]]) -> list[list[Any]]:
    """What each request says that neither the one before it nor its response has said."""
    found: list[list[Any]] = []
    known = 0
    for exchange in exchanges:
        said = history(exchange)
        whole = exchange["request"].get("previous_response_id") is None
        found.append(said[known:] if whole else said)
        known = (len(said) if whole else 0) + len(answer(exchange))
    return found
