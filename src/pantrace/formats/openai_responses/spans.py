"""Spans of the Agents SDK, as its trace processors export them: one trace is one sample, written as the SDK sends it.

Spans of responses have tokens and times, but no text. Spans of functions have their input and output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, Sample, Source, Step, StepError, Tool, ToolCall, ToolResult, Trajectory, Unknown
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.json import encode
from pantrace.wire.openai_chat import arguments_of
from pantrace.wire.openai_usage import usage_from, usage_to
from pantrace.wire.optional import present, text_of
from pantrace.wire.read_listener import listening
from pantrace.wire.rows import OnBroken, read_rows
from pantrace.wire.source import with_source
from pantrace.wire.times import from_iso

from .conversation import NAME, Record

_SPAN = "span"
"""The key under which a step keeps its span, without the parts that became fields of the step."""


def is_span(record: Any) -> bool:
    """Whether a record is a span of a trace, or the trace itself."""
    match record:
        case {"object": "trace.span", "trace_id": str(), "span_data": dict()}:
            return True
        case {"object": "trace", "id": str(), "workflow_name": _}:
            return True
    return False


def rows(path: Path, on_broken: OnBroken) -> Iterator[list[Record]]:
    """The records of each trace. Spans of several traces are mixed, in the order in which they ended. A first pass
    counts them, so that the second pass holds only unfinished traces in memory."""
    with listening(None):  # the second pass reports what was read; counting it twice would be wrong
        left = Counter(_trace_of(record) for record in _records(path, lambda _: None))
    open_: dict[str, list[Record]] = {}
    for record in _records(path, on_broken):
        name = _trace_of(record)
        open_.setdefault(name, []).append(record)
        left[name] -= 1
        if not left[name]:
            yield open_.pop(name)


def _records(path: Path, on_broken: OnBroken) -> Iterator[Record]:
    for place, row in read_rows(path, on_broken):
        for record in row["data"] if isinstance(row, dict) and isinstance(row.get("data"), list) else [row]:
            if is_span(record):
                yield record
            else:
                on_broken(ReadError("not a span or a trace", path=str(path), place=place))


def _trace_of(record: Record) -> str:
    return str(record["trace_id" if record["object"] == "trace.span" else "id"])


def samples(path: Path, source: Source, on_broken: OnBroken, load: Any) -> Iterator[Sample]:
    for records in rows(path, on_broken):
        yield with_source(load({"data": records}), source)


def sample_from(row: Record) -> Sample:
    """A trace as a sample: `{"data": [...]}`, as the SDK sends it."""
    records = [each for each in row["data"] if is_span(each)]
    if not records:
        raise ReadError("holds no span of a trace", place="data")
    spans = [(number, each) for number, each in enumerate(records) if each["object"] == "trace.span"]
    # Spans are exported when they end: of two that began at the same time, the outer one comes later in the file.
    spans.sort(key=lambda pair: (from_iso(pair[1].get("started_at")) or 0.0, -pair[0]))
    traces = [{"n": number, **each} for number, each in enumerate(records) if each["object"] == "trace"]
    name = traces[0]["id"] if traces else records[0]["trace_id"]
    steps = _steps(spans)
    moments = [step.at for step in steps if step.at is not None]
    title = traces[0]["workflow_name"] if traces else None
    trajectory = Trajectory(
        id=name,
        title=text_of(title),
        created=min(moments, default=None),
        ended=max((step.ended for step in steps if step.ended is not None), default=None),
        agents=tuple(_agents(spans)),
        steps=tuple(steps),
    )
    return Sample(id=name, trajectory=trajectory, extra=as_extra(NAME, {"traces": traces, **rest_of(row, {"data"})}))


def _agents(spans: list[tuple[int, Record]]) -> Iterator[Agent]:
    seen: set[str] = set()
    for _, span in spans:
        match span["span_data"]:
            case {"type": "agent", "name": str(name)} if name not in seen:
                seen.add(name)
                tools = span["span_data"].get("tools")
                named = [each for each in tools if isinstance(each, str)] if isinstance(tools, list) else None
                yield Agent(name=name, tools=tuple(Tool(name=each) for each in named) if named is not None else None)


def _steps(spans: list[tuple[int, Record]]) -> list[Step]:
    """One step per response; calls that follow it under the same parent belong to it."""
    steps: list[Step] = []
    parents = {str(span.get("id")): span for _, span in spans}
    asked: dict[str, int] = {}
    for number, span in spans:
        data, parent = span["span_data"], str(span.get("parent_id"))
        error = span.get("error")
        common: Record = {"at": from_iso(span.get("started_at")), "ended": from_iso(span.get("ended_at"))}
        common |= {"agent": _agent_of(span, parents), "error": _error(error)}
        kept: Record = {**rest_of(span, {"span_data"}), "n": number}
        # Only responses count tokens: agent, turn and task spans repeat the usage of their responses.
        if data.get("type") == "response":
            asked[parent] = len(steps)
            usage = usage_from(data.get("usage"), NAME, "responses")
            kept["span_data"] = rest_of(data, {"usage"} if usage is not None else ())
            extra = as_extra(NAME, {_SPAN: kept})
            name, model = data.get("response_id"), data.get("model")
            common |= {
                "id": text_of(name),
                "model": text_of(model),
            }
            steps.append(Step(role="agent", usage=usage, extra=extra, **common))
        elif data.get("type") == "function" and isinstance(data.get("name"), str):
            call = ToolCall(id=str(span.get("id")), name=data["name"], arguments=arguments_of(data.get("input")))
            # `input` is a JSON text; it is kept only if encoding the arguments again would spell it differently.
            same = isinstance(call.arguments, dict) and encode(call.arguments).decode() == data.get("input")
            kept["span_data"] = rest_of(data, {"output", "name", *(("input",) if same else ())})
            result = ToolResult(call_id=call.id, name=call.name, output=data.get("output"))
            if (failed := _error(error)) is not None:
                result = msgspec.structs.replace(result, failure="error", error=failed.message)
            result = msgspec.structs.replace(result, started=common["at"], ended=common["ended"])
            place = asked.get(parent)
            if place is not None:
                steps[place] = msgspec.structs.replace(steps[place], parts=(*steps[place].parts, call))
            # A function outside of any response, as in a handwritten workflow, still needs a call for its result.
            parts = (result,) if place is not None else (call, result)
            role: Any = "tool" if place is not None else "agent"
            steps.append(Step(role=role, parts=parts, extra=as_extra(NAME, {_SPAN: kept}), **common))
        else:
            kept["span_data"] = data
            note = Unknown(kind=f"{NAME}:span", raw=kept)
            steps.append(Step(role="system", kind="note", parts=(note,), **common))
    return steps


def _agent_of(span: Record, parents: dict[str, Record]) -> str | None:
    """The agent whose span this one is inside of."""
    # Bounded, because the parents of a broken file may form a ring.
    for _ in range(len(parents)):
        match span["span_data"]:
            case {"type": "agent", "name": str(name)}:
                return name
        found = parents.get(str(span.get("parent_id")))
        if found is None:
            break
        span = found
    return None


def _error(error: Any) -> StepError | None:
    if not isinstance(error, dict):
        return None
    message = error.get("message")
    return StepError(message=text_of(message))


def row_of(sample: Sample) -> Record:
    """A trace that was read, as the SDK sends it."""
    trajectory = sample.trajectory
    assert trajectory is not None
    own = dict(rest_in(sample.extra, NAME))
    calls = {part.id: part for step in trajectory.steps for part in step.parts if isinstance(part, ToolCall)}
    spans: list[tuple[int, Record]] = [(trace["n"], _without_number(trace)) for trace in own.pop("traces", ())]
    for step in trajectory.steps:
        match step.parts:
            case (Unknown(kind="openai-responses:span", raw=dict(raw)),):
                spans.append((raw["n"], _without_number(raw)))
                continue
        kept = dict(rest_in(step.extra, NAME).get(_SPAN) or {})
        if not kept:
            continue
        number, data = kept.pop("n"), dict(kept["span_data"])
        if step.usage is not None:
            data["usage"] = usage_to(step.usage, NAME, "responses")
        for part in step.parts:
            if isinstance(part, ToolResult):
                call = calls.get(part.call_id)
                written = encode(call.arguments).decode() if call is not None else None
                fields = {"name": part.name, "input": data.get("input", written), "output": part.output}
                data |= present(fields)
        spans.append((number, {**kept, "span_data": data}))
    # Steps are in order of their beginning; the file had them in order of their end.
    return {"data": [span for _, span in sorted(spans, key=lambda pair: pair[0])], **own}


def _without_number(record: Record) -> Record:
    return {key: value for key, value in record.items() if key != "n"}
