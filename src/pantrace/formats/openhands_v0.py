"""Trajectories of OpenHands V0 (until 2025): actions and observations, alone or as `history` of an evaluation.

Spec: github.com/All-Hands-AI/OpenHands, openhands/events/serialization/event.py and evaluation/utils/shared.py (0.59)
Detect: events with `action` or `observation` beside `source` and `timestamp`; lines with `history` beside `instance_id`
    or `issue` (the issue resolver).
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Failure,
    Outcome,
    Part,
    Role,
    Run,
    Sample,
    Score,
    Source,
    Step,
    StepError,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.head import Head
from pantrace.wire.input_cuts import Cutting
from pantrace.wire.input_span import Span
from pantrace.wire.openai_chat import arguments_of
from pantrace.wire.openai_usage import usage_from
from pantrace.wire.optional import object_of, text_of
from pantrace.wire.rows import OnBroken, cut_rows, read_rows
from pantrace.wire.source import with_source
from pantrace.wire.times import from_iso

from .format import Format

NAME = "openhands-v0"
_HEAD = ("id", "timestamp")
_SILENT = ("change_agent_state", "recall", "null", "agent_state_changed")
"""What the program did beside the conversation: not a step of the agent."""
_FAILURES: dict[str, Failure] = {"error": "error", "user_rejected": "denied"}


def detect(head: Head) -> str | None:
    if head.layout == "array" and is_event(head.record):
        return "trajectory"
    if {"issue", "history", "git_patch"} <= head.record.keys():
        return "issue resolver"
    if not {"instance_id", "test_result", "history"} <= head.record.keys():
        return None
    # The benchmarks of V1 write the same frame around other events.
    found = [row["history"] for row in head.records if isinstance(row, dict) and isinstance(row.get("history"), list)]
    is_newer = any(isinstance(event, dict) and "kind" in event for history in found for event in history[:1])
    return None if is_newer else "evaluation"


def is_event(record: Any) -> bool:
    return (
        # Only events of V1 have a `kind`.
        "kind" not in record
        and {"source", "timestamp"} <= record.keys()
        and ("action" in record or "observation" in record)
    )


def open_run(path: Path, on_broken: OnBroken, span: Span | None = None) -> Run:
    """A trajectory, or every instance of an evaluation."""
    version = detect(Head(path))
    source = Source(format=NAME, version=version, path=str(path))

    def samples() -> Iterator[Sample]:
        rows = read_rows(path, on_broken, span)
        for place, row in [(None, [row for _, row in rows])] if version == "trajectory" else rows:
            try:
                sample = load(row)
            except ReadError as error:
                on_broken(error.at(path=str(path), place=place))
                continue
            yield with_source(replace(sample, id=path.stem) if sample.id == NAME else sample, source)

    return Run(name=path.name, source=source, samples=samples())


def open_span(path: Path, span: Span, on_broken: OnBroken) -> Run:
    return open_run(path, on_broken, span)


def plan(path: Path, cutting: Cutting) -> Iterable[Span]:
    return cut_rows(path, cutting.size)


def load(row: Any) -> Sample:
    instance = row if isinstance(row, dict) else {"history": row}
    events = instance.get("history")
    if not isinstance(events, list):
        raise ReadError("an instance needs a history of events")
    # Until 2024 an evaluation stored pairs of an action and its observation.
    flat = [event for each in events for event in (each if isinstance(each, list) else [each])]
    flat = list(_with_heads(flat))
    steps = tuple(_steps(flat))
    trouble = instance.get("error")
    trajectory = Trajectory(
        agents=(Agent(name="openhands", model=next((step.model for step in steps if step.model), None)),),
        steps=steps,
        response=_final_message(flat),
        outcome=Outcome(status="error", reason=trouble) if isinstance(trouble, str) and trouble else None,
        # Each event has the sums so far, so the last one has the total; an evaluation has it beside the history.
        usage=_total([instance.get("metrics"), *(each.get("llm_metrics") for each in reversed(flat))]),
    )
    scores: tuple[Score, ...] = ()
    match instance.get("test_result"):
        case {"report": {"resolved": bool(resolved)}}:
            scores = (Score(name="resolved", value=resolved),)
    match instance:
        case {"issue": dict(), "success": bool(success)}:
            # The resolver's own judgement: it asks a model whether the issue is solved.
            told = text_of(instance.get("result_explanation"))
            scores = (Score(name="success", value=success, explanation=told),)
    name = str(instance.get("instance_id") or _issue(instance.get("issue")) or NAME)
    return Sample(id=name, trajectory=trajectory, scores=scores, extra=as_extra(NAME, rest_of(instance, ("history",))))


def _issue(issue: Any) -> str | None:
    match issue:
        case {"owner": str(owner), "repo": str(repo), "number": int(number)}:
            return f"{owner}/{repo}#{number}"
    return None


def _with_heads(events: list[Any]) -> Iterator[Any]:
    """Events as others store them. The issue resolver keeps only an event's own fields, all on one level: no id, time,
    source or cause. An observation then belongs to the action before it."""
    cause = None
    for place, event in enumerate(events):
        if not isinstance(event, dict) or "source" in event or not {"action", "observation"} & event.keys():
            yield event
            continue
        head = {"id": place, "timestamp": None, "source": "environment" if "observation" in event else "agent"}
        if "observation" in event:
            yield {**event, **head, "cause": cause, "extras": rest_of(event, ("observation", "content"))}
            continue
        cause = place
        if place == 0 and event["action"] == "message":
            head["source"] = "user"
        yield {**head, "action": event["action"], "args": rest_of(event, ("action",))}


def _steps(events: list[Any]) -> Iterator[Step]:
    counted: set[str] = set()
    names: dict[str, tuple[str, str]] = {}
    for place, event in enumerate(events):
        if not isinstance(event, dict) or not is_event(event):
            raise ReadError("an event needs a source, a timestamp and an action or an observation", place=f"[{place}]")
        step = _action(event, names) if "action" in event else _observation(event, names)
        at = from_iso(event["timestamp"])
        known = ["id", *(("timestamp",) if at is not None else ())]
        rest = rest_of(event, [*known, "content"] if step.role == "tool" else known)
        model, usage = _model_and_usage(event, counted) if step.role == "agent" else (None, None)
        yield replace(
            step,
            id=str(event["id"]) if "id" in event else None,
            at=at,
            model=model,
            usage=usage,
            extra=as_extra(NAME, rest),
        )


def _action(event: dict[str, Any], names: dict[str, tuple[str, str]]) -> Step:
    kind = event["action"]
    given = event["args"] if isinstance(event.get("args"), dict) else {}
    if kind in ("message", "system") and isinstance(given.get("content"), str):
        role: Role = "system" if kind == "system" else "user" if event["source"] == "user" else "agent"
        return Step(role=role, parts=(Text(text=given["content"]),))
    if kind == "condensation":
        summary = (Text(text=given["summary"]),) if isinstance(given.get("summary"), str) else ()
        return Step(role="agent", kind="compaction", parts=summary, replaces=_forgotten_ids(given))
    if event["source"] != "agent" or kind in _SILENT:
        return Step(role="system", kind="note")
    if kind == "finish":
        # Nothing answers `finish`: as a call, it would count as unanswered.
        last = _last_words(given)
        return Step(role="agent", parts=(Text(text=last),) if last else ())
    call = _call(event, str(kind), given)
    names[str(event.get("id"))] = (call.id or "", call.name)
    thought = given.get("thought")
    parts: tuple[Part, ...] = (Text(text=thought),) if isinstance(thought, str) and thought else ()
    return Step(role="agent", parts=(*parts, call))


def _forgotten_ids(given: dict[str, Any]) -> tuple[str, ...]:
    match given:
        case {"forgotten_event_ids": list(ids)}:
            return tuple(str(each) for each in ids)
        # Bounded, because a hostile range would fill the memory.
        case {"forgotten_events_start_id": int(first), "forgotten_events_end_id": int(last)} if last - first < 1 << 20:
            return tuple(str(each) for each in range(first, last + 1))
    return ()


def _call(event: dict[str, Any], kind: str, given: dict[str, Any]) -> ToolCall:
    """The call as the model made it; without function calling, the action that OpenHands parsed from its text."""
    match event.get("tool_call_metadata"):
        case {"tool_call_id": str(name), "function_name": str(tool), **more}:
            match more.get("model_response"):
                case {"choices": [{"message": {"tool_calls": list(calls)}}, *_]}:
                    for each in calls:
                        match each:
                            case {"id": same, "function": {"arguments": asked}} if same == name:
                                return ToolCall(id=name, name=tool, arguments=arguments_of(asked))
            return ToolCall(id=name, name=tool, arguments=rest_of(given, ("thought",)))
    return ToolCall(id=str(event.get("id")), name=kind, arguments=rest_of(given, ("thought",)))


def _observation(event: dict[str, Any], names: dict[str, tuple[str, str]]) -> Step:
    kind, content = event["observation"], event.get("content")
    words = text_of(content)
    # `cause` is the id of the action; an observation without one was not asked for by a call.
    cause = names.get(str(event.get("cause")))
    if cause is None or kind in _SILENT:
        error = StepError(message=words) if kind == "error" else None
        return Step(role="system", kind="note", error=error)
    extras = event["extras"] if isinstance(event.get("extras"), dict) else {}
    inner = extras["metadata"] if isinstance(extras.get("metadata"), dict) else {}
    code = inner.get("exit_code", extras.get("exit_code"))
    code = code if type(code) is int else None
    failure = _FAILURES.get(str(kind), "exit_code" if code else None)
    # -1 means that OpenHands stopped waiting; the command was left running and has no exit code.
    failure, code = ("timeout", None) if code == -1 else (failure, code)
    error_words = words if failure in ("error", "denied") else None
    result = ToolResult(
        call_id=cause[0], name=cause[1], output=words, error=error_words, failure=failure, exit_code=code
    )
    return Step(role="tool", parts=(result,))


def _model_and_usage(event: dict[str, Any], counted: set[str]) -> tuple[str | None, Usage | None]:
    """The model and usage of a response. Every call of the response repeats them; they count with the first."""
    match event.get("tool_call_metadata"):
        case {"model_response": {"id": str(name), "usage": dict(raw), **response}} if name not in counted:
            counted.add(name)
            usage, written = usage_from(raw, NAME, "chat"), raw.get("cache_creation_input_tokens")
            if usage is not None and type(written) is int:
                usage = replace(usage, cache_write=written)
            model: Any = response.get("model")
            return text_of(model), usage
        case {"model_response": {"model": str(named)}}:
            return named, None
    return None, None


def _total(metrics: list[Any]) -> dict[str, Usage] | None:
    """The newest of OpenHands' own sums."""
    words = {"prompt_tokens": "input", "completion_tokens": "output"}
    words |= {"cache_read_tokens": "cache_read", "cache_write_tokens": "cache_write"}
    for each in metrics:
        if isinstance(each, dict):
            sums = each.get("accumulated_token_usage")
            sums = object_of(sums)
            found: dict[str, Any] = {name: sums[key] for key, name in words.items() if type(sums.get(key)) is int}
            cost = each.get("accumulated_cost")
            found |= {"cost_usd": cost} if isinstance(cost, (int, float)) and cost else {}
            return {"": Usage(**found)} if found else None
    return None


def _final_message(events: list[Any]) -> str | None:
    """The message of `finish`, if that was the agent's last action."""
    for event in reversed(events):
        if event.get("source") == "agent" and "action" in event:
            given = event.get("args")
            if event["action"] != "finish" or not isinstance(given, dict):
                return None
            return _last_words(given)
    return None


def _last_words(given: dict[str, Any]) -> str | None:
    """The agent's last words. Not the event's own `message`: that is a fixed phrase if the model said nothing."""
    words = (given.get("final_thought"), given.get("thought"))
    return next((each for each in words if isinstance(each, str) and each), None)


FORMAT = Format(
    name=NAME,
    title="OpenHands V0: trajectories, and output.jsonl of its evaluations",
    spec="https://github.com/All-Hands-AI/OpenHands",
    detect=detect,
    open=open_run,
    open_span=open_span,
    plan=plan,
    load=load,
    suffix=".json",
    note="follows OpenHands' source, six of its test files and three runs of its examples; no run of V0 was recorded",
)
