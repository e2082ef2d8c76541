"""Streams: what `codex exec --json` prints. Each finished item is a step; tokens are reported at the end of a turn.

A stream has neither the prompt, nor which items belong to one response of the model. A resumed session counts from its
beginning, so the tokens of its stream include the earlier part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pantrace.model import (
    Agent,
    Outcome,
    Part,
    Step,
    StepError,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
)
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.openai_usage import usage_from
from pantrace.wire.optional import present, text_of

from .events import NAME, Record

_TOOLS = {
    "command_execution": ("exec_command", "command", "aggregated_output"),
    "file_change": ("apply_patch", "changes", ""),
    "mcp_tool_call": ("mcp", "arguments", "result"),
    "collab_tool_call": ("collab", "prompt", "agents_states"),
    "web_search": ("web_search", "query", ""),
}
"""Kinds of items that are calls: name of the tool, key of the argument, key of the output."""


def is_stream(records: Iterable[Any]) -> bool:
    return any(_is_event(inner) for each in records for inner in _inner(each))


def _inner(record: Any) -> list[Any]:
    """The events of a document that holds a stream; any other record alone."""
    match record:
        case {"events": list(events)}:
            return events
    return [record]


def _is_event(record: Any) -> bool:
    match record:
        case {"type": "thread.started", "thread_id": str()} | {"type": "turn.completed", "usage": dict()}:
            return True
        case {"type": "item.completed" | "item.started", "item": {"id": str(), "type": str()}}:
            return True
    return False


def trajectory_from(records: list[Any]) -> Trajectory:
    kept: Record = {}
    match records:
        case [{"events": list(events), **around}]:
            records, kept = events, {"document": around}
    completed = {_id(each) for each in records if _kind(each) == "item.completed"}
    steps = [_step(each, completed) for each in records]
    names = [each["thread_id"] for each in records if _kind(each) == "thread.started" and "thread_id" in each]
    # Each count starts at the beginning of the session, so the last one is the total.
    usages = [each.get("usage") for each in records if _kind(each) == "turn.completed"]
    total = usage_from(usages[-1], NAME, "flat") if usages else None
    last: Record = next((each for each in reversed(records) if _kind(each) in ("turn.completed", "turn.failed")), {})
    outcome = Outcome(status="error", reason=_message(last.get("error"))) if _kind(last) == "turn.failed" else None
    return Trajectory(
        id=names[0] if names and isinstance(names[0], str) else None,
        agents=(Agent(name=NAME),),
        steps=tuple(steps),
        usage={"": total} if total is not None else None,
        outcome=outcome,
        extra=as_extra(NAME, {"stream": True, **kept}),
    )


def _kind(record: Any) -> Any:
    return record.get("type") if isinstance(record, dict) else None


def _id(record: Any) -> Any:
    item = record.get("item")
    name = item.get("id") if isinstance(item, dict) else None
    return text_of(name)


def _message(error: Any) -> str | None:
    text = error.get("message") if isinstance(error, dict) else error
    return text_of(text)


def _step(record: Any, completed: set[Any]) -> Step:
    """A finished item, or one that never finished, as a step; any other record as a note."""
    item = record.get("item") if isinstance(record, dict) else None
    # An item is printed when it starts and again when it is completed: only one of the two may become a step.
    if isinstance(item, dict) and (_kind(record) == "item.completed" or _id(record) not in completed):
        parts, taken = _parts(item)
        if parts:
            rest = {"line": rest_of(record, {"item"}), "item": rest_of(item, taken), "parts": len(parts)}
            return Step(role="agent", parts=tuple(parts), extra=as_extra(NAME, {"stream": rest}))
    kind = _kind(record)
    note = Unknown(kind=f"{NAME}:{kind if isinstance(kind, str) else 'line'}", raw=record)
    # Errors come as an item or as an event of their own.
    cause = item if isinstance(item, dict) and item.get("type") == "error" else record
    error = None
    if isinstance(cause, dict) and cause.get("type") in ("error", "turn.failed"):
        message = _message(cause.get("message")) or _message(cause.get("error"))
        error = StepError(kind=cause["type"], message=message)
    return Step(role="system", kind="note", parts=(note,), error=error)


def _parts(item: Record) -> tuple[list[Part], set[str]]:
    kind, text = item.get("type"), item.get("text")
    if kind == "agent_message" and isinstance(text, str):
        return [Text(text=text)], {"text"}
    if kind == "reasoning" and isinstance(text, str):
        # A stream has only a summary of the reasoning.
        return [Thinking(summary=text)], {"text"}
    if not isinstance(kind, str) or kind not in _TOOLS:
        return [], set()
    tool, asked, answered = _TOOLS[kind]
    name = item.get("id")
    call = text_of(name)
    inner = item.get("tool")
    tool = inner if isinstance(inner, str) and kind == "collab_tool_call" else tool
    if kind == "mcp_tool_call":
        tool = f"{item.get('server')}.{inner}"
    parts: list[Part] = [ToolCall(id=call, name=tool, arguments={asked: item.get(asked)})]
    status, code = item.get("status"), item.get("exit_code")
    # The stream ended before the call did, so there is no result.
    if status != "in_progress":
        failed = status == "failed" or item.get("error") is not None
        parts.append(
            ToolResult(
                call_id=call,
                name=tool,
                output=item.get(answered) if answered else None,
                exit_code=code if type(code) is int else None,
                failure="exit_code" if code else "denied" if status == "declined" else "error" if failed else None,
                error=_message(item.get("error")),
            )
        )
    return parts, {asked, answered} if len(parts) == 2 else {asked}


def item_to(parts: Iterable[Part], rest: Record) -> Record:
    """An item as it was read."""
    row = dict(rest)
    _, _, answered = _TOOLS.get(rest.get("type", ""), ("", "", ""))
    for part in parts:
        if isinstance(part, Text):
            row["text"] = part.text
        elif isinstance(part, Thinking):
            row["text"] = part.summary
        elif isinstance(part, ToolCall) and isinstance(part.arguments, dict):
            row |= present(part.arguments)
        elif isinstance(part, ToolResult) and answered and part.output is not None:
            row[answered] = part.output
    return row
