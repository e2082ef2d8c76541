"""The run of a tool: whose answer it is, and what it adds to it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pantrace.model import Step, StepError, ToolCall, ToolResult
from pantrace.wire.extra_keys import rest_in, rest_of
from pantrace.wire.openai_chat import arguments_of
from pantrace.wire.optional import object_of, text_of
from pantrace.wire.times import from_iso

from .said import NAME

RunRow = dict[str, Any]
_TRACEBACK = "Traceback (most recent call last)"
_KNOWN = ("id", "parent_run_id", "trace_id", "run_type", "start_time", "end_time", "error", "inputs", "outputs")


def others_of(run: RunRow) -> dict[str, Any]:
    return rest_of(run, [key for key in _KNOWN if key != "error" or isinstance(run.get("error"), str)])


def error_of(run: RunRow) -> StepError | None:
    """The error of a run; the SDK writes the exception and its traceback into one text."""
    text = text_of(run.get("error"))
    if text is None:
        return None
    message, mark, _ = text.partition(_TRACEBACK)
    kind = message.partition("(")[0]
    return StepError(
        kind=kind if kind.isidentifier() else None,
        message=message.strip() or text,
        traceback=text if mark else None,
    )


def _given(run: RunRow) -> Any:
    """The arguments of a tool's run."""
    inputs = run.get("inputs")
    match inputs:
        case {"input": str(text), **others} if not others:
            return arguments_of(text)
    return inputs


def likeness(run: RunRow, call: ToolCall) -> int:
    inputs, output = object_of(run.get("inputs")), object_of(object_of(run.get("outputs")).get("output"))
    metadata = object_of(object_of(run.get("extra")).get("metadata"))
    named = output.get("tool_call_id", metadata.get("tool_call_id", run.get("tool_call_id")))
    if isinstance(named, str):
        return 4 if named == call.id else 0
    # Many programs run all tools through one traced function, whose arguments hold the tool's name and arguments.
    fits = _given(run) == call.arguments or any(value == call.arguments for value in inputs.values())
    same = call.name in (run.get("name"), inputs.get("name"), inputs.get("tool_name"))
    return (2 if same else 1) + fits if fits or same else 0


def _output(run: RunRow) -> Any:
    outputs = run.get("outputs")
    match outputs:
        case {"output": output, **others} if not others:
            return output
        case {}:
            return outputs or None
    return outputs


def with_run(part: ToolResult, run: RunRow) -> ToolResult:
    failed = error_of(run)
    output = _output(run)
    seen = arguments_of(part.output)
    # The message is what the model saw; what the tool returned is kept if it differs.
    kept = {**others_of(run), "inputs": run.get("inputs")}
    kept |= {"id": run["id"]} | ({"outputs": output} if output is not None and output != seen else {})
    kept |= {"traceback": failed.traceback} if failed is not None and failed.traceback else {}
    return replace(
        part,
        started=from_iso(run.get("start_time")),
        ended=from_iso(run.get("end_time")),
        error=failed.message if failed is not None else part.error,
        failure=part.failure or ("error" if failed is not None else None),
        output=output if output is not None and output == seen else part.output,
        extra={**part.extra, NAME: {**rest_in(part.extra, NAME), "run": kept}},
    )


def unasked(run: RunRow) -> Step:
    """A tool whose answer no model saw: as the program called it."""
    call = ToolCall(id=text_of(run.get("id")), name=text_of(run.get("name")) or "tool", arguments=_given(run))
    result = with_run(ToolResult(call_id=call.id, name=call.name, output=_output(run)), run)
    return Step(
        role="agent",
        parts=(call, result),
        at=from_iso(run.get("start_time")),
        ended=from_iso(run.get("end_time")),
    )
