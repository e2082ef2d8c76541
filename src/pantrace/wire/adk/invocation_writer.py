"""Steps as invocations, as ADK makes them of events; and whether an invocation says anything that its events do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pantrace.model import Invocation, Step, ToolCall, ToolResult, Trajectory
from pantrace.wire.json import unknown_keys

from .agents import app_details_of
from .event_writer import content_of, events_to
from .parts import NAME, part_to
from .schema import Event, Fields
from .sessions import invocation_ids, main_agent
from .trpc import DIALECT

TOLD_APART = ("tool_uses", "tool_responses", "intermediate_responses")
"""The lists of intermediate data that is not told as events."""


def invocations_to(trajectory: Trajectory, *, plain: bool) -> list[tuple[Invocation | None, dict[str, Any]]]:
    """The invocations of a trajectory in order, those that only steps name included."""
    groups: dict[str, list[Step]] = {}
    for step, name in zip(trajectory.steps, invocation_ids(trajectory.steps), strict=True):
        groups.setdefault(name, []).append(step)
    known = {each.id: each for each in trajectory.invocations}
    found = []
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
    """One invocation of a trajectory, as ADK makes it of events; `plain`: as IntermediateData, where it fits."""
    kept = dict(invocation.extra.get(NAME, {})) if invocation is not None else {}
    notes = {key: kept.pop(key, None) for key in ("recorded", "bare", "agents", "app_details", "block", DIALECT)}
    row: dict[str, Any] = {"invocation_id": name, "user_content": {"parts": [], "role": "user"}}
    empty: dict[str, Any] | None
    if plain and _is_plain(steps):
        told, empty = _plain(steps), {key: [] for key in TOLD_APART}
    else:
        told, empty = _told(events_to(steps, [name] * len(steps), speaker), bare=bool(notes["bare"])), {}
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
    return {key: value for key, value in row.items() if value is not None}


def _is_plain(steps: Sequence[Step]) -> bool:
    """Whether steps have the shape that `_intermediate` makes: calls, answers, flagged replies, one final response."""
    shape = "".join(_shape(step) for step in steps)
    prompts = shape.count("u")
    rest = shape.lstrip("u")
    for letter in "ct":
        rest = rest.removeprefix(letter)
    return prompts <= 1 and "x" not in shape and rest.lstrip("i") in ("", "f")


def _shape(step: Step) -> str:
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


Chosen = tuple[Sequence[Fields], Fields | None]


def _chosen(events: Sequence[Fields]) -> Chosen:
    """The events between prompt and answer, and the final one, chosen as ADK 2.13 chooses them."""
    chosen: list[Fields] = []
    final: Fields | None = None
    for event in events:
        if (event.get("author") or "").lower() == "user":
            continue
        parts: Any = (event.get("content") or {}).get("parts")
        if parts and is_final(event) and (final is None or not _has_text(final) or _has_text(event)):
            final = event
        if event.get("grounding_metadata") or any(_counts(part) for part in parts or ()):
            chosen.append(event)
    return chosen, final


def _prompt(events: Sequence[Fields]) -> Any:
    """The last content of a user's event."""
    users = [event for event in events if (event.get("author") or "").lower() == "user"]
    return next((content for event in reversed(users) if (content := event.get("content")) is not None), None)


_EVENT = frozenset(Event.__struct_fields__)
_REPEATED = ("grounding_metadata", "usage_metadata", "model_version")


def _short(event: Fields, final: Fields | None, *, bare: bool) -> dict[str, Any]:
    """An event as an invocation repeats it: the answer is not said twice."""
    content: Any = event.get("content")
    if event is final and not any(part.get("function_call") for part in content.get("parts") or ()):
        content = None
    short = {"author": event.get("author"), "content": content}
    short |= {key: event.get(key) for key in (_REPEATED[:1] if bare else _REPEATED)}
    if isinstance(event, dict):
        short |= unknown_keys(event, _EVENT)
    return {key: value for key, value in short.items() if value is not None}


def _told(events: Sequence[dict[str, Any]], *, bare: bool) -> dict[str, Any]:
    """Prompt, final response and the events between."""
    chosen, final = _chosen(events)
    row: dict[str, Any] = {}
    if (prompt := _prompt(events)) is not None:
        row["user_content"] = prompt
    if final is not None:
        row["final_response"] = final.get("content")
    short = [_short(event, final, bare=bare) for event in chosen if not (bare and event is final)]
    return {**row, "intermediate_data": {"invocation_events": short}}


def repeats(raw: Fields, events: Sequence[Fields], *, bare: bool) -> bool:
    """Whether an invocation is what `_told` makes of the session's events of it."""
    chosen, final = _chosen(events)
    if raw.get("user_content") != _prompt(events):
        return False
    if raw.get("final_response") != (final.get("content") if final is not None else None):
        return False
    data: Any = raw.get("intermediate_data") or {}
    if [key for key, value in data.items() if value is not None] != ["invocation_events"]:
        return False
    expected = [_short(event, final, bare=bare) for event in chosen if not (bare and event is final)]
    told = [{key: value for key, value in each.items() if value is not None} for each in data.get("invocation_events")]
    return told == expected


def _counts(part: Fields) -> bool:
    return any(part.get(key) for key in ("function_call", "function_response", "text", "inline_data"))


def _has_text(event: Fields) -> bool:
    content: Any = event.get("content")
    return any(part.get("text") for part in content.get("parts") or ())


def is_final(event: Fields) -> bool:
    """ADK's rule for the final response of an agent."""
    parts: Any = (event.get("content") or {}).get("parts") or []
    calls = any(part.get("function_call") for part in parts)
    if (event.get("actions") or {}).get("skip_summarization") or event.get("long_running_tool_ids"):
        return True
    if event.get("error_code") and not event.get("partial") and not calls:
        return True
    answers = any(part.get("function_response") for part in parts)
    runs_code = bool(parts) and bool(parts[-1].get("code_execution_result"))
    return not calls and not answers and not event.get("partial") and not runs_code
