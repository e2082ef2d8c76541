"""What the rows for the Vertex AI evaluation client share: steps as Gemini contents and back, failures, columns.

The client reads a file with pandas and refuses all of it for one row it cannot take; `refusal` says which.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Case, Failure, Part, Role, Sample, Step, Text, Thinking, ToolCall, ToolResult, Unknown

from .gemini import part_from, part_to
from .json import encode, unknown_keys
from .times import from_iso, iso

BARE = "_arguments"
"""The key under which arguments that are no object are written: `function_call.args` must be one."""

_FAILURES = frozenset(get_args(Failure))
_OWN_KEYS = frozenset({"output", "error"})
_EXIT_CODE = re.compile(r"exit code (-?\d+)")


def arguments_to(arguments: Any) -> dict[str, Any]:
    """Arguments as the object that `args` must be."""
    if isinstance(arguments, dict):
        return arguments
    return {} if arguments is None else {BARE: arguments}


def arguments_from(raw: Any) -> Any:
    """Arguments as the call had them; the inverse of `arguments_to`."""
    return raw[BARE] if type(raw) is dict and len(raw) == 1 and BARE in raw else raw


def error_text(result: ToolResult) -> str | None:
    """Why a tool failed: its error, else a word for a failure that the source hides in a normal answer."""
    if result.error is not None or result.failure is None:
        return result.error
    if result.failure == "exit_code" and result.exit_code is not None:
        return f"exit code {result.exit_code}"
    return result.failure


def failure_from(error: Any) -> dict[str, Any]:
    """The fields of a ToolResult that an error text says; the inverse of `error_text`."""
    if error is None:
        return {}
    text = error if isinstance(error, str) else encode(error).decode()
    if text in _FAILURES:
        return {"failure": text}
    if found := _EXIT_CODE.fullmatch(text):
        return {"failure": "exit_code", "exit_code": int(found[1])}
    return {"error": text, "failure": "error"}


def response_to(result: ToolResult) -> dict[str, Any]:
    """A tool's answer as `function_response.response`: with `output` and `error`, or the tool's own object."""
    output, error = result.output, error_text(result)
    if type(output) is dict:
        if error is not None and output == {"error": error}:
            return output
        if not output.keys() <= _OWN_KEYS and output.get("error") == error:
            return output
    response = {} if output is None else {"output": output}
    if error is not None:
        response["error"] = error
    return response


def result_from(part: ToolResult) -> ToolResult:
    """A result as `wire.gemini` reads it, with `output` and `error` taken out of the response object."""
    response = part.output
    if not isinstance(response, dict):
        return part
    output = response.get("output") if response.keys() <= _OWN_KEYS else response
    if (error := response.get("error")) is None:
        return ToolResult(call_id=part.call_id, name=part.name, output=output, extra=part.extra)
    return ToolResult(
        call_id=part.call_id,
        name=part.name,
        output=output,
        extra=part.extra,
        **failure_from(error),
    )


def must_be_text(**fields: Any) -> None:
    """A ReadError that names the first field which is neither a text nor absent."""
    for name, value in fields.items():
        if value is not None and type(value) is not str:
            raise ReadError(f"must be text, not {str(value)[:40]!r}", place=name)


def part_in(raw: Any, format_name: str) -> Part:
    """One Gemini part as a part of the model."""
    if type(raw) is dict and len(raw) == 1 and type(text := raw.get("text")) is str:
        return Text(text=text)
    part = part_from(raw, format_name)
    if type(part) is ToolResult:
        if type(part.call_id) is not str or type(part.name) is not str:
            must_be_text(call_id=part.call_id, name=part.name)
        return result_from(part)
    if type(part) is ToolCall:
        if type(part.id) is not str or type(part.name) is not str:
            must_be_text(id=part.id, name=part.name)
        if (arguments := arguments_from(part.arguments)) is not part.arguments:
            return msgspec.structs.replace(part, arguments=arguments)
    return part


def part_out(part: Part, format_name: str) -> dict[str, Any] | None:
    """A part of the model as a Gemini part that the client takes; None for what it has no word for, for text that the
    program inserted and for empty text."""
    kind = type(part)
    if kind is Text and (part.synthetic or not part.text):  # type: ignore[union-attr]
        return None
    if kind is Unknown or part.extra or kind not in _PLAIN:  # type: ignore[union-attr]
        return _part_out_with_extra(part, format_name)
    return _PLAIN[kind](part)


def _plain_text(part: Any) -> dict[str, Any]:
    return {"text": part.text}


def _plain_thinking(part: Any) -> dict[str, Any] | None:
    if part.text is None:
        return None
    said = {"text": part.text, "thought": True}
    return said if part.signature is None else {**said, "thought_signature": part.signature}


def _plain_call(part: Any) -> dict[str, Any]:
    call = {"name": part.name} if part.id is None else {"id": part.id, "name": part.name}
    if part.arguments is not None:
        call["args"] = arguments_to(part.arguments)
    return {"function_call": call}


def _plain_result(part: Any) -> dict[str, Any]:
    answer = {} if part.call_id is None else {"id": part.call_id}
    if part.name is not None:
        answer["name"] = part.name
    answer["response"] = response_to(part)
    return {"function_response": answer}


# Most parts are of these kinds and bear no extra: written without a detour they are what the speed depends on.
_PLAIN: dict[type, Callable[[Any], dict[str, Any] | None]] = {
    Text: _plain_text,
    Thinking: _plain_thinking,
    ToolCall: _plain_call,
    ToolResult: _plain_result,
}


def _part_out_with_extra(part: Part, format_name: str) -> dict[str, Any] | None:
    said = part_to(part, format_name)
    if said is None:
        return None
    if isinstance(part, ToolResult):
        said["function_response"]["response"] = response_to(part)
    elif isinstance(part, ToolCall) and part.arguments is not None:
        said["function_call"]["args"] = arguments_to(part.arguments)
    return said


Content = tuple[str, list[dict[str, Any]], float | None]
"""Role of a content (model, or user for what tools answered), its parts, and when the tools had answered."""


def contents_of(step: Step, format_name: str) -> Iterator[Content]:
    """What the agent said and asked in one step, and what the tools answered, in turns.

    Calls of one step count as made together, unless words or thoughts stand behind an answer."""
    asked: list[dict[str, Any]] = []
    answered: list[Content] = []
    for part in step.parts:
        said = part_out(part, format_name)
        if said is None:
            continue
        if isinstance(part, ToolResult):
            if answered and answered[-1][2] == part.ended:
                answered[-1][1].append(said)
            else:
                answered.append(("user", [said], part.ended))
            continue
        if answered and not isinstance(part, ToolCall):
            if asked:
                yield "model", asked, None
            yield from answered
            asked, answered = [], []
        asked.append(said)
    if asked:
        yield "model", asked, None
    yield from answered


def append_content(
    steps: list[Step],
    content: Any,
    format_name: str,
    *,
    author: str | None = None,
    start: int = 0,
    id: str | None = None,  # noqa: A002
    at: float | None = None,
    turn: int | None = None,
    invocation: str | None = None,
    state_delta: Any = None,
    rest: dict[str, Any] | None = None,
) -> None:
    """Add a content to the steps: one of its own, or, for mere tool answers, inside the step that made the calls.

    An answer that has an id, a state delta or a `rest` (what goes into `extra`) keeps a step of its own. `start` is the
    first step that the content may join."""
    if type(author) is not str or id is not None:
        must_be_text(author=author, id=id)
    if state_delta is not None and type(state_delta) is not dict:
        raise ReadError("must be an object", place="state_delta")
    role: Any = None
    parts: tuple[Part, ...] = ()
    if type(content) is dict:
        role, raw = content.get("role"), content.get("parts")
        parts = tuple([part_in(part, format_name) for part in raw]) if type(raw) is list else ()
        if not parts and type(content.get("content")) is str:
            parts = (Text(text=content["content"]),)
    speaker: Role = "system" if role == "system" else "user"
    if parts and role != "model" and all(type(part) is ToolResult for part in parts):
        alone = rest or id is not None or state_delta is not None or len(steps) <= start
        if not alone and (joined := _answered(steps[-1], parts, author, at)):
            steps[-1] = joined
            return
        speaker = "tool"
    elif role in ("model", "assistant") or (author is not None and author != "user"):
        speaker = "agent"
    steps.append(
        Step(
            id=id,
            role=speaker,
            agent=author if speaker in ("tool", "agent") else None,
            turn=turn,
            invocation=invocation,
            parts=parts,
            at=at,
            state_delta=state_delta,
            extra={format_name: rest} if rest else {},
        )
    )


def _answered(step: Step, results: tuple[Part, ...], author: str | None, ended: float | None) -> Step | None:
    """The step with these results behind their calls; None unless it made a call for each of them."""
    if step.role != "agent" or step.agent != author:
        return None
    parts = list(step.parts)
    answered = {part.call_id for part in parts if type(part) is ToolResult and part.call_id is not None}
    for result in results:
        assert type(result) is ToolResult
        if result.call_id in answered:
            return None
        for place, part in enumerate(parts):
            if type(part) is not ToolCall or part.id != result.call_id:
                continue
            follower = parts[place + 1] if place + 1 < len(parts) else None
            if part.id is not None or (
                result.name in (None, part.name) and not (isinstance(follower, ToolResult) and follower.call_id is None)
            ):
                # Words behind the call were said before the answer came.
                spoken = any(type(later) not in (ToolCall, ToolResult) for later in parts[place + 1 :])
                where = len(parts) if spoken else place + 1
                parts.insert(where, msgspec.structs.replace(result, ended=ended) if ended is not None else result)
                break
        else:
            return None
        if result.call_id is not None:
            answered.add(result.call_id)
    return msgspec.structs.replace(step, parts=tuple(parts))


def sample_refusal(sample: Sample, format_name: str) -> str | None:
    """Why the client's reader would refuse a file with this sample; None if it would not.

    Only what others made is looked at: arguments, outputs, states, schemas and extras."""
    trajectory = sample.trajectory
    assert trajectory is not None
    values: list[Any] = [sample.extra.get(format_name), trajectory.extra.get(format_name)]
    for agent in trajectory.agents:
        values.append(agent.extra.get(format_name))
        for tool in agent.tools or ():
            values += (tool.parameters, tool.extra.get(format_name))
    for step in trajectory.steps:
        if step.state_delta:
            values.append(step.state_delta)
        if step.extra:
            values.append(step.extra.get(format_name))
        for part in step.parts:
            kind = type(part)
            if kind is ToolCall:
                values.append(part.arguments)  # type: ignore[union-attr]
            elif kind is ToolResult:
                if type(part.output) is not str:  # type: ignore[union-attr]
                    values.append(part.output)  # type: ignore[union-attr]
            elif kind is Unknown:
                values.append(part.raw)  # type: ignore[union-attr]
                continue
            if part.extra:  # type: ignore[union-attr]
                values.append(part.extra.get(format_name))  # type: ignore[union-attr]
    return refusal(values)


def refusal(row: Any) -> str | None:
    """Why the client's reader would refuse a file with these values; None if it would not."""
    waiting = [row]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is dict:
            waiting.extend(value.values())
        elif kind is list:
            waiting.extend(value)
        elif kind is int and not -(2**63) <= value < 2**64:
            return f"the client cannot read the integer {value}: it has no 64 bits"
    return None


