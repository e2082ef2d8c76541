"""Reading: spans and log records of files, and samples of spans.

Files are read twice: first to learn which traces are one conversation and when the last span of each has come, then to
make samples of them. Only conversations that are still open are held in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Sample, Step, Text
from pantrace.wire import files
from pantrace.wire.carried import CARRIER
from pantrace.wire.json import to_plain
from pantrace.wire.rest import rest_in
from pantrace.wire.rows import OnBroken, read_rows
from pantrace.wire.tap import listener, listening
from pantrace.wire.unread import words_in

from . import protobuf
from .assemble import Built, told_spans, trajectory_of
from .groups import Groups, trace_of
from .kept import with_kept, words_of
from .plain import Kind, Plain, plain_in
from .span import NAME, Span, unpacked

Located = tuple[tuple[Any, ...], Kind, Plain]
"""Where it stands, whether it is a span or a log record, and itself."""


def load(row: Any) -> Sample:
    """One conversation: plain spans and records."""
    if not isinstance(row, dict) or not isinstance(spans := row.get("spans"), list):
        raise ReadError("not a conversation of spans", remedy="is --from right?")
    logs = row.get("logs") or []
    if not spans and not logs:
        raise ReadError("it has no spans")
    built = trajectory_of(told_spans(_joined(spans, logs)), row.get("name"))
    trajectory = with_kept(built, words_of(built.trajectory))
    if (note := _note(built)) is not None:
        trajectory = msgspec.structs.replace(trajectory, steps=(note, *trajectory.steps))
    name = row.get("name") or trajectory.id or "trace"
    return Sample(id=name, trajectory=trajectory, scores=tuple(built.scores))


def _note(built: Built) -> Step | None:
    """A remark where model calls were recorded without their words, as most libraries do unless told otherwise."""
    silent, calls = _counted(built)
    if not silent:
        return None
    text = f"{silent} of {calls} model calls were recorded without what was said in them"
    return Step(role="system", kind="note", parts=(Text(text=text, synthetic=True),))


def _counted(built: Built) -> tuple[int, int]:
    """Model calls without words, and all, those of sub-agents included."""
    inner = [_counted(each) for each in built.children]
    return built.silent + sum(each[0] for each in inner), built.calls + sum(each[1] for each in inner)


def _joined(spans: list[Plain], logs: list[Plain]) -> list[Span]:
    """Spans with the log records that belong to them; records of spans that are not there stand for these."""
    by_span: dict[tuple[Any, Any], list[Plain]] = {}
    lonely: list[Plain] = []
    for each in logs:
        place = each.get("traceId"), each.get("spanId")
        if isinstance(place[1], str) and place[1].strip("0"):
            by_span.setdefault(place, []).append(each)
        else:
            lonely.append(each)
    found = [Span(each, by_span.pop((each.get("traceId"), each.get("spanId")), ())) for each in spans]
    for (trace, name), records in by_span.items():
        begin, end = _times(records)
        plain = {"traceId": trace, "spanId": name, "startTimeUnixNano": begin, "endTimeUnixNano": end}
        found.append(Span({**plain, "resource": records[0].get("resource"), "scope": records[0].get("scope")}, records))
    return [*found, *(Span(each) for each in lonely)]


def _times(records: list[Plain]) -> tuple[Any, Any]:
    times = [each.get("timeUnixNano") or each.get("observedTimeUnixNano") for each in records]
    return times[0], times[-1]


def samples_from(
    located: Iterable[Located], names: dict[str, str], counts: Counter[str]
) -> Iterator[Sample | ReadError]:
    """Samples of spans as they come; `counts`: how many spans and records each conversation has."""
    from . import load_whole

    open_: dict[str, dict[str, Any]] = {}
    places: dict[str, list[tuple[Any, Plain]]] = {}
    left = Counter(counts)
    for place, kind, plain in located:
        name = names[trace_of(plain)]
        row = open_.setdefault(name, {"name": name, "spans": [], "logs": []})
        row["spans" if kind == "span" else "logs"].append(plain)
        places.setdefault(name, []).append((place, plain))
        left[name] -= 1
        if not left[name]:
            try:
                sample = load_whole(with_corner(open_.pop(name)))
            except ReadError as error:
                yield error
                continue
            _show(places.pop(name), sample)
            yield sample


def _show(listed: list[tuple[Any, Plain]], sample: Sample) -> None:
    """Tell whoever measures the reading what has come through the door; JSON inside texts as what it says, unless the
    text itself was kept."""
    if (tell := listener()) is None:
        return
    kept = {word for word in words_in(to_plain(sample))[0] if isinstance(word, str)}
    for place, plain in listed:
        tell(place, _said(plain, kept))


def _said(value: Any, kept: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _said(each, kept) for key, each in value.items()}
    if isinstance(value, list):
        return [_said(each, kept) for each in value]
    return unpacked(value) if isinstance(value, str) and value not in kept else value


def with_corner(row: dict[str, Any]) -> dict[str, Any]:
    """A conversation of ours, with what its spans carry for pantrace in its own corner."""
    for number, span in enumerate(row["spans"]):
        attributes = span.get("attributes") or {}
        if isinstance(attributes.get(CARRIER), str):
            bare = {key: value for key, value in attributes.items() if key != CARRIER}
            spans = [*row["spans"]]
            spans[number] = {**span, "attributes": bare}
            row = {**row, "spans": spans, CARRIER: unpacked(attributes[CARRIER])}
    return {key: value for key, value in row.items() if value or key == "spans"}


def samples_of(located: Iterable[Located]) -> Iterator[Sample]:
    """Samples of a pile of spans that is at hand: what a collector has received, say."""
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


def located_in(path: Path, on_broken: OnBroken) -> Iterator[Located]:
    """Spans and records of a file, with their places."""
    for place, row in _rows(path, on_broken):
        try:
            for number, (kind, plain) in enumerate(plain_in(row)):
                yield (path, place, number), kind, plain
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))


def _rows(path: Path, on_broken: OnBroken) -> Iterator[tuple[str | None, Any]]:
    """Records of a file. What they hold is told span by span, once it is known where it belongs."""
    if is_protobuf(files.read_start(path, 1 << 12)):
        with listening(None):
            data = files.read_all(path)
        try:
            yield from _messages(data)
        except ReadError as error:
            on_broken(error.at(path=str(path)))
        return
    rows = read_rows(path, on_broken)
    while True:
        with listening(None):
            row = next(rows, None)
        if row is None:
            return
        yield row


def _messages(data: bytes) -> Iterator[tuple[str | None, Any]]:
    """One export request, or many with their lengths in front, as the collector's file exporter writes them."""
    if data[:1] != b"\0":
        yield None, _decoded(data)
        return
    place = number = 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        number += 1
        if place + 4 + size > len(data):
            raise ReadError("the file ends inside a message", place=f"message {number}", remedy="it is cut off")
        yield f"message {number}", _decoded(data[place + 4 : place + 4 + size])
        place += 4 + size


