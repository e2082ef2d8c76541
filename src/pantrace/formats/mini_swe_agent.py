"""Trajectories of mini-swe-agent: OpenAI's messages, with the cost of each call and the result of each command.

Spec: github.com/SWE-agent/mini-swe-agent, `trajectory_format` "mini-swe-agent-1.1"; older files hold only messages.
Detect: `trajectory_format`, or a prompt that explains how to submit the task.
Lost: nothing for pantrace, which keeps the rest in `info.pantrace`; for other tools sub-agents, scores, times of tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Outcome,
    Sample,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    final_response,
    step_text,
)
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.extra_keys import as_extra, rest_in
from pantrace.wire.head import Head
from pantrace.wire.openai_chat import messages_to, step_from
from pantrace.wire.optional import object_of, present, text_of
from pantrace.wire.usage_names import usage_of

from .format import Format, NoOptions

NAME = "mini-swe-agent"
SUBMITTING = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
FORMAT_NAME = "mini-swe-agent-1.1"
_COMMAND = re.compile(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"<returncode>(-?\d+)</returncode>")
_LIMITS = ("LimitsExceeded", "TimeExceeded")
_FINE = ("Submitted", None, "")
UNNAMED = "trajectory"
_ANOTHERS = {"id", "tools", "system"}
"""Keys beside `messages` that only requests and datasets have, whatever the messages ask for."""
IN_TEXT, HIDDEN, AS_USER = "in_text", "hidden", "as_user"
"""Notes for the writer: a call inside the text, a reply that is not a message, a result that is a user's message."""


def detect(head: Head) -> str | None:
    record = head.record
    if str(record.get("trajectory_format", "")).startswith("mini-swe-agent"):
        return str(record["trajectory_format"])
    if record.keys() & _ANOTHERS:
        return None
    messages = record.get("messages") if "messages" in record else head.records
    if not isinstance(messages, (list, tuple)) or len(messages) < 2:
        return None
    first = [each for each in messages[:2] if isinstance(each, dict) and isinstance(each.get("role"), str)]
    # Files older than `trajectory_format` have no other mark: the prompt tells the agent to echo this word.
    asks = any(SUBMITTING in str(each.get("content")) for each in first)
    return "messages" if len(first) == 2 and asks else None


def _is_document(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("messages"), list)


def read(row: Any) -> Sample:
    document = {"messages": row} if isinstance(row, list) else row
    if not isinstance(document, dict):
        raise ReadError("a trajectory is an object, or a list of messages")
    messages, info = document.get("messages"), document.get("info") or {}
    if not isinstance(messages, list) or not isinstance(info, dict):
        raise ReadError("a trajectory needs a list of messages, and info as an object")
    steps: list[Step] = []
    for number, message in enumerate(messages):
        try:
            steps += _steps(message, steps)
        except ReadError as error:
            raise error.at(place=f"messages[{number}]") from None
    rest = {key: value for key, value in document.items() if key != "messages"}
    if isinstance(row, list):
        rest["bare"] = True
    submission = info.get("submission")
    trajectory = Trajectory(
        agents=(Agent(name=NAME, model=_model(info)),),
        steps=tuple(steps),
        response=submission.strip() if isinstance(submission, str) else None,  # "": it ended without an answer
        outcome=_outcome(info.get("exit_status")),
        usage=_stats(info, steps),
        extra=as_extra(NAME, rest),
    )
    return Sample(id=str(info.get("instance_id") or document.get("instance_id") or UNNAMED), trajectory=trajectory)


def _steps(message: Any, before: list[Step]) -> Iterator[Step]:
    step = step_from(message, NAME)
    rest = rest_in(step.extra, NAME)
    extra = object_of(rest.get("extra"))
    step = replace(step, at=extra.get("timestamp"))
    if step.role == "agent":
        yield _with_calls(_with_usage(step, extra), extra)
    elif step.role == "tool":
        yield replace(step, parts=tuple(_result(part, extra) for part in step.parts))
    elif step.role == "user" and isinstance(extra.get("response"), dict):
        # A reply without a valid call is not a message of its own: it is inside the complaint about it.
        # Without this step there would be fewer model calls than `api_calls` says.
        yield _with_usage(_reply(extra["response"]), extra)
        yield replace(step, kind="synthetic")
    # Older agents had no tools: what the shell printed comes back as the next user message.
    elif step.role == "user" and before and (call := _open_call(before[-1])) is not None:
        text = step_text(step) or ""
        result = _result(ToolResult(call_id=call.id, name=call.name, output=text), extra)
        yield replace(step, role="tool", parts=(result,), extra=as_extra(NAME, {**rest, AS_USER: True}))
    else:
        yield step


def _open_call(step: Step) -> ToolCall | None:
    return next((part for part in step.parts if isinstance(part, ToolCall) and rest_in(part.extra, NAME)), None)


def _with_usage(step: Step, extra: dict[str, Any]) -> Step:
    """A step with the tokens and cost of its model call."""
    response = object_of(extra.get("response"))
    counts = response.get("usage")
    usage = usage_of(counts, NAME) if isinstance(counts, dict) and "prompt_tokens" in counts else None
    if isinstance(cost := extra.get("cost"), (int, float)):
        usage = replace(usage or Usage(), cost_usd=cost)
    match response.get("choices"):
        case [{"finish_reason": str(stop)}, *_]:
            step = replace(step, stop=stop)
    model = response.get("model")
    return replace(step, usage=usage, model=text_of(model))


