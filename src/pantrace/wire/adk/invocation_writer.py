"""Steps as invocations, made the way ADK makes them from events; and whether an invocation only repeats its events."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from pantrace.model import Invocation, Step, ToolCall, ToolResult, Trajectory
from pantrace.wire.json import unknown_keys
from pantrace.wire.optional import present

from .agents import app_details_of
from .event_writer import content_of, events_to
from .field_types import list_of
from .parts import NAME, part_to
from .schema import Event, Fields, Schema, fields_of
from .sessions import invocation_ids, main_agent
from .trpc import DIALECT

TOLD_APART = ("tool_uses", "tool_responses", "intermediate_responses")
"""The lists of intermediate data that does not consist of events."""


def invocations_to(trajectory: Trajectory, *, plain: bool) -> list[tuple[Invocation | None, dict[str, Any]]]:
    """The invocations of a trajectory in order, including those that only steps name."""
    groups: dict[str, list[Step]] = {}
    for step, name in zip(trajectory.steps, invocation_ids(trajectory.steps), strict=True):
        groups.setdefault(name, []).append(step)
    known = {each.id: each for each in trajectory.invocations}
    found = []
    # The order of the recorded invocations counts, unless steps name others: then the order of the steps.
    for name in dict.fromkeys([*known, *groups] if set(groups) <= set(known) else [*groups, *known]):
        invocation = known.get(name)
        row = invocation_to(name, groups.get(name, ()), invocation, speaker=main_agent(trajectory), plain=plain)
        kept = invocation.extra.get(NAME, {}) if invocation is not None else {}
        agents = [agent for agent in trajectory.agents if agent.name in kept.get("agents", (agent.name,))]
        if (details := kept.get("app_details", app_details_of(agents))) is not None:
            row["app_details"] = details
        found.append((invocation, row))
    return found


def invocation_to(
    name: str, steps: Sequence[Step], invocation: Invocation | None, *, speaker: str, plain: bool = False
) -> dict[str, Any]:
    """One invocation, as ADK makes it from events; `plain`: as IntermediateData if the steps fit."""
    kept = dict(invocation.extra.get(NAME, {})) if invocation is not None else {}
    # Our own notes, which google-adk would refuse as unknown keys.
    notes = {key: kept.pop(key, None) for key in ("recorded", "bare", "agents", "app_details", "block", DIALECT)}
    row: dict[str, Any] = {"invocation_id": name, "user_content": {"parts": [], "role": "user"}}
    empty: dict[str, Any] | None
    if plain and _is_plain(steps):
        told, empty = _plain(steps), {key: [] for key in TOLD_APART}
    else:
        told, empty = _as_invocation(events_to(steps, [name] * len(steps), speaker), bare=bool(notes["bare"])), {}
    data = told["intermediate_data"]
    if "intermediate_data" in kept:
        empty = kept.pop("intermediate_data")
        told["intermediate_data"] = {**empty, **data} if empty is not None else data if any(data.values()) else None
    else:
        told["intermediate_data"] = {**empty, **data}
    if invocation is not None:
        row["creation_timestamp"] = invocation.at
        row["duration"] = invocation.seconds
        row["model_duration"] = invocation.model_seconds
        row["tool_duration"] = invocation.tool_seconds
    row |= kept | told | (notes["recorded"] or {})
    return present(row)


def _is_plain(steps: Sequence[Step]) -> bool:
    """Whether steps fit IntermediateData: one call step, one answer step, flagged replies, one final response."""
    shape = "".join(_shape(step) for step in steps)
    # One letter per step makes the order a matter of string prefixes instead of a state machine.
    prompts = shape.count("u")
    rest = shape.lstrip("u")
    for letter in "ct":
        rest = rest.removeprefix(letter)
    return prompts <= 1 and "x" not in shape and rest.lstrip("i") in ("", "f")


def _shape(step: Step) -> str:
    """One letter per step, so that their sequence can be matched: u prompt, c calls, t answers, i intermediate, f final
    response, x anything else."""
    notes = step.extra.get(NAME, {}).keys()
    others = any(part_to(part) is None for part in step.parts)
    if others or step.usage or step.at or step.model or step.error or step.stop or step.state_delta:
        return "x"
    if not notes <= {"intermediate", "content_role", "content"}:
        return "x"
    if step.role == "user" and not step.agent:
        return "u"
    if "intermediate" in notes and step.role == "agent":
        return "i"
    if step.agent:
        return "x"
    if step.role == "tool":
        return "t"
    if step.role == "agent" and step.parts and all(isinstance(part, ToolCall) for part in step.parts):
        return "c"
    return "f" if step.role == "agent" and not any(isinstance(p, (ToolCall, ToolResult)) for p in step.parts) else "x"


def _plain(steps: Sequence[Step]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    row: dict[str, Any] = {"intermediate_data": data}
    for step in steps:
        raws = [raw for part in step.parts if (raw := part_to(part)) is not None]
        kind = _shape(step)
        if kind == "c":
            data["tool_uses"] = [raw["function_call"] for raw in raws if "function_call" in raw]
        elif kind == "t":
            data["tool_responses"] = [raw["function_response"] for raw in raws if "function_response" in raw]
        elif kind == "i":
            data.setdefault("intermediate_responses", []).append([step.agent or "", raws])
        else:
            key = "user_content" if kind == "u" else "final_response"
            row[key] = content_of(raws, step.role, step.extra.get(NAME, {}))
    return row


class _Selection(NamedTuple):
    """Which of a turn's events make an invocation, selected as ADK 2.13 does."""

    prompt: Any
    """The content of the user's last event."""
    between: list[Fields]
    final: Fields | None


