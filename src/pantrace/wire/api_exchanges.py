"""API exchanges: requests to a model's API with their responses, one per line, as people log them.

Each request repeats the conversation so far, or names the response that it continues. Lines that continue each other
are one conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source

from .carry_rest import Load
from .extra_keys import rest_of
from .head import Head
from .rows import OnBroken, read_log, read_rows
from .source import with_source

UNNAMED = "unnamed conversation"
"""The id of a sample whose row has none, until it gets a name from its place in the file."""
Exchange = dict[str, Any]
History = Callable[[Exchange], list[Any]]


def is_exchange(row: Any) -> bool:
    """Whether a row is a request with its response."""
    return isinstance(row, dict) and isinstance(row.get("request"), dict) and isinstance(row.get("response"), dict)


def unfolded(row: Any) -> Any:
    """A row as an exchange, if its request's keys are next to the response, as LiteLLM's loggers write them."""
    match row:
        case {"messages": list(messages), "response": {"choices": list()} as response}:
            asked = {key: row[key] for key in ("tools", "model") if row.get(key) is not None}
            rest = rest_of(row, {"messages", "response", *asked})
            return {"request": {"messages": messages, **asked}, "response": response, **rest}
    return row


def run_of(
    path: Path,
    source: Source,
    on_broken: OnBroken,
    load: Load,
    is_message: Callable[[Any], bool],
    history: History,
) -> Run:
    """The conversations of a file, as a run."""

    def samples() -> Iterator[Sample]:
        for place, row in conversations(path, on_broken, is_message, history):
            try:
                sample = load(row)
            except ReadError as error:
                on_broken(error.at(path=str(path), place=place))
                continue
            if sample.id == UNNAMED:
                name = path.name.partition(".")[0]
                # Named by the place in the file, as ids must be unique.
                sample = msgspec.structs.replace(sample, id=f"{name} {place}" if place else name)
            yield with_source(sample, source)

    return Run(name=path.name, source=source, samples=samples())


def conversations(
    path: Path, on_broken: OnBroken, is_message: Callable[[Any], bool], history: History
) -> Iterator[tuple[str | None, Any]]:
    """The rows of a file. A file of messages is one conversation, exchanges that continue each other are one list,
    and any other row is separate."""
    head = Head(path)
    if head.layout in ("array", "lines") and head.records and is_message(head.records[0]):
        yield None, read_log(path, on_broken)
        return
    open_: list[Exchange] = []
    begin: str | None = None
    for place, row in read_rows(path, on_broken):
        row = unfolded(row)
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
    """Whether a request continues an earlier exchange: it names its response, or repeats its messages and adds some."""
    name = before["response"].get("id")
    if name is not None and after["request"].get("previous_response_id") == name:
        return True
    was, now = history(before), history(after)
    # Longer, not equal: a repeated request is another sample of the same question.
    return len(now) > len(was) and now[: len(was)] == was


class Turn(NamedTuple):
    """One exchange, reduced to what it adds to the conversation."""

    request: dict[str, Any]
    response: dict[str, Any]
    said: list[Any]
    """Messages of the request that are neither in the previous request nor in its response."""
    rest: dict[str, Any]
    """What differs from before: keys next to request and response, repeated messages that have changed, tools that are
    not those of the last request."""


def turns_of(exchanges: list[Exchange], history: History, answer: Callable[[Exchange], list[Any]]) -> Iterator[Turn]:
    """What each exchange adds to the conversation."""
    told: list[Any] = []
    # The last request's tools become the agent's; those of other requests are kept only if they differ.
    tools = exchanges[-1]["request"].get("tools")
    for exchange in exchanges:
        request, response, said = exchange["request"], exchange["response"], history(exchange)
        rest = rest_of(exchange, {"request", "response"})
        if request.get("previous_response_id") is None:
            pairs = zip(said, told, strict=False)
            again = {str(place): now for place, (now, before) in enumerate(pairs) if not _is_within(now, before)}
            rest |= {"history": again} if again else {}
            # Without the id of a previous response, a request repeats the whole conversation.
            said = said[len(told) :]
        for key, declared in (("tools", request.get("tools")), ("response_tools", response.get("tools"))):
            if declared is not None and not _is_within(declared, tools):
                rest[key] = declared
        told = [*told, *said, *answer(exchange)]
        yield Turn(request, response, said, rest)


def _is_within(part: Any, whole: Any) -> bool:
    """Whether one value contains nothing that another lacks; null counts as nothing."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(value is None or _is_within(value, whole.get(key)) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_is_within, part, whole))
    return bool(part == whole)
