"""Reading ATIF: one document becomes a sample; each of its steps becomes one step, with the results of its calls."""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Media,
    Part,
    Role,
    Sample,
    Step,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
)
from pantrace.wire.data_uri import split_data_uri
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of, said_again
from pantrace.wire.field_map import ANYTHING, INTEGER, NUMBER, OBJECT, TEXT, TIME, FieldMap
from pantrace.wire.mixed_output import split
from pantrace.wire.optional import list_of, text_of

NAME = "atif"
REFERENCE = "subagent_trajectory_ref"
ROLES: dict[str, Role] = {"system": "system", "user": "user", "agent": "agent"}

USAGE = FieldMap(
    NAME,
    Usage,
    {
        "prompt_tokens": ("input", INTEGER),
        "completion_tokens": ("output", INTEGER),
        "cached_tokens": ("cache_read", INTEGER),
        "cost_usd": ("cost_usd", NUMBER),
    },
)
TOTALS = FieldMap(
    NAME,
    Usage,
    {
        "total_prompt_tokens": ("input", INTEGER),
        "total_completion_tokens": ("output", INTEGER),
        "total_cached_tokens": ("cache_read", INTEGER),
        "total_cost_usd": ("cost_usd", NUMBER),
    },
)
CALL = FieldMap(
    NAME,
    ToolCall,
    {"tool_call_id": ("id", TEXT), "function_name": ("name", TEXT), "arguments": ("arguments", ANYTHING)},
)
RESULT = FieldMap(NAME, ToolResult, {"source_call_id": ("call_id", TEXT)})
STEP = FieldMap(NAME, Step, {"timestamp": ("at", TIME), "model_name": ("model", TEXT)})
AGENT = FieldMap(NAME, Agent, {"name": ("name", TEXT), "model_name": ("model", TEXT)})
TOOL = FieldMap(
    NAME,
    Tool,
    {"name": ("name", TEXT), "description": ("description", TEXT), "parameters": ("parameters", OBJECT)},
)
RUN = FieldMap(NAME, Trajectory, {"trajectory_id": ("id", TEXT)})


def load(row: Any) -> Sample:
    trajectory = trajectory_from(row)
    return Sample(id=trajectory.id or "trajectory", trajectory=trajectory)


def trajectory_from(raw: Any) -> Trajectory:
    """A document as a trajectory, with the sub-agents inside it."""
    if not isinstance(raw, dict) or not isinstance(raw.get("steps"), list):
        raise ReadError("not an ATIF document: it has no list `steps`", remedy="is --from right?")
    children = raw.get("subagent_trajectories") or []
    if not isinstance(children, list):
        raise ReadError("subagent_trajectories must be an array")
    totals = raw.get("final_metrics")
    agent = raw.get("agent")
    taken = {"steps", "subagent_trajectories", *(("agent",) if isinstance(agent, dict) else ())}
    if isinstance(totals, dict):
        taken.add("final_metrics")
    # `trajectory_id` came with 1.7; before, a document had only `session_id`.
    name = raw.get("trajectory_id") or raw.get("session_id")
    # One id of the model stands for both keys: if both are there and equal, only a note can tell when writing.
    twice = (
        {"trajectory_id": name}
        if name is not None and name == raw.get("session_id") == raw.get("trajectory_id")
        else {}
    )
    steps = tuple(step_from(each, place) for place, each in enumerate(raw["steps"], 1))
    total = TOTALS.load(totals) if isinstance(totals, dict) else None
    if any(without_cache(each.usage) for each in steps) or without_cache(total):
        steps = tuple(msgspec.structs.replace(each, usage=with_cache(each.usage, "prompt_tokens")) for each in steps)
        total = with_cache(total, "total_prompt_tokens")
    callers = {child: call for step in steps for child, call in _started_trajectories(step)}
    return RUN.load(
        raw,
        taken,
        **({"id": name} if isinstance(name, str) else {}),
        created=next((step.at for step in steps if step.at is not None), None),
        agents=(_agent(agent),) if isinstance(agent, dict) else (),
        steps=steps,
        usage={"": total} if total is not None else None,
        children=tuple(_child(each, name, callers) for each in children),
        extra=as_extra(NAME, twice),
    )