_KINDS = ("function_call", "function_response", "text", "inline_data", "code_execution_result")
_KINDS_OF = attrgetter(*_KINDS)
_ASKED = ("author", "content", "actions", "long_running_tool_ids", "partial", "error_code", "grounding_metadata")
_ASKED_OF = attrgetter(*_ASKED)


def _select(events: Sequence[Fields]) -> _Selection:
    prompt: Any = None
    between: list[Fields] = []
    final: Fields | None = None
    final_has_text = False
    for event in events:
        asked: Any = map(event.get, _ASKED) if type(event) is dict else _ASKED_OF(event)
        author, content, actions, long_running, partial, error, grounding = asked
        # Hand-written files have "User"; google-adk itself compares in lower case, too.
        if author is not None and author.lower() == "user":
            prompt = content if content is not None else prompt
            continue
        parts = content and (content.get("parts") if type(content) is dict else content.parts)
        calls = answers = has_text = has_media = ran_code = False
        for part in parts or ():
            kinds: Any = map(part.get, _KINDS) if type(part) is dict else _KINDS_OF(part)
            call, answer, text, media, printed = kinds
            calls, answers = calls or call is not None, answers or answer is not None
            has_text, has_media = has_text or bool(text), has_media or media is not None
            ran_code = printed is not None
        # google-adk's own rule for the final response of an agent; any other would split turns differently.
        if long_running or (actions is not None and fields_of(actions, "actions").skip_summarization):
            is_final = True
        elif partial or calls:
            is_final = False
        else:
            is_final = bool(error) or not (answers or ran_code)
        if parts and is_final and (has_text or not final_has_text):
            final, final_has_text = event, has_text
        if calls or answers or has_text or has_media or grounding:
            between.append(event)
    return _Selection(prompt, between, final)


_EVENT = frozenset(Event.__struct_fields__)
_EVENT_OF_IT = "an event of an invocation"
_REPEATED = ("grounding_metadata", "usage_metadata", "model_version")


def _without_answer(chosen: _Selection, *, bare: bool) -> list[dict[str, Any]]:
    """The events as an invocation repeats them: without the final response, which has its own field."""
    found = []
    for event in chosen.between:
        content: Any = event.get("content")
        if event is chosen.final:
            if bare:
                continue
            if all(part.get("function_call") is None for part in content.get("parts")):
                content = None
        short = {"author": event.get("author"), "content": content}
        short |= {key: event.get(key) for key in (_REPEATED[:1] if bare else _REPEATED)}
        short |= unknown_keys(event, _EVENT)
        found.append(present(short))
    return found


def _repeats_by_type(told: Any, chosen: _Selection, *, bare: bool) -> bool:
    """The same for typed events, compared field by field without building new ones."""
    events = [each for each in chosen.between if each is not chosen.final] if bare else chosen.between
    if not isinstance(told, list) or len(told) != len(events):
        return False
    for short, event in zip(told, events, strict=True):
        content = event.content
        if event is chosen.final and all(part.function_call is None for part in content.parts):
            content = None
        if short.author != event.author or short.content != content:
            return False
        if short.grounding_metadata != event.grounding_metadata:
            return False
        # Up to google-adk 2.9, the repeated events have neither usage nor model.
        usage, model = (None, None) if bare else (event.usage_metadata, event.model_version)
        if short.usage_metadata != usage or short.model_version != model:
            return False
    return True


def _as_invocation(events: Sequence[dict[str, Any]], *, bare: bool) -> dict[str, Any]:
    """Prompt, final response and the events between them."""
    chosen = _select(events)
    row = {"user_content": chosen.prompt} if chosen.prompt is not None else {}
    if chosen.final is not None:
        row["final_response"] = chosen.final.get("content")
    return {**row, "intermediate_data": {"invocation_events": _without_answer(chosen, bare=bare)}}


def repeats(raw: Fields, events: Sequence[Fields], *, bare: bool) -> bool:
    """Whether an invocation is exactly what `_as_invocation` makes of its events in the session."""
    chosen = _select(events)
    answer = chosen.final and fields_of(chosen.final, "an event").content
    if raw.user_content != chosen.prompt or raw.final_response != answer:
        return False
    data = fields_of(raw.intermediate_data or {}, "intermediate_data")
    if isinstance(raw, Schema):
        apart = data.tool_uses, data.tool_responses, data.intermediate_responses
        return apart == (None, None, None) and _repeats_by_type(data.invocation_events, chosen, bare=bare)
    # Any other key is data that the session does not repeat, so the invocation must be kept.
    if [key for key, value in data.items() if value is not None] != ["invocation_events"]:
        return False
    short = _without_answer(chosen, bare=bare)
    told = [fields_of(each, _EVENT_OF_IT) for each in list_of(data.invocation_events, "invocation_events")]
    return [present(each) for each in told] == short
