"""Sessions: a conversation with its state, as `adk run`, the API server and the session services store it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Sample, Step, Trajectory, is_prompt
from pantrace.wire.carry_rest import Corner
from pantrace.wire.depth import must_be_shallow
from pantrace.wire.json import unknown_keys
from pantrace.wire.pantrace_key import CARRIER

from .agents import Declared, agents_of
from .event_writer import events_to
from .events import steps_from, usage_from
from .fast_events import usual_empty
from .field_types import list_of, mapping, text
from .parts import NAME
from .recase import SESSION, is_camel, snake, to_camel
from .schema import CamelSession, Event, Fields, Loose, Session

_KNOWN = {"id", "app_name", "user_id", "state", "events", "last_update_time", "context"}


def trajectory_from(raw: Any, declarations: Sequence[Declared] = ()) -> Trajectory:
    """A session as a trajectory. Fields of sessions before 1.0 (`context`, `event_logs`) are understood or kept."""
    camel = isinstance(raw, CamelSession) if isinstance(raw, Session) else is_camel(raw)
    session: Fields = raw if isinstance(raw, Session) else _rename_keys(raw, camel)
    events = list_of(session.events, "a session's events")
    usual = usual_empty(events[0]) if events and isinstance(events[0], (dict, Event)) else None
    steps = steps_from(events, camel=camel, usual=usual)
    # A session decoded by type has no keys but those that are read below.
    rest = unknown_keys(session, _KNOWN) if isinstance(session, Loose) else {}
    # Refused, not read as an empty session: an idle agent would get scores.
    if not steps and (strange := [key for key, value in rest.items() if _holds(value)]):
        raise ReadError(
            f"a session has its data under keys that are not ADK's: {', '.join(strange)[:80]}",
            remedy="the file may come from another program that resembles ADK",
        )
    if isinstance(logs := rest.get("event_logs"), list):
        steps = _with_logs(steps, logs)
    if session.app_name is not None:
        rest["app_name"] = session.app_name
    if session.user_id is not None:
        rest["user_id"] = session.user_id
    # Which empty fields google-adk writes depends on its version; noted once for all events.
    if usual is not None:
        rest["empty_actions"] = sorted(usual)
    state, ended = session.state, session.last_update_time
    if state is None and isinstance(session, Loose) and isinstance(session.context, dict):
        state = session.context
        rest["state_key"] = "context"
    # ADK's default is 0, which means no time.
    if isinstance(ended, bool) or not isinstance(ended, (int, float)) or not ended:
        rest |= {"last_update_time": ended} if ended is not None else {}
        ended = None
    return Trajectory(
        id=text(session.id, "a session's id"),
        created=next((step.at for step in steps if step.at is not None), None),
        ended=ended,
        agents=agents_of(declarations, steps),
        steps=tuple(steps),
        state=must_be_shallow(mapping(state, "a session's state"), "state"),
        extra={NAME: rest} if rest else {},
    )


def _rename_keys(raw: dict[str, Any], camel: bool) -> Loose:
    """A session without nulls, its own keys in snake_case; events are converted by their own reader."""
    names = {key: snake(key) if camel and snake(key) in SESSION else key for key in raw}
    return Loose({names[key]: value for key, value in raw.items() if value is not None})


def _holds(value: Any) -> bool:
    return isinstance(value, (list, dict)) and bool(value)


def _with_logs(steps: list[Step], logs: list[Any]) -> list[Step]:
    """Steps with usage and model from a log: before 1.0, they were not in the events."""
    responses = {log.get("event_id"): log.get("model_response") for log in logs if isinstance(log, dict)}
    found: list[Step] = []
    for step in steps:
        response = responses.get(step.id)
        if isinstance(response, dict) and step.usage is None:
            usage = usage_from(response.get("usage_metadata"))
            step = msgspec.structs.replace(step, usage=usage, model=step.model or response.get("model_version"))
        found.append(step)
    return found


def invocation_ids(steps: tuple[Step, ...]) -> list[str]:
    """The invocation of each step: its own, otherwise the previous step's; a prompt without one begins a new one."""
    ids: list[str] = []
    # Steps before the first one with an id belong to it.
    current: str | None = next((step.invocation for step in steps if step.invocation), None)
    turn = 0
    for step in steps:
        # Other formats have no invocations; ADK would begin one at each prompt.
        if is_prompt(step):
            turn += 1
        if step.invocation:
            current = step.invocation
        elif current is None or is_prompt(step):
            current = f"turn-{max(turn, 1)}"
        ids.append(current)
    return ids


