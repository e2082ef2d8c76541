"""Trajectories of SWE-agent: the conversation as the model saw it, and the result of each action.

Spec: github.com/SWE-agent/SWE-agent, docs/usage/trajectories.md; demonstrations have only the conversation.
Detect: `history` of messages that name an agent.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Outcome,
    Sample,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    step_text,
)
from pantrace.wire.extra_keys import as_extra, rest_in
from pantrace.wire.head import Head
from pantrace.wire.openai_chat import step_from
from pantrace.wire.optional import list_of, object_of

from .format import Format

NAME = "swe-agent"


def detect(head: Head) -> str | None:
    return _variant(head.record)


def _is_document(record: Any) -> bool:
    return _variant(record) is not None


def _variant(record: Any) -> str | None:
    match record:
        case {"history": [{"role": str(), "agent": str()}, *_]}:
            return "" if "trajectory" in record else "demonstration"
        case {"trajectory": [{"action": str(), "observation": str(), "response": str()}, *_]}:
            return ""
    return None


def load(row: Any) -> Sample:
    if not isinstance(row, dict) or not isinstance(row.get("history"), list):
        raise ReadError("a trajectory needs a history of messages")
    info = object_of(row.get("info"))
    acted = list_of(row.get("trajectory"))
    submission = info.get("submission")
    steps = tuple(_steps(row["history"], acted))
    rest = {key: value for key, value in row.items() if key not in ("history", "trajectory")}
    kept = [rest_in(step.extra, NAME).get("trajectory") for step in steps]
    if skipped := [each for each in acted if not any(each is other for other in kept)]:
        rest["trajectory"] = skipped
    trajectory = Trajectory(
        steps=steps,
        response=submission if isinstance(submission, str) and submission.strip() else None,
        outcome=_outcome(info.get("exit_status")),
        usage=_usage(info.get("model_stats")),
        extra=as_extra(NAME, rest),
    )
    # `name_in_file` replaces this by the file's name, if there is one.
    return Sample(id=str(row.get("environment") or NAME), trajectory=trajectory)


def _steps(history: list[Any], acted: list[Any]) -> Iterator[Step]:
    """The messages as steps; those that act also keep their entry of `trajectory`."""
    number = 0
    call: ToolCall | None = None
    observed: Any = None
    for place, message in enumerate(history):
        try:
            step = step_from(message, NAME)
        except ReadError as error:
            raise error.at(place=f"history[{place}]") from None
        rest = rest_in(step.extra, NAME)
        if isinstance(rest.get("agent"), str):
            step = replace(step, agent=rest["agent"] if step.role == "agent" else None)
        # A demonstration in the prompt: the agent did not do this.
        if rest.get("is_demo"):
            yield replace(step, kind="synthetic")
            continue
        if step.role == "agent" and "action" in rest:
            number = _place_of(rest["action"], acted, number)
            beside = acted[number] if number < len(acted) else None
            number += 1
            step, call = _with_action(step, rest["action"], beside)
            observed = beside
        elif step.role == "tool":
            # Several calls in one message are answered together.
            ids = rest.get("tool_call_ids")
            name = call.name if call is not None else None
            if isinstance(ids, list) and ids and isinstance(ids[0], str):
                step = replace(step, parts=tuple(_with_call(part, ids[0], name) for part in step.parts))
            call = None
        # The older dialect has no tool messages: what a command printed comes back as the user's.
        elif step.role == "user" and call is not None:
            step = replace(
                step, role="tool", parts=(ToolResult(call_id=call.id, name=call.name, output=step_text(step)),)
            )
            call = None
        yield step
    # The history may lack the last action's result, or the action itself, as the run ended there.
    yield from _answer(call, observed)
    for beside in acted[number:]:
        match beside:
            # `exit_cost` and the like are entries that SWE-agent adds when it stops a run; no model chose them.
            case {"action": str(action), "response": str(words)} if action.strip() and not action.startswith("exit_"):
                answer = Step(role="agent", parts=(Text(text=words),) if words else ())
                step, call = _with_action(answer, action, beside)
                yield step
                yield from _answer(call, beside)


def _place_of(action: Any, acted: list[Any], number: int) -> int:
    """The place of an action in `trajectory`. Entries before it that `history` lacks were tried and taken back."""
    later = range(number, len(acted))
    return next((place for place in later if object_of(acted[place]).get("action") == action), number)


def _answer(call: ToolCall | None, beside: Any) -> Iterator[Step]:
    """The result of an action, from its entry of `trajectory`."""
    seen = object_of(beside).get("observation")
    if call is not None and isinstance(seen, str):
        yield Step(role="tool", parts=(ToolResult(call_id=call.id, name=call.name, output=seen),))


def _with_action(step: Step, action: Any, beside: Any) -> tuple[Step, ToolCall | None]:
    """A step with its action as a call, and with its entry of `trajectory`."""
    kept = {**rest_in(step.extra, NAME), **({"trajectory": beside} if beside is not None else {})}
    step = replace(step, extra=as_extra(NAME, kept))
    found = next((part for part in step.parts if isinstance(part, ToolCall)), None)
    if found is not None or not isinstance(action, str) or not action.strip():
        return step, found
    # Before there were tool calls, an action was a command line of SWE-agent's own shell; the first word names it.
    call = ToolCall(name=action.split()[0], arguments=action)
    return replace(step, parts=(*step.parts, call)), call


def _with_call(part: Any, call: str, name: str | None) -> Any:
    return replace(part, call_id=part.call_id or call, name=part.name or name) if isinstance(part, ToolResult) else part


def _outcome(status: Any) -> Outcome | None:
    """How the run ended, if badly. Submitting is not a success: nobody has checked the answer yet."""
    # "submitted (exit_cost)": the run was stopped, and what was there was submitted.
    if not isinstance(status, str) or (status.startswith("submitted") and "(" not in status):
        return None
    limited = any(word in status for word in ("cost", "context", "limit", "time"))
    return Outcome(status="limit" if limited else "error", reason=status)


def _usage(stats: Any) -> dict[str, Usage] | None:
    """Totals of the run. Zeros mean "not reported": SWE-agent writes them if no model was called."""
    if not isinstance(stats, dict):
        return None
    words = {"input": "tokens_sent", "output": "tokens_received", "cost_usd": "instance_cost"}
    found = {name: stats[key] for name, key in words.items() if isinstance(stats.get(key), (int, float)) and stats[key]}
    return {"": Usage(**found)} if found else None


def name_in_file(name: str, path: Path) -> str:
    """The task's name, which is only in the file's name."""
    return path.name.partition(".traj")[0]


FORMAT = Format(
    name=NAME,
    title="SWE-agent trajectories (.traj) and demonstrations",
    spec="https://swe-agent.com/latest/usage/trajectories/",
    detect=detect,
    load=load,
    name_in_file=name_in_file,
    layout="document",
    stands_alone=_is_document,
    suffix=".traj",
    note="function calling and the older commands; demonstrations in YAML are not read",
)