def _decoded(data: bytes) -> Any:
    return protobuf.decode(data, "LogsRequest" if _holds_logs(data) else "Request")


def _holds_logs(data: bytes) -> bool:
    """Logs and traces differ inside only: a span's second field is an id of 8 bytes, a record's is a number."""
    try:
        found = protobuf.decode(data, "LogsRequest", cut=True)
        records = [
            record
            for resource in found.get("resourceLogs", ())
            for scope in resource.get("scopeLogs", ())
            for record in scope.get("logRecords", ())
        ]
    except ReadError:
        return False
    return bool(records) and all(not key.startswith("field ") for each in records for key in each)


def is_protobuf(start: bytes) -> bool:
    """Whether a file begins like an export request in protobuf."""
    if start[:1] == b"\0" and len(start) > 5:
        start = start[4:]
    if start[:1] != b"\n":
        return False
    for message, resources, scopes, inner in (
        ("Request", "resourceSpans", "scopeSpans", "spans"),
        ("LogsRequest", "resourceLogs", "scopeLogs", "logRecords"),
    ):
        try:
            found = protobuf.decode(start, message, cut=True)
        except (ReadError, ValueError):
            continue
        for resource in found.get(resources, ()):
            if any(each.get("key") == CARRIER for each in resource.get("resource", {}).get("attributes", ())):
                return True
            for scope in resource.get(scopes, ()):
                for each in scope.get(inner, ()):
                    if len(each.get("traceId", "")) == 32:
                        return True
    return False


def source_of(sample: Sample) -> str | None:
    """The library that recorded a sample, with its version."""
    own = rest_in(sample.trajectory.extra, NAME) if sample.trajectory is not None else {}
    for scope in own.get("scopes") or ():
        if isinstance(scope, dict) and isinstance(name := scope.get("name"), str):
            return f"{name} {scope.get('version') or ''}".strip()
    return None