def main_agent(trajectory: Trajectory) -> str:
    """The agent that counts as the speaker if none is named."""
    named = next((step.agent for step in trajectory.steps if step.role == "agent" and step.agent), None)
    return named or next((agent.name for agent in trajectory.agents), "agent")


def app_name(sample: Sample) -> str:
    """The app of a sample: as recorded, otherwise the agent under test, otherwise the one that spoke."""
    trajectory = sample.trajectory
    if trajectory is not None and isinstance(name := trajectory.extra.get(NAME, {}).get("app_name"), str):
        return name
    if sample.case is not None and sample.case.agent:
        return sample.case.agent
    return main_agent(trajectory) if trajectory is not None else "app"


def user_id(sample: Sample) -> str:
    """The user of a session; "user" if none was recorded."""
    extra = sample.trajectory.extra.get(NAME, {}) if sample.trajectory is not None else {}
    return extra["user_id"] if isinstance(extra.get("user_id"), str) else "user"


def session_to(sample: Sample) -> dict[str, Any]:
    """A sample's trajectory as a session in snake_case."""
    trajectory = sample.trajectory or Trajectory()
    kept = dict(trajectory.extra.get(NAME, {}))
    usual = kept.pop("empty_actions", None)
    session: dict[str, Any] = {
        "id": trajectory.id or sample.id,
        "app_name": app_name(sample),
        "user_id": user_id(sample),
    }
    # ADK has defaults for these: a session that was read without them is written without them.
    if trajectory.state is not None or not kept:
        session["state"] = trajectory.state or {}
    session["events"] = events_to(
        trajectory.steps,
        invocation_ids(trajectory.steps),
        main_agent(trajectory),
        frozenset(usual) if usual is not None else None,
    )
    ended = trajectory.ended
    if ended is None and not kept:
        ended = next((step.at for step in reversed(trajectory.steps) if step.at is not None), None)
    if ended is not None:
        session["last_update_time"] = ended
    # Keys from before 1.0 are written only if they were read: google-adk refuses unknown ones.
    return session | unknown_keys(kept, session) if "app_name" in kept else session


def _note_in(row: Any) -> tuple[Any, Any]:
    events = row.get("events") if isinstance(row, dict) else row
    first = events[0] if isinstance(events, list) and events and isinstance(events[0], dict) else {}
    custom = first.get("custom_metadata") or first.get("customMetadata")
    note = custom.get(CARRIER) if isinstance(custom, dict) else None
    return row, note.get("sample") if isinstance(note, dict) else None


def _with_note(row: Any, rest: Any) -> Any:
    events = row["events"] if isinstance(row, dict) else row
    if not events or not rest:
        return row
    # In the same case as the neighbouring events, or google-adk would not recognise its own key.
    key = "customMetadata" if "invocationId" in events[0] else "custom_metadata"
    custom = events[0].get(key, {})
    first = {**events[0], key: {**custom, CARRIER: {**custom.get(CARRIER, {}), "sample": rest}}}
    return {**row, "events": [first, *events[1:]]} if isinstance(row, dict) else [first, *events[1:]]


IN_FIRST_EVENT = Corner(_note_in, _with_note)
"""A session has no place for free data, but its events do: our data goes into the first event's note, next to that of
its own step. The reader of events ignores what does not belong to the step, so nothing has to be removed."""


def camel_session(session: dict[str, Any]) -> dict[str, Any]:
    """A session as ADK itself saves it, with schema keys in camelCase."""
    converted: dict[str, Any] = to_camel(session, SESSION)
    return converted
