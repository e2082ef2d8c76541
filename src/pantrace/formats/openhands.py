"""Conversations of OpenHands (its SDK, version 1): a directory with a state and a file for each event.

Spec: github.com/OpenHands/software-agent-sdk; `base_state.json`, `events/event-*.json`, `subagents/ID/`
Detect: a directory with `base_state.json` and `events`.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Failure,
    Outcome,
    Part,
    Run,
    Sample,
    Source,
    Step,
    StepError,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    said,
)
from pantrace.wire import files
from pantrace.wire.claim import Claim, inside
from pantrace.wire.head import Head
from pantrace.wire.json import decode_document
from pantrace.wire.openai_chat import arguments_of
from pantrace.wire.rest import as_extra, rest_of
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source
from pantrace.wire.times import from_iso

from .format import Format

NAME = "openhands"
STATE, EVENTS, SUB_AGENTS = "base_state.json", "events", "subagents"
_COUNTS = {
    "input": "prompt_tokens",
    "output": "completion_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}
_HEAD = ("id", "timestamp", "kind", "parent_id")


def detect(head: Head) -> str | None:
    folder = head.path
    if head.kind == "directory" and (folder / STATE).is_file() and (folder / EVENTS).is_dir():
        return "V1"
    return None


def claim(folder: Path) -> Claim:
    return inside(folder)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """One conversation, with those of its sub-agents."""
    source = Source(format=NAME, version="V1", path=str(path))

    def samples() -> Iterator[Sample]:
        try:
            told = _conversation(path, on_broken)
        except ReadError as error:
            on_broken(error.at(path=str(path)))
            return
        yield with_source(Sample(id=told.id or path.name, trajectory=told), source)

    return Run(name=path.name, source=source, samples=samples())


def _conversation(folder: Path, on_broken: OnBroken) -> Trajectory:
    if not (folder / STATE).is_file():
        raise ReadError(f"a conversation is a directory with {STATE} and {EVENTS}", remedy="name the directory")
    state = _document(folder / STATE)
    usages = _usages(state)
    steps: list[Step] = []
    for path in sorted((folder / EVENTS).glob("event-*.json")):
        try:
            steps.append(_step(_document(path), usages))
        except ReadError as error:
            on_broken(error.at(path=str(path)))
    children = []
    for inner in sorted((folder / SUB_AGENTS).glob("*")) if (folder / SUB_AGENTS).is_dir() else ():
        if (inner / STATE).is_file():
            children.append(_conversation(inner, on_broken))
    name = state.get("id")
    leaf = state.get("leaf_event_id")
    return Trajectory(
        id=name if isinstance(name, str) else None,
        agents=(_agent(state, steps),),
        steps=tuple(steps),
        leaf=leaf if isinstance(leaf, str) and any(step.id == leaf for step in steps) else None,
        response=_finished(steps),
        outcome=_outcome(state, steps),
        children=tuple(_called(child, steps) for child in sorted(children, key=_begin)),
        extra=as_extra(NAME, {"state": rest_of(state, ("id", "leaf_event_id"))}),
    )


def _begin(trajectory: Trajectory) -> float:
    return min((step.at for step in trajectory.steps if step.at is not None), default=0.0)


def _document(path: Path) -> dict[str, Any]:
    try:
        found = decode_document(files.read_all(path))
    except ReadError as error:
        raise error.at(path=str(path)) from None
    if not isinstance(found, dict):
        raise ReadError("must be an object", path=str(path))
    return found


def _usages(state: dict[str, Any]) -> dict[str, Usage]:
    """What each response took. Those of sub-agents stand in their own states, too."""
    match state:
        case {"stats": {"usage_to_metrics": dict(by_use)}}:
            metrics = [each for use, each in by_use.items() if isinstance(each, dict) and not use.startswith("task:")]
        case _:
            return {}
    found: dict[str, Usage] = {}
    for each in metrics:
        told = [usage for usage in _list(each.get("token_usages")) if isinstance(usage, dict)]
        costs = [cost.get("cost") for cost in _list(each.get("costs")) if isinstance(cost, dict)]
        for place, usage in enumerate(told):
            known = {name: usage[key] for name, key in _COUNTS.items() if type(usage.get(key)) is int}
            cost = costs[place] if len(costs) == len(told) and isinstance(costs[place], (int, float)) else None
            found[str(usage.get("response_id"))] = Usage(**known, cost_usd=cost)
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _step(event: dict[str, Any], usages: dict[str, Usage]) -> Step:
    """An event. Of several that one response made, the first carries what it took."""
    usage = usages.pop(str(event.get("llm_response_id")), None)
    kind = event.get("kind")
    step: Step
    known: tuple[str, ...]
    match kind:
        case "SystemPromptEvent":
            step, known = Step(role="system", parts=_texts([event.get("system_prompt")])), ()
        case "MessageEvent":
            step, known = _message(event), ()
        case "ActionEvent":
            step, known = _action(event), ("tool_call_id", "tool_name")
        case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
            step, known = _observation(event), ("tool_call_id", "tool_name", "error")
        case "Condensation":
            forgotten = event.get("forgotten_event_ids")
            ids = tuple(each for each in forgotten if isinstance(each, str)) if isinstance(forgotten, list) else ()
            parts = _texts([{"text": event.get("summary")}])
            step, known = Step(role="agent", kind="compaction", parts=parts, replaces=ids), ("summary",)
        case "ConversationErrorEvent":
            trouble = StepError(kind=_text(event.get("code")), message=_text(event.get("detail")))
            step, known = Step(role="agent", kind="note", error=trouble), ("code", "detail")
        case _:
            step, known = Step(role="system", kind="note"), ()
    rest = rest_of(event, (*_HEAD, *known))
    if step.kind == "note":
        rest["kind"] = kind
    return replace(
        step,
        id=_text(event.get("id")),
        parent=_text(event.get("parent_id")),
        at=from_iso(event.get("timestamp")),
        usage=usage,
        extra=as_extra(NAME, rest),
    )


def _texts(contents: Any) -> tuple[Text, ...]:
    found = contents if isinstance(contents, list) else []
    texts = [each.get("text") for each in found if isinstance(each, dict)]
    return tuple(Text(text=text) for text in texts if isinstance(text, str))


def _message(event: dict[str, Any]) -> Step:
    message = event.get("llm_message")
    message = message if isinstance(message, dict) else {}
    role = "user" if event.get("source") == "user" else "agent"
    thoughts = _thoughts(message)
    parts = (*thoughts, *_texts(message.get("content")))
    return Step(role="user" if role == "user" else "agent", parts=parts)


def _thoughts(owner: dict[str, Any]) -> list[Part]:
    found: list[Part] = []
    if isinstance(text := owner.get("reasoning_content"), str) and text:
        found.append(Thinking(text=text))
    match owner.get("responses_reasoning_item"):
        case {"summary": list(summary)}:
            found += [Thinking(summary=each) for each in summary if isinstance(each, str)]
    return found


def _action(event: dict[str, Any]) -> Step:
    call = event.get("tool_call")
    call = call if isinstance(call, dict) else {}
    asked = arguments_of(call["arguments"]) if "arguments" in call else event.get("action")
    name = _text(event.get("tool_name")) or _text(call.get("name")) or ""
    parts: list[Part] = [*_thoughts(event), *_texts(event.get("thought"))]
    parts.append(ToolCall(id=_text(event.get("tool_call_id")), name=name, arguments=asked))
    return Step(role="agent", parts=tuple(parts))


def _observation(event: dict[str, Any]) -> Step:
    seen = event.get("observation")
    seen = seen if isinstance(seen, dict) else {}
    words = "\n".join(part.text for part in _texts(seen.get("content")))
    error = _text(event.get("error")) or _text(event.get("rejection_reason"))
    failed = bool(seen.get("is_error")) or error is not None
    code = seen.get("exit_code")
    result = ToolResult(
        call_id=_text(event.get("tool_call_id")),
        name=_text(event.get("tool_name")),
        output=words if seen else None,
        error=error or (words if failed else None),
        failure=_failure(event, error) if failed else "exit_code" if type(code) is int and code else None,
        exit_code=code if type(code) is int else None,
    )
    return Step(role="tool", parts=(result,))


def _failure(event: dict[str, Any], error: str | None) -> Failure:
    if event.get("kind") == "UserRejectObservation":
        return "denied"
    if error is not None and "not found" in error:
        return "invalid_tool"
    return "invalid_arguments" if error is not None and "validating" in error.lower() else "error"


def _finished(steps: list[Step]) -> str | None:
    """What the agent finished with, if that was the last thing it did."""
    for step in reversed(steps):
        if step.role == "agent" and step.kind == "message":
            for part in step.parts:
                if isinstance(part, ToolCall) and part.name == "finish" and isinstance(part.arguments, dict):
                    return _text(part.arguments.get("message"))
            return None
    return None


def _outcome(state: dict[str, Any], steps: list[Step]) -> Outcome | None:
    status = state.get("execution_status")
    if status == "error":
        why = next((step.error.message for step in reversed(steps) if step.error is not None), None)
        return Outcome(status="error", reason=why)
    return Outcome(status="limit", reason="stuck") if status == "stuck" else None


def _agent(state: dict[str, Any], steps: list[Step]) -> Agent:
    model: str | None = None
    match state:
        case {"agent": {"llm": {"model": str(found_model)}}}:
            model = found_model
    declared = next((found for step in steps if (found := step.extra.get(NAME, {}).get("tools"))), None)
    listed = [each for each in declared if isinstance(each, dict)] if isinstance(declared, list) else []
    tools = tuple(
        Tool(name=each["title"], description=_text(each.get("description")))
        for each in listed
        if isinstance(each.get("title"), str)
    )
    return Agent(name=NAME, model=model, tools=tools or None)


def _called(child: Trajectory, steps: list[Step]) -> Trajectory:
    """A sub-agent under the call that gave it its task; its first prompt is the task."""
    asked = next((said(step) for step in child.steps if step.role == "user"), None)
    for step in steps:
        for part in step.parts:
            task = (
                part.arguments.get("prompt")
                if isinstance(part, ToolCall) and isinstance(part.arguments, dict)
                else None
            )
            if isinstance(part, ToolCall) and isinstance(task, str) and asked is not None and task in asked:
                return replace(child, caller=part.id)
    return child


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


FORMAT = Format(
    name=NAME,
    title="OpenHands conversations of its SDK (V1): a directory of events, with those of sub-agents",
    spec="https://docs.openhands.dev/sdk",
    detect=detect,
    open=open_run,
    claim=claim,
    suffix="",
    nests=True,
    note="those of V0 are `openhands-v0`",
)
