"""A rollout's records as a trajectory, with what its first record says about the session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, Invocation, Origin, Outcome, Sample, Step, Tool, Trajectory, Unknown, Usage
from pantrace.model.usage import NUMBERS
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.openai_usage import usage_from
from pantrace.wire.optional import text_of
from pantrace.wire.times import from_iso

from . import stream
from .early_rollouts import add_envelopes
from .events import NAME, Record
from .lines import Reader

TYPES = (
    "session_meta",
    "response_item",
    "turn_context",
    "event_msg",
    "compacted",
    "token_usage_record",
    "world_state",
    "inter_agent_communication_metadata",
)


def is_line(record: Any) -> bool:
    """Whether a record is a line of a rollout."""
    return isinstance(record, dict) and record.get("type") in TYPES and isinstance(record.get("payload"), dict)


def load(row: Any) -> Sample:
    """All records of a rollout, or of a stream that `codex exec --json` printed."""
    records = add_envelopes(row if isinstance(row, list) else [row])
    if any(is_line(each) for each in records):
        trajectory = trajectory_from(records)
    elif stream.is_stream(records):
        trajectory = stream.trajectory_from(records)
    else:
        message = "not a session of Codex: no record has a type and a payload of its rollouts"
        raise ReadError(message, remedy="is --from right?")
    return Sample(id=trajectory.id or "session", trajectory=trajectory)


def trajectory_from(records: list[Any]) -> Trajectory:
    first = records[0] if is_line(records[0]) and records[0]["type"] == "session_meta" else None
    reader = Reader(records[1:] if first is not None else records)
    steps = reader.steps()
    meta: Record = first["payload"] if first is not None else {}
    kept: Record = {"bare": True}
    if first is not None:
        taken = {"id"} if isinstance(meta.get("id"), str) else set()
        kept = {"line": rest_of(first, {"payload", "type"}), "meta": rest_of(meta, taken)}
        if isinstance(_instructions(meta), str) and isinstance(meta.get("base_instructions"), dict):
            # Instructions are thousands of characters, and the agent has them already.
            kept["meta"]["base_instructions"] = rest_of(meta["base_instructions"], {"text"})
    # The rollout of a sub-agent that inherits its parent's history begins with copies of it.
    start = meta.get("subagent_history_start_ordinal")
    # Copies have smaller ordinals than the sub-agent's own lines.
    if isinstance(start, int):
        steps = [_as_copy(step) if _ordinal(step, start) < start else step for step in steps]
    moments = [step.at for step in steps if step.at is not None]
    created = from_iso(meta.get("timestamp"))
    parent = meta.get("parent_thread_id")
    return Trajectory(
        id=meta["id"] if isinstance(meta.get("id"), str) else None,
        created=created if created is not None else min(moments, default=None),
        ended=max(moments, default=None),
        parent=text_of(parent),
        origin=_origin(meta),
        agents=_agents(meta, reader, steps),
        steps=tuple(steps),
        invocations=tuple(_invocations(steps)),
        usage=_total(reader, steps),
        outcome=_outcome(steps),
        extra=as_extra(NAME, kept),
    )


def raw_of(step: Step) -> Any:
    """The record behind a note; None for any other step."""
    match step.parts:
        case (Unknown(kind=kind, raw=raw),) if kind.startswith(f"{NAME}:") and NAME not in step.extra:
            return raw
    return None


def payload_of(step: Step, kind: str) -> Record:
    """The payload of a note of that kind of event; empty for any other step."""
    raw = raw_of(step)
    if not is_line(raw) or raw["type"] != "event_msg":
        return {}
    found: Record = raw["payload"]
    return found if found.get("type") == kind else {}


def _as_copy(step: Step) -> Step:
    return msgspec.structs.replace(step, kind="copied")


def _ordinal(step: Step, default: int) -> int:
    raw = raw_of(step)
    lines: Any = rest_in(step.extra, NAME).get("lines") or ({},)
    found = raw.get("ordinal") if isinstance(raw, dict) else lines[0].get("line", {}).get("ordinal")
    return found if isinstance(found, int) else default


def _instructions(meta: Record) -> Any:
    base = meta.get("base_instructions")
    return base.get("text") if isinstance(base, dict) else meta.get("instructions")


def _origin(meta: Record) -> Origin | None:
    """The session that this one was forked from; the steps before the fork are in that session's file."""
    base = meta.get("history_base")
    named = base.get("thread_id") if isinstance(base, dict) else None
    parent = meta.get("forked_from_id") or named
    return Origin(kind="forked", trajectory=parent) if isinstance(parent, str) else None