def text_or_content(text: str, role: str) -> str | dict[str, Any]:
    """A text as it may stand in a column; one that looks like a number as a content, because pandas would make a
    number of it and the client then refuses the file."""
    if text[:1].isalpha() and text[:1] not in "nNiI":
        return text
    try:
        float(text)
    except ValueError:
        return text
    return {"role": role, "parts": [{"text": text}]}


def column_text(value: Any) -> str | None:
    """The text of a column that holds a text or a content of one plain text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(parts := value.get("parts"), list) and len(parts) == 1:
        part = parts[0]
        if isinstance(part, dict) and part.keys() == {"text"} and isinstance(part["text"], str):
            return part["text"]
    return None


def session_id(row: dict[str, Any]) -> str:
    """The row's own id; a fingerprint of the row where it has none."""
    for key in ("session_id", "eval_case_id"):
        if isinstance(found := row.get(key), (str, int)) and found != "":
            return str(found)
    return f"row_{hashlib.sha256(encode(row)).hexdigest()[:12]}"


COLUMNS = {"session_id", "epoch", "title", "created", "reference", "context"}
"""Columns beside what the client knows by name; reference and context serve its metrics."""


def columns_of(sample: Sample, format_name: str) -> dict[str, Any]:
    """The columns of a sample that say something; unknown ones of the same format come back."""
    case, trajectory = sample.case or Case(), sample.trajectory
    columns: dict[str, Any] = {"session_id": sample.id}
    if sample.epoch is not None:
        columns["epoch"] = sample.epoch
    if trajectory is not None and trajectory.title is not None:
        columns["title"] = trajectory.title
    if trajectory is not None and (created := time_text(trajectory.created)) is not None:
        columns["created"] = created
    if case.reference:
        columns["reference"] = text_or_content(case.reference, "model")
    if case.context:
        columns["context"] = text_or_content(case.context, "user")
    columns.update(sample.extra.get(format_name, {}))
    return columns


def columns_from(row: dict[str, Any], format_name: str, known: set[str]) -> dict[str, Any]:
    """The fields of a Sample that the columns say, and under `title` and `created` those of its trajectory."""
    rest = unknown_keys(row, known | {"session_id"})
    fields: dict[str, Any] = {"id": session_id(row), "title": None, "created": None, "epoch": None}
    if isinstance(title := rest.get("title"), str):
        fields["title"] = title
        del rest["title"]
    if (created := from_iso(rest.get("created"))) is not None:
        fields["created"] = created
        del rest["created"]
    if type(epoch := rest.get("epoch")) is int:
        fields["epoch"] = epoch
        del rest["epoch"]
    stated = {key: text for key in ("reference", "context") if (text := column_text(rest.get(key)))}
    for key in stated:
        del rest[key]
    fields["case"] = Case(reference=stated.get("reference"), context=stated.get("context")) if stated else None
    fields["extra"] = {format_name: rest} if rest else {}
    return fields


def time_text(seconds: float | None) -> str | None:
    """ISO 8601 in UTC; None for no time and for one that no calendar has."""
    if seconds is None:
        return None
    try:
        return iso(seconds)
    except (ValueError, OverflowError, OSError):
        return None
