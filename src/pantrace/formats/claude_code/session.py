"""A session's lines as a sample; sub-agents on side chains of the same file become trajectories of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, Outcome, Sample, Step, Text, Tool, ToolCall, Trajectory, Usage
from pantrace.wire.field_map import INTEGER, NUMBER, FieldMap

from .branches import active_path
from .lines import NAME, Record, common_fields, is_message, kept_lines, steps_from

MODEL_USAGE = FieldMap(
    NAME,
    Usage,
    {
        "outputTokens": ("output", INTEGER),
        "cacheReadInputTokens": ("cache_read", INTEGER),
        "cacheCreationInputTokens": ("cache_write", INTEGER),
        "costUSD": ("cost_usd", NUMBER),
    },
)
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}


def load(row: Any) -> Sample:
    """All records of a file, or the one document of a web export, as a sample."""
    records = row if isinstance(row, list) else [row]
    extra: Record = {}
    match records:
        case [{"loglines": list(inner), **around}]:
            records, extra = inner, {"document": around}
    if not any(isinstance(each, dict) for each in records):
        raise ReadError("not a session of Claude Code: it has no records", remedy="is --from right?")
    main, sides = _split(records)
    trajectory = trajectory_from(main, extra)
    streamed = trajectory.usage is not None
    children = tuple(
        as_child(msgspec.structs.replace(trajectory_from(side, streamed=streamed), id=name), trajectory)
        for name, side in sides.items()
    )
    if children:
        trajectory = msgspec.structs.replace(trajectory, children=children)
    return Sample(id=trajectory.id or "session", trajectory=trajectory)


def trajectory_from(lines: list[Any], extra: Record | None = None, *, streamed: bool = False) -> Trajectory:
    """One conversation; `streamed`: it is part of a stream that reports usage at its end."""
    common = common_fields(lines)
    records = [record for record in lines if isinstance(record, dict)]
    results = [each for each in records if each.get("type") == "result" and "subtype" in each]
    steps, leaf = active_path(steps_from(lines, common, partial=streamed or bool(results)))
    moments = [step.at for step in steps if step.at is not None]
    # The last id counts: version 1.0 copied a resumed session under its old id.
    names = (each.get(key) for each in reversed(records) for key in ("sessionId", "session_id"))
    kept: Record = {**(extra or {}), **({"common": common} if common else {})}
    return Trajectory(
        id=next((name for name in names if isinstance(name, str)), None),
        title=_title(records),
        created=min(moments, default=None),
        ended=max(moments, default=None),
        agents=_agents(records, steps),
        steps=tuple(steps),
        leaf=leaf,
        usage=_totals(results),
        outcome=_outcome(results),
        extra={NAME: kept} if kept else {},
    )


def _split(records: list[Any]) -> tuple[list[Any], dict[str, list[Any]]]:
    """The main conversation, and the side chains by the id of their agent, their call or their first line."""
    # In the file of a sub-agent all lines are side lines; there they are the main conversation.
    if all(_is_side(record) for record in records if is_message(record)):
        return records, {}
    main: list[Any] = []
    sides: dict[str, list[Any]] = {}
    roots: dict[str, str] = {}
    for record in records:
        if not isinstance(record, dict) or not _is_side(record):
            main.append(record)
            continue
        # Streams name the call, newer logs the agent; older ones have only the chain of parents.
        name = record.get("parent_tool_use_id") or record.get("agentId") or roots.get(str(record.get("parentUuid")))
        name = name if isinstance(name, str) else str(record.get("uuid"))
        roots[str(record.get("uuid"))] = name
        sides.setdefault(name, []).append(record)
    return main, sides


def _is_side(record: Any) -> bool:
    return isinstance(record, dict) and (
        record.get("isSidechain") is True or isinstance(record.get("parent_tool_use_id"), str)
    )


def as_child(child: Trajectory, parent: Trajectory) -> Trajectory:
    """A sub-agent's conversation with the call that started it: the call that its first line or its result names, else
    the call with the same prompt."""
    records = [raw for step in child.steps if (raw := kept_lines(step))]
    named = (each.get(key) for each in records for key in ("attributionAgent", "subagent_type"))
    agent = next((each for each in named if isinstance(each, str)), None)
    caller: str | None = None
    asked = next((part.text for step in child.steps for part in step.parts if isinstance(part, Text)), None)
    for step in parent.steps:
        result = kept_lines(step).get("toolUseResult")
        for part in step.parts:
            if isinstance(result, dict) and result.get("agentId") == child.id and hasattr(part, "call_id"):
                caller = caller or part.call_id
            if isinstance(part, ToolCall) and isinstance(part.arguments, dict) and caller is None:
                # If nothing names the call, the same prompt links a sub-agent to it.
                caller = part.id if part.id == child.id or part.arguments.get("prompt") == asked else None
    agents = child.agents
    if agent is not None:
        agents = (Agent(name=agent, model=agents[0].model if agents else None),)
    return msgspec.structs.replace(child, parent=parent.id, caller=caller, agents=agents)


def _title(records: Iterable[Record]) -> str | None:
    # The last one counts: a session may be renamed.
    found = [each.get(_TITLES.get(str(each.get("type")), "")) for each in records]
    return next((title for title in reversed(found) if isinstance(title, str)), None)


def _agents(records: Iterable[Record], steps: Iterable[Step]) -> tuple[Agent, ...]:
    """The agent as a stream introduces it, else with the first model that answered."""
    model = next((step.model for step in steps if step.model is not None), None)
    tools: tuple[Tool, ...] | None = None
    for each in records:
        if each.get("subtype") == "init" and isinstance(named := each.get("tools"), list):
            model = each["model"] if isinstance(each.get("model"), str) else model
            tools = tuple(Tool(name=tool) for tool in named if isinstance(tool, str))
            break
    return (Agent(name=NAME, model=model, tools=tools),) if model is not None or tools is not None else ()


def _totals(results: list[Record]) -> dict[str, Usage] | None:
    """The totals by model at the end of a stream, sub-agents included; each result counts from the start."""
    # Not `result.usage`, which covers the main agent only.
    stated = results[-1].get("modelUsage") if results else None
    if not isinstance(stated, dict):
        return None
    return {model: _total(raw) for model, raw in stated.items() if isinstance(raw, dict)} or None


def _total(raw: Record) -> Usage:
    found = MODEL_USAGE.load(raw, {"inputTokens", "webSearchRequests", "contextWindow", "maxOutputTokens"})
    fresh = raw.get("inputTokens")
    if not isinstance(fresh, int):
        return found
    whole = fresh + (found.cache_read or 0) + (found.cache_write or 0)
    return msgspec.structs.replace(found, input=whole, derived=("input",) if whole != fresh else ())


def _outcome(results: list[Record]) -> Outcome | None:
    """How a stream ended. "success" is not an outcome: it means that the program ended well, not that the answer is
    right."""
    last = results[-1] if results else {}
    kind = last.get("subtype")
    if kind in (None, "success") and last.get("is_error") is not True:
        return None
    reason = last.get("result") if isinstance(last.get("result"), str) else None
    # error_max_turns and the like.
    limit = isinstance(kind, str) and kind.startswith("error_max")
    return Outcome(status="limit" if limit else "error", reason=reason or str(kind))
