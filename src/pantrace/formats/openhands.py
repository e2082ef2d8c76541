"""Conversations of OpenHands (its SDK, version 1): a directory with a state and a file for each event; also files with
the events of one conversation, and output.jsonl of its benchmarks.

Spec: github.com/OpenHands/software-agent-sdk; `base_state.json`, `events/event-*.json`, `subagents/ID/`;
    github.com/OpenHands/benchmarks, benchmarks/utils/models.py (EvalOutput)
Detect: a directory with `base_state.json` and `events`; records with `id`, `timestamp`, `source` and the `kind` of an
    event; lines with `instance_id` and a `history` of such records.
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
    Score,
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
    step_text,
)
from pantrace.wire.claimed_files import Claim, inside
from pantrace.wire.extra_keys import as_extra, rest_of, texts_in
from pantrace.wire.head import Head
from pantrace.wire.openai_chat import arguments_of
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.rows import OnBroken, read_log, read_rows
from pantrace.wire.source import with_source
from pantrace.wire.times import from_iso
from pantrace.wire.whole_document import object_in

from .format import Format

NAME = "openhands"
STATE, EVENTS, SUB_AGENTS = "base_state.json", "events", "subagents"
# OpenAI's convention: cached tokens are part of the prompt, reasoning is part of the completion.
_COUNTS = {
    "input": "prompt_tokens",
    "output": "completion_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}
_NAMES = ("id", "parent_id")


def detect(head: Head) -> str | None:
    folder = head.path
    if head.kind == "directory" and (folder / STATE).is_file() and (folder / EVENTS).is_dir():
        return "V1"
    if head.kind != "json":
        return None
    if head.layout in ("array", "lines") and is_event(head.record):
        return "events"
    return "evaluation" if any(map(_is_instance, head.records)) else None


def is_event(record: Any) -> bool:
    """Whether a record is an event of V1; events of V0 have no `kind`."""
    if not isinstance(record, dict) or not record.keys() >= {"id", "timestamp", "source", "kind"}:
        return False
    return str(record["kind"]).endswith("Event") or record["kind"] in ("Condensation", "CondensationRequest")


def _is_instance(record: Any) -> bool:
    match record:
        case {"instance_id": _, "history": [event, *_]}:
            return is_event(event)
    return False


def claim(folder: Path) -> Claim:
    return inside(folder)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """One conversation, with those of its sub-agents; or every instance of an evaluation."""
    version = "V1" if path.is_dir() else detect(Head(path)) or "V1"
    source = Source(format=NAME, version=version, path=str(path))

    def samples() -> Iterator[Sample]:
        if version != "V1":
            rows = [(None, read_log(path, on_broken))] if version == "events" else read_rows(path, on_broken)
            for place, row in rows:
                try:
                    sample = load(row)
                except ReadError as error:
                    on_broken(error.at(path=str(path), place=place))
                    continue
                # Events do not name their conversation, so the file does.
                yield with_source(replace(sample, id=path.stem) if sample.id == NAME else sample, source)
            return
        try:
            conversation = _conversation(path, on_broken)
        except ReadError as error:
            on_broken(error.at(path=str(path)))
            return
        yield with_source(Sample(id=conversation.id or path.name, trajectory=conversation), source)

    return Run(name=path.name, source=source, samples=samples())


def load(row: Any) -> Sample:
    """The events of a conversation, or an instance of an evaluation."""
    instance = {"history": row} if isinstance(row, list) else row
    if not isinstance(instance, dict) or not isinstance(events := instance.get("history"), list):
        raise ReadError("an instance needs a history of events")
    state = _last_state(events)
    # An evaluation keeps the metrics and the agent's settings beside the history; they take the place of the state.
    if isinstance(metrics := instance.get("metrics"), dict):
        state |= {"stats": {"usage_to_metrics": {"agent": metrics}}}
    if isinstance(metadata := instance.get("metadata"), dict):
        state |= {"agent": metadata}
    usages = _usages(state)
    steps: list[Step] = []
    for place, event in enumerate(events):
        if not is_event(event):
            raise ReadError("an event needs an id, a timestamp, a source and a kind", place=f"[{place}]")
        steps.append(_step(event, usages))
    trouble, attempt = text_of(instance.get("error")), instance.get("attempt")
    trajectory = Trajectory(
        agents=(_agent(state, steps),),
        steps=tuple(steps),
        response=_final_message(steps),
        outcome=Outcome(status="error", reason=trouble) if trouble else _outcome(state, steps),
    )
    scores: tuple[Score, ...] = ()
    match instance.get("test_result"):
        case {"report": {"resolved": bool(resolved)}} | {"resolved": bool(resolved)}:
            scores = (Score(name="resolved", value=resolved),)
    return Sample(
        id=str(instance.get("instance_id") or NAME),
        epoch=attempt if type(attempt) is int else None,
        trajectory=trajectory,
        scores=scores,
        extra=as_extra(NAME, rest_of(instance, ("history",))),
    )


def _last_state(events: list[Any]) -> dict[str, Any]:
    """The state that events report, each key with its last value: a file of events has no `base_state.json`."""
    found: dict[str, Any] = {}
    for event in events:
        match event:
            case {"kind": "ConversationStateUpdateEvent", "key": "full_state", "value": dict(whole)}:
                found |= whole
            case {"kind": "ConversationStateUpdateEvent", "key": str(key), "value": value}:
                found[key] = value
    return found


def _conversation(folder: Path, on_broken: OnBroken) -> Trajectory:
    if not (folder / STATE).is_file():
        raise ReadError(f"a conversation is a directory with {STATE} and {EVENTS}", remedy="name the directory")
    state = object_in(folder / STATE)
    usages = _usages(state)
    steps: list[Step] = []
    for path in sorted((folder / EVENTS).glob("event-*.json")):
        try:
            steps.append(_step(object_in(path), usages))
        except ReadError as error:
            on_broken(error.at(path=str(path)))
    children = []
    for inner in sorted((folder / SUB_AGENTS).glob("*")) if (folder / SUB_AGENTS).is_dir() else ():
        # A sub-agent that never began has a folder without a state.
        if (inner / STATE).is_file():
            children.append(_conversation(inner, on_broken))
    name = state.get("id")
    # A leaf that is not among the events would leave no active path at all.
    is_leaf = any(step.id is not None and step.id == state.get("leaf_event_id") for step in steps)
    known = texts_in(state, "id", *(("leaf_event_id",) if is_leaf else ()))
    return Trajectory(
        id=text_of(name),
        agents=(_agent(state, steps),),
        steps=tuple(steps),
        leaf=state["leaf_event_id"] if is_leaf else None,
        response=_final_message(steps),
        outcome=_outcome(state, steps),
        children=tuple(_with_caller(child, steps) for child in sorted(children, key=_begin)),
        extra=as_extra(NAME, {"state": rest_of(state, known)}),
    )


def _begin(trajectory: Trajectory) -> float:
    return min((step.at for step in trajectory.steps if step.at is not None), default=0.0)


def _usages(state: dict[str, Any]) -> dict[str, Usage]:
    """The usage of each response, by its id. Sub-agents have theirs in their own states."""
    match state:
        case {"stats": {"usage_to_metrics": dict(by_use)}}:
            # `task:` is the usage of sub-agents, which their own states repeat.
            metrics = [each for use, each in by_use.items() if isinstance(each, dict) and not use.startswith("task:")]
        case _:
            return {}
    found: dict[str, Usage] = {}
    for each in metrics:
        reported = [usage for usage in list_of(each.get("token_usages")) if isinstance(usage, dict)]
        costs = [cost.get("cost") for cost in list_of(each.get("costs")) if isinstance(cost, dict)]
        for place, usage in enumerate(reported):
            # Costs have no response id: they belong together only if the two lists are equally long.
            known = {name: usage[key] for name, key in _COUNTS.items() if type(usage.get(key)) is int}
            cost = costs[place] if len(costs) == len(reported) and isinstance(costs[place], (int, float)) else None
            found[str(usage.get("response_id"))] = Usage(**known, cost_usd=cost)
    return found


def _step(event: dict[str, Any], usages: dict[str, Usage]) -> Step:
    """An event as a step. If a response has several events, the first one has its usage."""
    # Events only name their response; the tokens are in the state. `pop`, so that each response counts once.
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
            trouble = StepError(kind=text_of(event.get("code")), message=text_of(event.get("detail")))
            step, known = Step(role="agent", kind="note", error=trouble), ("code", "detail")
        case _:
            step, known = Step(role="system", kind="note"), ()
    at = from_iso(event.get("timestamp"))
    rest = rest_of(event, ("kind", *(("timestamp",) if at is not None else ()), *texts_in(event, *_NAMES, *known)))
    if step.kind == "note":
        rest["kind"] = kind
    return replace(
        step,
        id=text_of(event.get("id")),
        parent=text_of(event.get("parent_id")),
        at=at,
        usage=usage,
        extra=as_extra(NAME, rest),
    )


def _texts(contents: Any) -> tuple[Text, ...]:
    found = list_of(contents)
    texts = [each.get("text") for each in found if isinstance(each, dict)]
    return tuple(Text(text=text) for text in texts if isinstance(text, str))


def _message(event: dict[str, Any]) -> Step:
    message = event.get("llm_message")
    message = object_of(message)
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
    call = object_of(call)
    # What the model wrote; `action` is what the SDK made of it, with its own defaults.
    asked = arguments_of(call["arguments"]) if "arguments" in call else event.get("action")
    name = text_of(event.get("tool_name")) or text_of(call.get("name")) or ""
    parts: list[Part] = [*_thoughts(event), *_texts(event.get("thought"))]
    parts.append(ToolCall(id=text_of(event.get("tool_call_id")), name=name, arguments=asked))
    return Step(role="agent", parts=tuple(parts))


def _observation(event: dict[str, Any]) -> Step:
    seen = event.get("observation")
    seen = object_of(seen)
    words = "\n".join(part.text for part in _texts(seen.get("content")))
    error = text_of(event.get("error")) or text_of(event.get("rejection_reason"))
    failed = bool(seen.get("is_error")) or error is not None
    code = seen.get("exit_code")
    result = ToolResult(
        call_id=text_of(event.get("tool_call_id")),
        name=text_of(event.get("tool_name")),
        output=words if seen else None,
        error=error or (words if failed else None),
        # A command that fails is an ordinary observation; only its exit code shows the failure.
        failure=_failure(event, error) if failed else "exit_code" if type(code) is int and code else None,
        exit_code=code if type(code) is int else None,
    )
    return Step(role="tool", parts=(result,))


def _failure(event: dict[str, Any], error: str | None) -> Failure:
    if event.get("kind") == "UserRejectObservation":
        return "denied"
    # The SDK has no error codes; these are the words of its messages to the model.
    if error is not None and "not found" in error:
        return "invalid_tool"
    return "invalid_arguments" if error is not None and "validating" in error.lower() else "error"


def _final_message(steps: list[Step]) -> str | None:
    """The message of the `finish` tool, if that was the agent's last action."""
    for step in reversed(steps):
        if step.role == "agent" and step.kind == "message":
            for part in step.parts:
                if isinstance(part, ToolCall) and part.name == "finish" and isinstance(part.arguments, dict):
                    return text_of(part.arguments.get("message"))
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
    # The system prompt's event lists the tools; the state does not.
    declared = next((found for step in steps if (found := step.extra.get(NAME, {}).get("tools"))), None)
    listed = [each for each in declared if isinstance(each, dict)] if isinstance(declared, list) else []
    tools = tuple(
        Tool(name=each["title"], description=text_of(each.get("description")))
        for each in listed
        if isinstance(each.get("title"), str)
    )
    return Agent(name=NAME, model=model, tools=tools or None)


def _with_caller(child: Trajectory, steps: list[Step]) -> Trajectory:
    """A sub-agent with the call that started it. Nothing links the two but the task, which becomes its first prompt."""
    asked = next((step_text(step) for step in child.steps if step.role == "user"), None)
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


FORMAT = Format(
    name=NAME,
    title="OpenHands conversations of its SDK (V1): directories, files of events, output.jsonl of its benchmarks",
    spec="https://docs.openhands.dev/sdk",
    detect=detect,
    open=open_run,
    load=load,
    claim=claim,
    suffix="",
    nests=True,
    note="V0 is the format `openhands-v0`",
)