def without_cache(usage: Usage | None) -> bool:
    """Whether a prompt was counted without its cached tokens, against the specification: a part cannot be more than the
    whole. Harbor's agent for OpenClaw passes such counts on."""
    return usage is not None and (usage.cache_read or 0) > (usage.input if usage.input is not None else inf)


def with_cache(usage: Usage | None, key: str) -> Usage | None:
    """Usage with the cached tokens added to the prompt. The number of the document is kept, and written back."""
    if usage is None or usage.input is None or not usage.cache_read:
        return usage
    extra = as_extra(NAME, rest_in(usage.extra, NAME) | {key: usage.input})
    return msgspec.structs.replace(usage, input=usage.input + usage.cache_read, derived=("input",), extra=extra)


def _child(raw: Any, parent: Any, callers: dict[str, str | None]) -> Trajectory:
    child = trajectory_from(raw)
    caller = callers.get(child.id) if child.id is not None else None
    return msgspec.structs.replace(child, parent=text_of(parent), caller=caller)


def _started_trajectories(step: Step) -> list[tuple[str, str | None]]:
    """Ids of the trajectories that a step started, each with the call that did."""
    return [
        (name, part.call_id)
        for part in step.parts
        if isinstance(part, ToolResult)
        for each in references(part)
        # Documents before 1.7 refer to a sub-agent by its session.
        for key in ("trajectory_id", "session_id")
        if isinstance(name := each.get(key), str)
    ]


def references(result: ToolResult) -> list[dict[str, Any]]:
    """The references to sub-agents' trajectories in a result."""
    return one_or_several(rest_in(result.extra, NAME).get(REFERENCE))


def one_or_several(found: Any) -> list[dict[str, Any]]:
    """References as they are in a document."""
    listed = found if isinstance(found, list) else [found]
    return [each for each in listed if isinstance(each, dict)]


def _agent(raw: dict[str, Any]) -> Agent:
    tools = raw.get("tool_definitions")
    listed = list_of(tools)
    # Tools usually have OpenAI's shape; a list with anything else is kept as it is.
    functions = [each.get("function") if isinstance(each, dict) else None for each in listed]
    if isinstance(tools, list) and all(isinstance(each, dict) and "name" in each for each in functions):
        found = tuple(
            TOOL.load(
                function,
                extra=as_extra(
                    NAME,
                    {"around": around}
                    if (around := rest_of(each, ("function", *said_again(each, type="function"))))
                    else {},
                ),
            )
            for function, each in zip(functions, tools, strict=True)
        )
        return AGENT.load(raw, {"tool_definitions"}, tools=found)
    return AGENT.load(raw)


def _around(tool: dict[str, Any]) -> dict[str, Any]:
    return rest_of(tool, ("function", *said_again(tool, type="function")))