def _agents(meta: Record, reader: Reader, steps: list[Step]) -> tuple[Agent, ...]:
    name, instructions = meta.get("agent_nickname"), _instructions(meta)
    model = next((step.model for step in steps if step.model is not None), None)
    declared = meta["dynamic_tools"] if isinstance(meta.get("dynamic_tools"), list) else []
    tools = tuple(_tools([*declared, *reader.tools], ""))
    if not meta and model is None and not tools:
        return ()
    return (
        Agent(
            name=name if isinstance(name, str) else NAME,
            model=model if model is not None else meta.get("model") if isinstance(meta.get("model"), str) else None,
            instructions=text_of(instructions),
            tools=tools or None,
        ),
    )


def _tools(declared: Iterable[Any], prefix: str) -> Iterable[Tool]:
    for each in declared:
        if not isinstance(each, dict) or not isinstance(name := each.get("name"), str):
            continue
        if isinstance(inner := each.get("tools"), list):
            # `functions` is the default namespace; models call its tools without it.
            yield from _tools(inner, "" if name == "functions" else f"{name}.")
            continue
        text = each.get("description")
        yield Tool(
            name=prefix + name,
            description=text_of(text),
            parameters=each.get("parameters", each.get("input_schema")),
        )


def _invocations(steps: list[Step]) -> Iterable[Invocation]:
    begun = {name: step.at for step in steps if (name := text_of(payload_of(step, "task_started").get("turn_id")))}
    for step in steps:
        ended = payload_of(step, "task_complete") or payload_of(step, "turn_aborted")
        name, took = ended.get("turn_id"), ended.get("duration_ms")
        if isinstance(name, str) and isinstance(took, int):
            yield Invocation(id=name, at=begun.get(name), seconds=took / 1000)


def _total(reader: Reader, steps: list[Step]) -> dict[str, Usage] | None:
    """The total at the end of the rollout, without the parent's share in a fork."""
    if any(_lacks_total(line) for step in steps for line in rest_in(step.extra, NAME).get("lines") or ()):
        return None  # Codex resumed a session of another tool, and counts only from there
    whole, base = usage_from(reader.total, NAME, "flat"), usage_from(_before(steps), NAME, "flat")
    if whole is None:
        return None
    counts: Record = {}
    for name in NUMBERS:
        value, less = getattr(whole, name), getattr(base, name) if base is not None else None
        # A fork's totals begin with its parent's, which count in the parent's file.
        counts[name] = value - less if value is not None and less is not None else value
    changed = tuple(name for name in NUMBERS if counts[name] != getattr(whole, name))
    # The total is not split by model, so it is named only if there was one.
    models = {step.model for step in steps if step.usage is not None and step.model is not None}
    return {models.pop() if len(models) == 1 else "": Usage(**counts, derived=changed)}


def _lacks_total(line: Record) -> bool:
    """Whether a token record lacks the total up to it."""
    return line["line"].get("type") == "token_usage_record" and "thread_token_usage" not in line["item"]


def _before(steps: list[Step]) -> Record | None:
    """The total before the first response in this file."""
    for step in steps:
        for line in rest_in(step.extra, NAME).get("lines") or ():
            item = line["item"]
            if line["line"].get("type") == "token_usage_record" and step.usage is not None:
                return _less(item.get("thread_token_usage"), step.usage)
        info = payload_of(step, "token_count").get("info")
        if isinstance(info, dict) and (usage := usage_from(info.get("last_token_usage"), NAME, "flat")) is not None:
            return _less(info.get("total_token_usage"), usage)
    return None


def _less(total: Any, usage: Usage) -> Record | None:
    whole = usage_from(total, NAME, "flat")
    if whole is None:
        return None
    keys = {
        "input_tokens": "input",
        "cached_input_tokens": "cache_read",
        "cache_write_input_tokens": "cache_write",
        "output_tokens": "output",
        "reasoning_output_tokens": "reasoning",
        "total_tokens": "total",
    }
    pairs = {key: (getattr(whole, name), getattr(usage, name)) for key, name in keys.items()}
    return {key: one - other for key, (one, other) in pairs.items() if one is not None and other is not None}


def _outcome(steps: list[Step]) -> Outcome | None:
    """How the last turn ended, if badly. A normal end says nothing about the answer."""
    for step in reversed(steps):
        # An answer after an abort means that the session went on.
        if step.kind == "message" and step.role == "agent":
            return None
        if (payload := payload_of(step, "turn_aborted")) or (payload := payload_of(step, "error")):
            reason = step.error.message if step.error else None
            return Outcome(status="cancelled" if payload["type"] == "turn_aborted" else "error", reason=reason)
        if payload_of(step, "task_complete"):
            return None
    return None
