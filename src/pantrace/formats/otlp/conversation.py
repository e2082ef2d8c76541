"""Turns a conversation, plain spans and log records that belong together, into a sample.

A row of this format is one conversation: `{"name": ..., "spans": [...], "logs": [...]}`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Sample, Step, Text
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.pantrace_key import CARRIER

from .assemble import Built, trajectory_of
from .leftover_attributes import with_kept, words_of
from .observations import RESULT
from .plain_spans import Plain
from .span import Span
from .span_tree import read_trees
from .write_spans import dump


def load(row: Any) -> Sample:
    """One conversation of plain spans and records as a sample."""
    if not isinstance(row, dict) or not isinstance(spans := row.get("spans"), list):
        raise ReadError("not a conversation of spans", remedy="is --from right?")
    logs = row.get("logs") or []
    if not spans and not logs:
        raise ReadError("it has no spans")
    built = trajectory_of(read_trees(_join_records(spans, logs)), row.get("name"))
    trajectory = with_kept(built, words_of(built.trajectory))
    if (note := _note(built)) is not None:
        trajectory = msgspec.structs.replace(trajectory, steps=(note, *trajectory.steps))
    name = row.get("name") or trajectory.id or "trace"
    return Sample(id=name, trajectory=trajectory, scores=tuple(built.scores))


def _note(built: Built) -> Step | None:
    """A note if model calls were recorded without their texts, as most libraries do by default."""
    silent, calls = _count_calls(built)
    if not silent:
        return None
    text = f"{silent} of {calls} model calls were recorded without their text"
    return Step(role="system", kind="note", parts=(Text(text=text, synthetic=True),))


def _count_calls(built: Built) -> tuple[int, int]:
    """Model calls without texts, and all, including those of sub-agents."""
    inner = [_count_calls(each) for each in built.children]
    return built.silent + sum(each[0] for each in inner), built.calls + sum(each[1] for each in inner)


def _join_records(spans: list[Plain], logs: list[Plain]) -> list[Span]:
    """Spans with their log records. Records of a span that is missing take its place."""
    by_span: dict[tuple[Any, Any], list[Plain]] = {}
    lonely: list[Plain] = []
    for each in logs:
        place = each.get("traceId"), each.get("spanId")
        if each.get("name") == RESULT and spans and not place[1]:
            place = spans[0].get("traceId"), spans[0].get("spanId")  # a judgement of the whole conversation
        # A record outside of any span has an empty span id, or one of zeros.
        if isinstance(place[1], str) and place[1].strip("0"):
            by_span.setdefault(place, []).append(each)
        else:
            lonely.append(each)
    found = [Span(each, by_span.pop((each.get("traceId"), each.get("spanId")), ())) for each in spans]
    for (trace, name), records in by_span.items():
        # Logs may be exported without their spans; the records alone still have the messages.
        begin, end = _times(records)
        plain = {"traceId": trace, "spanId": name, "startTimeUnixNano": begin, "endTimeUnixNano": end}
        found.append(Span({**plain, "resource": records[0].get("resource"), "scope": records[0].get("scope")}, records))
    return [*found, *(Span(each) for each in lonely)]


def _times(records: list[Plain]) -> tuple[Any, Any]:
    times = [each.get("timeUnixNano") or each.get("observedTimeUnixNano") for each in records]
    return times[0], times[-1]


load_whole, dump_whole = carry_rest(load, dump, CARRIER)
