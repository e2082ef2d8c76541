"""Conversations of items; all items of one response are one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import Agent, Part, Role, Sample, Step, StepError, ToolCall, ToolResult, Trajectory
from pantrace.wire.api_exchanges import UNNAMED, Exchange, is_exchange, turns_of
from pantrace.wire.call_ids import conversation_steps
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.openai_responses import parts_from, role_of, step_items
from pantrace.wire.openai_tools import tool_to, tools_from
from pantrace.wire.openai_usage import usage_from
from pantrace.wire.optional import list_of, present, text_of
from pantrace.wire.times import from_seconds

from ..format import NoOptions

NAME = "openai-responses"
Record = dict[str, Any]
_FORM = "form"
_FAILED = "An error occurred while running the tool"
"""How the Agents SDK begins its message to the model about a tool that raised an exception."""


def is_response(raw: Any) -> bool:
    """Whether a value is a response of the API, or the form in which the Agents SDK keeps one."""
    if not isinstance(raw, dict) or not isinstance(raw.get("output"), list):
        return False
    # The second is the SDK's `ModelResponse`, which drops `object`.
    return raw.get("object") == "response" or ("response_id" in raw and "usage" in raw)


def history(exchange: Exchange) -> list[Any]:
    given = exchange["request"].get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return list_of(given)


def load(row: Any) -> Sample:
    """The body of a request, a list of items or of responses, or the exchanges of one conversation."""
    steps: list[Step] = []
    form: str | None = None
    if isinstance(row, list) and row and is_exchange(row[0]):
        if not all(is_response(each["response"]) for each in row):
            raise ReadError("an exchange has no response with output", place="response")
        # Requests repeat the instructions. They become the agent's; a request keeps its own only if they differ.
        same = row[-1]["request"].get("instructions")
        for turn in turns_of(row, history, lambda each: list(each["response"]["output"])):
            steps += steps_from(turn.said)
            taken = {"input", "tools", *(("instructions",) if turn.request.get("instructions") == same else ())}
            steps.append(response_step(turn.response, rest_of(turn.request, taken), turn.rest))
        row = rest_of(row[-1]["request"], {"previous_response_id"})  # that response is among the steps
    elif is_response(row) or (isinstance(row, list) and row and is_response(row[0])):
        responses = row if isinstance(row, list) else [row]
        if not all(is_response(each) for each in responses):
            raise ReadError("a list of responses holds something else")
        steps = [response_step(each, None) for each in responses]
        # A response repeats the settings of its request; the last one has those in force at the end.
        row = {key: responses[-1][key] for key in ("tools", "instructions", "model") if responses[-1].get(key)}
    else:
        row, form = ({"input": row}, "list") if isinstance(row, list) else (row, None)
        key = "input" if isinstance(row, dict) and "input" in row else "items"
        if not isinstance(row, dict) or not isinstance(row.get(key), (list, str)):
            raise ReadError("has no `input` of items", remedy="is --from right?")
        form = "items" if key == "items" else "text" if isinstance(row[key], str) else form
        items = [{"role": "user", "content": row[key]}] if isinstance(row[key], str) else row[key]
        steps, row = list(steps_from(items)), rest_of(row, {key})
    return _sample(row, steps, form)


def _sample(row: Record, steps: Iterable[Step], form: str | None) -> Sample:
    rest = rest_of(row, {"input"})
    given: Record = {}
    for key in ("instructions", "model"):
        if isinstance(row.get(key), str):
            given[key] = rest.pop(key)
    if (tools := tools_from(row.get("tools"), NAME)) is not None:
        given["tools"] = tools
        del rest["tools"]
    name = rest.pop("id") if isinstance(row.get("id"), str) else None
    if form is not None:
        rest[_FORM] = form
    agents = (Agent(name="assistant", **given),) if given else ()
    trajectory = Trajectory(id=name, agents=agents, steps=tuple(_complete_results(steps)))
    return Sample(id=name or UNNAMED, trajectory=trajectory, extra=as_extra(NAME, rest))


def steps_from(items: Iterable[Any]) -> Iterator[Step]:
    """Items as steps; consecutive items of the agent are one step."""
    open_: list[Any] = []
    for item in items:
        if not isinstance(item, dict):
            raise ReadError("an item must be an object", place="input")
        # Reasoning, text and calls of one response are separate items, and nothing else says that they belong together.
        role = role_of(item)
        if role == "agent":
            open_.append(item)
            continue
        if open_:
            yield _step("agent", open_)
            open_ = []
        yield _step(role, [item])
    if open_:
        yield _step("agent", open_)


def _step(role: Role, items: list[Any], **given: Any) -> Step:
    parts, notes = parts_from(items, NAME)
    given["extra"] = as_extra(NAME, {"items": notes, **given.get("extra", {})})
    return Step(role=role, parts=tuple(parts), **given)


def response_step(response: Record, settings: Record | None, others: Record | None = None) -> Step:
    """A response as a step, with its tokens."""
    name, model, created = (
        response.get("id", response.get("response_id")),
        response.get("model"),
        from_seconds(response.get("created_at")),
    )
    error, status = response.get("error"), response.get("status")
    why = response.get("incomplete_details")
    rest = rest_of(response, {"id", "response_id", "model", "output", "usage", "created_at", "status", "tools"})
    if created is None and "created_at" in response:
        rest["created_at"] = response["created_at"]
    rest |= others or {}
    given: Record = {"extra": {"response": rest} if rest else {}}
    if isinstance(error, dict):
        given["error"] = StepError(kind=text_of(error.get("code")), message=text_of(error.get("message")))
    return _step(
        "agent",
        response["output"],
        id=text_of(name),
        model=text_of(model),
        at=created,
        # Only an incomplete response gives a reason; a complete one has just its status.
        stop=text_of(why.get("reason")) if isinstance(why, dict) else text_of(status),
        usage=usage_from(response.get("usage"), NAME, "responses"),
        settings=settings or None,
        **given,
    )


def _complete_results(steps: Iterable[Step]) -> Iterator[Step]:
    """Steps whose results name their tools, and are marked as failed where the Agents SDK says so."""
    names: dict[str | None, str] = {}
    for step in steps:
        names |= {part.id: part.name for part in step.parts if isinstance(part, ToolCall)}
        if not any(isinstance(part, ToolResult) for part in step.parts):
            yield step
            continue
        parts: list[Part] = []
        for part in step.parts:
            if isinstance(part, ToolResult):
                part = msgspec.structs.replace(part, name=part.name or names.get(part.call_id))
                # An item has no field for failure; this is the SDK's default text for a tool that raised.
                if isinstance(part.output, str) and part.output.startswith(_FAILED):
                    part = msgspec.structs.replace(part, error=part.output, failure="error")
            parts.append(part)
        yield msgspec.structs.replace(step, parts=tuple(parts))


def dump(sample: Sample, options: NoOptions) -> Record:
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("a conversation is a recording; this sample has not been run")
    own = dict(rest_in(sample.extra, NAME))
    form = own.pop(_FORM, None)
    items = [item for step in conversation_steps(trajectory, NAME) for item in step_items(step, NAME)]
    if not items:
        raise SampleRefused("nothing was said or done in it")
    agent = trajectory.agents[0] if trajectory.agents else None
    row: Record = {"id": sample.id} if NAME not in sample.extra or trajectory.id is not None else {}
    if agent is not None:
        settings = {"model": agent.model, "instructions": agent.instructions}
        row |= present(settings)
        row |= {"tools": [tool_to(tool, NAME, "flat") for tool in agent.tools]} if agent.tools is not None else {}
    if form == "text" and len(items) == 1:
        return {**row, **own, "input": items[0]["content"]}
    return {**row, **own, "items" if form == "items" else "input": items}
