"""Reads a row with `agent_data` as a sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, Part, Sample, Step, Tool, ToolCall, ToolResult, Trajectory, final_response
from pantrace.wire.depth import must_be_shallow
from pantrace.wire.json import checked_types, decode_document, unknown_keys
from pantrace.wire.shape import must_fit
from pantrace.wire.times import from_iso
from pantrace.wire.vertex.columns import column_text, columns_from
from pantrace.wire.vertex.contents import add_results, append_content, content_in, only_call
from pantrace.wire.vertex.parts import must_be_text
from pantrace.wire.vertex.typed import parts_of

from .rows import NAME, Turn, as_typed_row, plain_columns

# google-genai accepts both spellings, and its own dumps use either.
_CAMEL = {
    "agentId": "agent_id",
    "agentType": "agent_type",
    "subAgents": "sub_agents",
    "turnIndex": "turn_index",
    "turnId": "turn_id",
    "eventTime": "event_time",
    "stateDelta": "state_delta",
    "activeTools": "active_tools",
    "functionDeclarations": "function_declarations",
    "parametersJsonSchema": "parameters_json_schema",
}


def load(row: Any) -> Sample:
    """A row as a sample: one decoded by type, or any other JSON."""
    if (known := as_typed_row(row)) is not None:
        data = known.agent_data
        agents, columns = must_be_shallow(data.agents, "agents"), must_be_shallow(plain_columns(known), "")
        return _sample(columns, agents, _typed_steps(data.turns), {})
    return load_any(row)


def load_any(row: Any) -> Sample:
    """The sample of any row: it may have unknown keys, camelCase and values of any type."""
    data = row.get("agent_data") if isinstance(row, dict) else None
    if isinstance(data, str):
        # The client accepts JSON text, too, as tables hold it.
        data = decode_document(data.encode())
    if not isinstance(data, dict):
        raise ReadError("has no agent_data", remedy="is --from right?")
    must_fit(data, {"turns?": ([{"events?": (list, None)}], None)})
    steps = _steps_from(data.get("turns") or [])
    return checked_types(_sample(row, data.get("agents") or {}, steps, unknown_keys(data, {"agents", "turns"})))


def _sample(row: dict[str, Any], agents: Any, steps: list[Step], rest: dict[str, Any]) -> Sample:
    fields = columns_from(row, NAME, {"agent_data"})
    trajectory = Trajectory(
        id=fields["id"],
        title=fields.pop("title"),
        created=fields.pop("created"),
        agents=tuple(_agents_from(agents)),
        steps=tuple(steps),
        extra={NAME: rest} if rest else {},
    )
    # If there is a column `response` beside the run, the client judges that.
    stated = column_text(row.get("response"))
    if stated is not None and stated != final_response(trajectory):
        trajectory = msgspec.structs.replace(trajectory, response=stated)
    return Sample(trajectory=trajectory, **fields)


def _typed_steps(turns: list[Turn]) -> list[Step]:
    """The steps of typed turns. Nearly every row is read here, so the common cases do without `append_content`."""
    steps: list[Step] = []
    for place, turn in enumerate(turns):
        start, number = len(steps), place + 1
        # `turn_0` is what our writer makes up for a turn without an id.
        invocation = turn.turn_id if turn.turn_id != f"turn_{place}" else None
        beside = {"turn_index": turn.turn_index} if turn.turn_index not in (None, place) else None
        # The only call of the last step, as long as it has no result and nothing follows it.
        waiting: ToolCall | None = None
        for event in turn.events:
            content, author, time, state = event.content, event.author, event.event_time, event.state_delta
            role: str | None = None
            parts: tuple[Part, ...] = ()
            if content is not None:
                role, parts = content.role, parts_of(content.parts, NAME)
            at = from_iso(time)
            rest: dict[str, Any] | None = {"event_time": time} if at is None and time is not None else None
            if beside is not None and len(steps) == start:
                # The model has no object for a turn; its first step keeps what is known about it.
                rest = {**(rest or {}), "turn": beside}
            # The same as `append_content` does, for texts, calls, and the result of an only call: nearly all events.
            if rest is None and state is None and parts:
                first = parts[0]
                if type(first) is not ToolResult:
                    if role == "model":
                        step = Step(role="agent", agent=author, turn=number, invocation=invocation, parts=parts, at=at)
                        steps.append(step)
                        waiting = only_call(parts) if type(parts[-1]) is ToolCall else None
                        continue
                    if role == "user" and author == "user":
                        steps.append(Step(role="user", turn=number, invocation=invocation, parts=parts, at=at))
                        waiting = None
                        continue
                elif (
                    waiting is not None
                    and first.call_id == waiting.id is not None
                    and len(parts) == 1
                    and role == "user"
                    and author == steps[-1].agent
                ):
                    add_results(steps[-1], (*steps[-1].parts, first), parts, at)
                    waiting = None
                    continue
            append_content(
                steps,
                (role, parts, None),
                NAME,
                author=author,
                start=start,
                at=at,
                turn=number,
                invocation=invocation,
                state_delta=must_be_shallow(state, "state_delta"),
                rest=rest,
            )
            waiting = None
    return steps


def _snake(raw: Any) -> dict[str, Any]:
    """An object in snake_case without nulls."""
    if not isinstance(raw, dict):
        raise ReadError(f"an object was expected in agent_data, not {str(raw)[:40]!r}")
    return {_CAMEL.get(key) or key: value for key, value in raw.items() if value is not None}


_EVENT_KEYS = frozenset({"author", "content", "event_time", "state_delta"})


def _steps_from(turns: list[Any]) -> list[Step]:
    steps: list[Step] = []
    for place, raw in enumerate(turns):
        turn = _snake(raw)
        start = len(steps)
        invocation = turn.get("turn_id")
        invocation = invocation if isinstance(invocation, str) and invocation != f"turn_{place}" else None
        beside = unknown_keys(turn, {"turn_id", "events"})
        if beside.get("turn_index") == place:
            del beside["turn_index"]
        for event in turn.get("events") or []:
            rest: dict[str, Any] = {}
            if type(event) is not dict or not event.keys() <= _EVENT_KEYS:
                event = _snake(event)
                rest = unknown_keys(event, _EVENT_KEYS)
            time = event.get("event_time")
            at = from_iso(time)
            if at is None and time is not None:
                rest["event_time"] = time
            if beside and len(steps) == start:
                # As in `_typed_steps`: the first step keeps what is known about the turn.
                rest["turn"] = beside
            append_content(
                steps,
                content_in(event.get("content"), NAME),
                NAME,
                author=event.get("author"),
                start=start,
                at=at,
                turn=place + 1,
                invocation=invocation,
                state_delta=event.get("state_delta"),
                rest=rest,
            )
    return steps


def _agents_from(agents: Any) -> Iterator[Agent]:
    if not isinstance(agents, dict):
        raise ReadError("must be a map of agents", place="agents")
    configs = {name: _snake(config) for name, config in agents.items()}
    for config in configs.values():
        must_be_text(description=config.get("description"), instruction=config.get("instruction"))
        children = config.get("sub_agents", [])
        if not isinstance(children, list) or not all(isinstance(child, str) for child in children):
            raise ReadError("must be names of agents", place="sub_agents")
    parents = {child: name for name, config in configs.items() for child in config.get("sub_agents", ())}
    for name, config in configs.items():
        rest = unknown_keys(config, {"agent_id", "description", "instruction", "tools", "sub_agents"})
        if config.get("agent_id", name) != name:
            rest["agent_id"] = config["agent_id"]
        # The model has one parent per agent; names that do not fit are kept for the writer.
        if strangers := [
            child for child in config.get("sub_agents", ()) if child not in configs or parents[child] != name
        ]:
            rest["sub_agents"] = strangers
        tools, others = _tools_from(config.get("tools"))
        if others:
            rest["tools"] = others
        yield Agent(
            name=name,
            description=config.get("description"),
            instructions=config.get("instruction"),
            tools=tools,
            parent=parents.get(name),
            extra={NAME: rest} if rest else {},
        )


def _tools_from(raw: Any) -> tuple[tuple[Tool, ...] | None, list[Any]]:
    """The declared functions, and tools of other kinds as they are."""
    if not isinstance(raw, list):
        return None, []
    tools, others = [], []
    for entry in raw:
        entry = _snake(entry)
        for declaration in entry.pop("function_declarations", ()):
            function = _snake(declaration)
            must_be_text(name=function.get("name"), description=function.get("description"))
            key = "parameters_json_schema" if "parameters_json_schema" in function else "parameters"
            rest = unknown_keys(function, {"name", "description", key})
            if key == "parameters" and key in function:
                # Gemini's own schema language, which is not JSON Schema: the writer must use the same key.
                rest["schema"] = "gemini"
            tools.append(
                Tool(
                    name=function.get("name") or "",
                    description=function.get("description"),
                    parameters=function.get(key),
                    extra={NAME: rest} if rest else {},
                )
            )
        if entry:
            others.append(entry)
    return tuple(tools), others
