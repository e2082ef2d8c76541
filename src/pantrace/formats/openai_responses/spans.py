"""Spans of the Agents SDK, as its trace processors export them: one trace is one sample.

Of a response they tell the tokens and the times, not the words: what was said is in none of them. Functions have their
input and output.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pantrace.model import Agent, Part, Sample, Source, Step, StepError, Tool, ToolCall, ToolResult, Trajectory, Unknown
from pantrace.wire.openai_chat import arguments_of, steps_from
from pantrace.wire.openai_usage import usage_from
from pantrace.wire.rest import as_extra, rest_of
from pantrace.wire.rows import OnBroken, read_rows
from pantrace.wire.source import with_source
from pantrace.wire.times import from_iso

from .conversation import NAME, Record


def is_span(record: Any) -> bool:
    """Whether a record is a span of a trace, or the trace itself."""
    match record:
        case {"object": "trace.span", "trace_id": str(), "span_data": dict()}:
            return True
        case {"object": "trace", "id": str(), "workflow_name": _}:
            return True
    return False


def samples(path: Path, source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    """Spans come in the order in which they ended, those of different traces mixed: a file is read whole."""
    traces: dict[str, list[Record]] = {}
    for _, record in read_rows(path, on_broken):
        if is_span(record):
            traces.setdefault(record["trace_id"] if record["object"] == "trace.span" else record["id"], []).append(
                record
            )
    for name, records in traces.items():
        yield with_source(sample_from(name, records), source)


def sample_from(name: str, records: list[Record]) -> Sample:
    spans = [each for each in records if each["object"] == "trace.span"]
    spans.sort(key=lambda each: (from_iso(each.get("started_at")) or 0.0, each.get("ended_at") or ""))
    trace: Record = next((each for each in records if each["object"] == "trace"), {})
    by_id = {each.get("id"): each for each in spans}
    steps = _steps(spans, by_id)
    moments = [step.at for step in steps if step.at is not None]
    title = trace.get("workflow_name")
    trajectory = Trajectory(
        id=name,
        title=title if isinstance(title, str) else None,
        created=min(moments, default=None),
        ended=max((step.ended for step in steps if step.ended is not None), default=None),
        agents=tuple(_agents(spans)),
        steps=tuple(steps),
        extra=as_extra(NAME, {"trace": rest_of(trace, {"object", "workflow_name"})} if trace else {}),
    )
    return Sample(id=name, trajectory=trajectory)


def _agents(spans: list[Record]) -> Iterator[Agent]:
    seen: set[str] = set()
    for span in spans:
        match span["span_data"]:
            case {"type": "agent", "name": str(name)} if name not in seen:
                seen.add(name)
                data = span["span_data"]
                tools = data.get("tools")
                named = [each for each in tools if isinstance(each, str)] if isinstance(tools, list) else None
                declared = tuple(Tool(name=each) for each in named) if named is not None else None
                yield Agent(name=name, tools=declared, extra=as_extra(NAME, rest_of(data, {"tools", "type", "name"})))


def _agent_of(span: Record, by_id: dict[Any, Record]) -> str | None:
    """The agent inside whose span it lies."""
    for _ in range(len(by_id)):
        match span:
            case {"span_data": {"type": "agent", "name": str(name)}}:
                return name
        span = by_id.get(span.get("parent_id"), {})
        if not span:
            break
    return None


def _steps(spans: list[Record], by_id: dict[Any, Record]) -> list[Step]:
    """Each response is a step; the calls that follow it under the same parent are its own."""
    steps: list[Step] = []
    asked: dict[Any, int] = {}
    for span in spans:
        data = span["span_data"]
        common: Record = {"at": from_iso(span.get("started_at")), "ended": from_iso(span.get("ended_at"))}
        common["agent"] = _agent_of(span, by_id)
        kind = data.get("type")
        rest = rest_of(span, {"object", "started_at", "ended_at", "span_data", "error"})
        if kind in ("response", "generation"):
            asked[span.get("parent_id")] = len(steps)
            steps.append(_asked(data, span, common, {**rest, "data": rest_of(data, {"usage"})}))
        elif kind == "function":
            call, result = _called(data, span)
            place = asked.get(span.get("parent_id"))
            if place is None:
                steps.append(Step(role="agent", parts=(call, result), extra=as_extra(NAME, rest), **common))
            else:
                before = steps[place]
                steps[place] = _with(before, call)
                steps.append(Step(role="tool", parts=(result,), extra=as_extra(NAME, rest), **common))
        else:
            note: Part = Unknown(kind=f"{NAME}:span", raw=span)
            steps.append(Step(role="system", kind="note", parts=(note,), error=_error(span), **common))
    return steps


def _with(step: Step, call: ToolCall) -> Step:
    return Step(**{name: getattr(step, name) for name in step.__struct_fields__} | {"parts": (*step.parts, call)})


def _asked(data: Record, span: Record, common: Record, rest: Record) -> Step:
    parts: tuple[Part, ...] = ()
    output, name, model = data.get("output"), data.get("response_id"), data.get("model")
    if isinstance(output, list) and all(isinstance(each, dict) and "role" in each for each in output):
        parts = tuple(part for step in steps_from(output, NAME) for part in step.parts)
    return Step(
        role="agent",
        id=name if isinstance(name, str) else None,
        model=model if isinstance(model, str) else None,
        parts=parts,
        usage=usage_from(data.get("usage"), NAME, "responses"),
        error=_error(span),
        extra=as_extra(NAME, rest),
        **common,
    )


def _called(data: Record, span: Record) -> tuple[ToolCall, ToolResult]:
    name = data["name"] if isinstance(data.get("name"), str) else "function"
    error, call = _error(span), span.get("id")
    call_id = call if isinstance(call, str) else None
    result = ToolResult(
        call_id=call_id,
        name=name,
        output=data.get("output"),
        error=error.message if error is not None else None,
        failure="error" if error is not None else None,
        started=from_iso(span.get("started_at")),
        ended=from_iso(span.get("ended_at")),
        extra=as_extra(NAME, {"error": span["error"]} if error is not None else {}),
    )
    return ToolCall(id=call_id, name=name, arguments=arguments_of(data.get("input"))), result


def _error(span: Record) -> StepError | None:
    error = span.get("error")
    if not isinstance(error, dict):
        return None
    message = error.get("message")
    return StepError(message=message if isinstance(message, str) else None)