def _with_calls(step: Step, extra: dict[str, Any]) -> Step:
    """A step with the command that older agents write into their text, turned into a call."""
    if any(isinstance(part, ToolCall) for part in step.parts):
        return step
    found = _COMMAND.search(step_text(step) or "")
    if found is None:
        return step
    call = ToolCall(name="bash", arguments={"command": found[1]}, extra=as_extra(NAME, {IN_TEXT: True}))
    return replace(step, parts=(*step.parts, call))


def _reply(response: dict[str, Any]) -> Step:
    match response.get("choices"):
        case [{"message": dict(message)}, *_]:
            parts = step_from({**message, "role": "assistant"}, NAME).parts
        case _:
            parts = ()
    return Step(role="agent", parts=parts, extra=as_extra(NAME, {HIDDEN: True}))


def _result(part: Any, extra: dict[str, Any]) -> Any:
    if not isinstance(part, ToolResult):
        return part
    code = extra.get("returncode")
    # Older versions give the exit code only in the text that the model saw.
    if code is None and isinstance(part.output, str) and (stated := _CODE.search(part.output)):
        code = int(stated[1])
    trouble = extra.get("exception_info") or None
    # A timeout has an exception instead of an exit code, so it is checked first.
    failure = "timeout" if extra.get("exception_type") == "TimeoutExpired" else "error" if trouble else None
    if failure is None and isinstance(code, int) and code != 0:
        failure = "exit_code"
    known = code if isinstance(code, int) else None
    return replace(part, exit_code=known, error=str(trouble) if trouble else None, failure=failure)


def _outcome(status: Any) -> Outcome | None:
    """How the run ended, if badly. Submitting is not a success: nobody has checked the answer yet."""
    if status in _FINE or not isinstance(status, str):
        return None
    return Outcome(status="limit" if status in _LIMITS else "error", reason=status)


def _model(info: dict[str, Any]) -> str | None:
    match info:
        case {"config": {"model": {"model_name": str(name)}}}:
            return name
    return None


def _stats(info: dict[str, Any], steps: list[Step]) -> dict[str, Usage] | None:
    """The total cost, if no call states its own."""
    match info:
        case {"model_stats": {"instance_cost": int() | float() as cost}} if cost:
            # The total repeats the costs of the calls; keeping both would count them twice.
            if not any(step.usage for step in steps):
                return {"": Usage(cost_usd=cost)}
    return None


def write(sample: Sample, options: NoOptions) -> Any:
    trajectory = sample.trajectory or Trajectory()
    rest = dict(rest_in(trajectory.extra, NAME))
    messages = list(_messages(trajectory))
    if rest.pop("bare", False) and not rest:
        # The older layout has only messages.
        return {"messages": messages}
    if "trajectory_format" not in rest:
        status = None if trajectory.outcome is None else trajectory.outcome.reason or trajectory.outcome.status
        submission = final_response(trajectory) or ""
        info = {"exit_status": status or "Submitted", "submission": submission, "instance_id": sample.id}
        rest = {"info": {**info, **rest.get("info", {})}, "trajectory_format": FORMAT_NAME, **rest}
    # The name of the format goes first: a file is recognised by its beginning, and `info.pantrace` may be long.
    first = {key: value for key in ("trajectory_format", "info") if (value := rest.pop(key, None)) is not None}
    return {**first, "messages": messages, **rest}


def _messages(trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    for step in trajectory.steps:
        rest = rest_in(step.extra, NAME)
        # The message that complains about this reply contains it (`extra.response`).
        if rest.get(HIDDEN):
            continue
        if rest.get(AS_USER):
            words = [part.output for part in step.parts if isinstance(part, ToolResult)]
            kept = {key: value for key, value in rest.items() if key not in (AS_USER, "content")}
            yield {"role": "user", "content": words[0] if words else "", **kept}
            continue
        parts = tuple(
            part for part in step.parts if not (isinstance(part, ToolCall) and rest_in(part.extra, NAME).get(IN_TEXT))
        )
        for message in messages_to([replace(step, parts=parts)], NAME):
            if "extra" not in message and (extra := _extra(step)):
                message["extra"] = extra
            yield message


def _extra(step: Step) -> dict[str, Any]:
    """The `extra` that mini-swe-agent itself would have written for a message."""
    extra: dict[str, Any] = {} if step.at is None else {"timestamp": step.at}
    if step.usage is not None:
        words = {"prompt_tokens": step.usage.input, "completion_tokens": step.usage.output}
        counts = present(words)
        extra |= {"response": {"model": step.model, "usage": counts}} if counts else {}
        extra |= {} if step.usage.cost_usd is None else {"cost": step.usage.cost_usd}
    for part in step.parts:
        if isinstance(part, ToolResult) and part.exit_code is not None:
            extra["returncode"] = part.exit_code
    return extra


load, dump = carry_rest(read, write, "info.pantrace")


def name_in_file(name: str, path: Path) -> str:
    """The task's name from the file name; only benchmark runs write it inside the file."""
    return path.name.partition(".traj")[0] if name == UNNAMED else name


FORMAT = Format(
    name=NAME,
    title="mini-swe-agent trajectories: messages with the cost of each call and the exit code of each command",
    spec="https://mini-swe-agent.com/latest/usage/output_files/",
    detect=detect,
    load=load,
    dump=dump,
    name_in_file=name_in_file,
    layout="document",
    stands_alone=_is_document,
    suffix=".traj.json",
    corners=("info.pantrace",),
    lost={"": "mini-swe-agent holds messages, commands and costs of one agent"},
)
