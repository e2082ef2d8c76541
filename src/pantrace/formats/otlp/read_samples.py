"""Makes samples from a stream of spans.

Files are read twice: first to find which traces are one conversation and how many spans each has, then to make samples.
Only unfinished conversations are held in memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Sample
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.json import to_plain
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.read_listener import listener
from pantrace.wire.words import words_in

from .attribute_values import unpacked
from .container import Located
from .conversation import load_whole
from .groups import Groups, trace_of
from .plain_spans import Plain, plain_in
from .span import NAME


def samples_from(
    located: Iterable[Located], names: dict[str, str], counts: Counter[str]
) -> Iterator[Sample | ReadError]:
    """Samples from a stream of spans; `counts` is the number of spans and records of each conversation."""
    open_: dict[str, dict[str, Any]] = {}
    places: dict[str, list[tuple[Any, Plain]]] = {}
    left = Counter(counts)
    for place, kind, plain in located:
        name = names[trace_of(plain)]
        # Spans of several conversations are mixed in a file, as they were exported.
        row = open_.setdefault(name, {"name": name, "spans": [], "logs": []})
        row["spans" if kind == "span" else "logs"].append(plain)
        places.setdefault(name, []).append((place, plain))
        # Counted in the first pass: a conversation is complete as soon as its last span has come.
        left[name] -= 1
        if not left[name]:
            try:
                sample = load_whole(with_corner(open_.pop(name)))
            except ReadError as error:
                yield error
                continue
            _show(places.pop(name), sample)
            yield sample


_FLAT = re.compile(r"(.*?)\.\d+\.(?:.*\.)?([^.]+)")
"""A value of a flattened list: `llm.input_messages.0.message.role` is the `role` of one of `llm.input_messages`."""


def _show(listed: list[tuple[Any, Plain]], sample: Sample) -> None:
    """Report what was read to the listener. JSON text is reported as its value, unless the text itself was kept."""
    if (tell := listener()) is None:
        return
    kept = {word for word in words_in(to_plain(sample))[0] if isinstance(word, str)}
    for place, plain in listed:
        tell(place, _plain_value(plain, kept))


def _plain_value(value: Any, kept: set[str]) -> Any:
    if isinstance(value, dict):
        found: dict[str, Any] = {}
        for key, each in value.items():
            # Otherwise every index would be reported as an unread key of its own.
            if (flat := _FLAT.fullmatch(key)) is not None:
                found.setdefault(flat[1], []).append({flat[2]: _plain_value(each, kept)})
            else:
                found[key] = _plain_value(each, kept)
        return found
    if isinstance(value, list):
        return [_plain_value(each, kept) for each in value]
    return unpacked(value) if isinstance(value, str) and value not in kept else value


def with_corner(row: dict[str, Any]) -> dict[str, Any]:
    """A conversation that pantrace wrote, with the data in its spans' `pantrace` attributes moved to the row's key."""
    for number, span in enumerate(row["spans"]):
        attributes = span.get("attributes") or {}
        if isinstance(attributes.get(CARRIER), str):
            bare = {key: value for key, value in attributes.items() if key != CARRIER}
            spans = [*row["spans"]]
            spans[number] = {**span, "attributes": bare}
            row = {**row, "spans": spans, CARRIER: unpacked(attributes[CARRIER])}
    return {key: value for key, value in row.items() if value or key == "spans"}


def samples_of(located: Iterable[Located]) -> Iterator[Sample]:
    """Samples of spans that are all in memory, such as those a collector received."""
    listed = list(located)
    groups = Groups()
    for _, kind, plain in listed:
        groups.learn(plain, is_log=kind == "log")
    names = groups.names()
    counts = Counter(names[trace_of(plain)] for _, _, plain in listed)
    for found in samples_from(listed, names, counts):
        if isinstance(found, ReadError):
            raise found
        yield found


def samples_of_request(request: Any) -> list[Sample]:
    """Samples of one decoded export request (or several, in a list)."""
    return list(
        samples_of((("request", number), kind, plain) for number, (kind, plain) in enumerate(plain_in(request)))
    )


def source_of(sample: Sample) -> str | None:
    """The library that recorded a sample, with its version."""
    own = rest_in(sample.trajectory.extra, NAME) if sample.trajectory is not None else {}
    for scope in own.get("scopes") or ():
        if isinstance(scope, dict) and isinstance(name := scope.get("name"), str):
            return f"{name} {scope.get('version') or ''}".strip()
    return None