def step_from(raw: Any, place: int) -> Step:
    """One step; `place` is its number, which `step_id` repeats."""
    if not isinstance(raw, dict):
        raise ReadError("a step must be an object", place=f"step {place}")
    role = ROLES.get(raw["source"]) if isinstance(raw.get("source"), str) else None
    if role is None:
        raise ReadError("a step needs a source: system, user or agent", place=f"step {place}")
    taken = {"source", "step_id"}
    parts: list[Part] = []
    extra: dict[str, Any] = {}
    if isinstance(thought := raw.get("reasoning_content"), str):
        taken.add("reasoning_content")
        parts.append(Thinking(text=thought))
    if isinstance(message := raw.get("message"), (str, list)):
        taken.add("message")
        if isinstance(message, list):
            extra["message"] = "parts"
            parts += [part_from(each) for each in message]
        elif message:
            parts.append(Text(text=message))
    if isinstance(calls := raw.get("tool_calls"), list):
        taken.add("tool_calls")
        parts += [CALL.load(each) for each in calls]
        if not calls:
            # An empty list means the same as no list, but the file is written back as it was.
            extra["tool_calls"] = []
    observation = raw.get("observation")
    if isinstance(observation, dict) and isinstance(observation.get("results"), list):
        taken.add("observation")
        made = [part for part in parts if isinstance(part, ToolCall)]
        names = {call.id: call.name for call in made}
        parts += _answering(made, [_result(each, names) for each in observation["results"]])
        if not observation["results"] or len(observation) > 1:
            extra["observation"] = {key: value for key, value in observation.items() if key != "results"}
    given: dict[str, Any] = {}
    if isinstance(metrics := raw.get("metrics"), dict):
        taken.add("metrics")
        given["usage"] = USAGE.load(metrics)
    if raw.get("is_copied_context") is True:
        taken.add("is_copied_context")
        # Copied context repeats steps of an earlier document, which count there.
        given["kind"] = "copied"
    # bool is an int in Python, but no effort.
    if isinstance(effort := raw.get("reasoning_effort"), (str, int, float)) and not isinstance(effort, bool):
        taken.add("reasoning_effort")
        given["settings"] = {"reasoning_effort": effort}
    name = raw.get("step_id", place)
    # Steps are numbered from 1, so only a different number needs a note.
    if name != place or isinstance(name, bool):
        extra["step_id"] = name
    return STEP.load(raw, taken, id=str(name), role=role, parts=tuple(parts), extra=as_extra(NAME, extra), **given)


def _result(raw: Any, names: dict[str | None, str]) -> ToolResult:
    if not isinstance(raw, dict):
        raise ReadError("a result must be an object")
    content: Any = raw.get("content")
    media: tuple[Media, ...] = ()
    form: dict[str, Any] = {}
    if isinstance(content, list):
        content, media, pieces = split(content, part_from)
        form = {"content": pieces or "parts"}
    caller = raw.get("source_call_id")
    name = names.get(caller) if isinstance(caller, str) else None
    return RESULT.load(raw, {"content"}, output=content, media=media, name=name, extra=as_extra(NAME, form))


def _answering(calls: list[ToolCall], results: list[ToolResult]) -> list[ToolResult]:
    """Results with the calls of the same step that they answer, where they name none: each its own in order, or one all
    of them. Terminus 2 types several commands and looks at the terminal once."""
    named = {result.call_id for result in results}
    waiting = [call for call in calls if call.id is not None and call.id not in named]
    unnamed = [place for place, result in enumerate(results) if result.call_id is None]
    if not waiting or not unnamed or len(unnamed) not in (1, len(waiting)):
        return results
    found = list(results)
    for place, call in zip(reversed(unnamed), reversed(waiting), strict=False):
        extra = as_extra(NAME, rest_in(results[place].extra, NAME) | {"unnamed": True})
        found[place] = msgspec.structs.replace(results[place], call_id=call.id, name=call.name, extra=extra)
    shared = [
        ToolResult(call_id=call.id, name=call.name, extra=as_extra(NAME, {"together": waiting[-1].id}))
        for call in waiting[: -len(unnamed)]
    ]
    return [*shared, *found]


SOURCE = FieldMap(
    NAME, Media, {"media_type": ("mime", TEXT), "path": ("uri", TEXT), "duration_sec": ("seconds", NUMBER)}
)


def part_from(raw: Any) -> Part:
    """One content part."""
    match raw:
        case {"type": "text", "text": str(text)}:
            return Text(text=text, extra=as_extra(NAME, rest_of(raw, {"type", "text"})))
        case {"type": "image" | "audio", "source": {"path": str(path)}}:
            mine = as_extra(NAME, {"part": rest} if (rest := rest_of(raw, {"type", "source"})) else {})
            # Our own writer puts data that has no file into a data URI.
            if (inline := split_data_uri(path)) is not None:
                return SOURCE.load(raw["source"], {"path"}, data=inline[1], extra=mine)
            return SOURCE.load(raw["source"], extra=mine)
    return Unknown(kind=f"{NAME}:part", raw=raw)
