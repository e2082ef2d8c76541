"""Rows with `agent_data` for Vertex AI's Gen AI evaluation client: whole runs with agents, turns and events.

Spec: `AgentData` of google-cloud-aiplatform 2.6.0 (vertexai/_genai/types/evals.py), the client's FLATTEN schema.
Detect: `agent_data` with `turns`.
Lost: models, tokens, costs, ids of steps, errors of model calls; text that the program inserted; compaction summaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import Agent, Sample, Step, Tool, Trajectory, Violation, final_response, said, turns
from pantrace.wire.head import Head
from pantrace.wire.json import decode, unknown_keys
from pantrace.wire.shape import ANY, document, violations
from pantrace.wire.times import from_iso, time_text
from pantrace.wire.vertex.columns import column_text, columns_from, columns_of, text_or_content
from pantrace.wire.vertex.contents import CONTENT, append_content, content_to, contents_of
from pantrace.wire.vertex.parts import must_be_text, part_out
from pantrace.wire.vertex.refusal import refusal, sample_refusal

from .format import Format, NoOptions

NAME = "vertex-agent"

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


def detect(head: Head) -> str | None:
    data = head.record.get("agent_data")
    if isinstance(data, str):
        return "" if '"turns"' in data else None
    return "" if isinstance(data, dict) and "turns" in data else None


def load(row: Any) -> Sample:
    data = row.get("agent_data") if isinstance(row, dict) else None
    if isinstance(data, str):
        data = decode(data.encode())
    if not isinstance(data, dict):
        raise ReadError("has no agent_data", remedy="is --from right?")
    fields = columns_from(row, NAME, {"agent_data"})
    rest = unknown_keys(data, {"agents", "turns"})
    trajectory = Trajectory(
        id=fields["id"],
        title=fields.pop("title"),
        created=fields.pop("created"),
        agents=tuple(_agents_from(data.get("agents") or {})),
        steps=tuple(_steps_from(data.get("turns") or [])),
        extra={NAME: rest} if rest else {},
    )
    # A column `response` beside the run is what the client judges.
    stated = column_text(row.get("response"))
    if stated is not None and stated != final_response(trajectory):
        trajectory = msgspec.structs.replace(trajectory, response=stated)
    return Sample(trajectory=trajectory, **fields)


def _snake(raw: Any) -> dict[str, Any]:
    """An object in snake_case without its nulls."""
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
                rest["turn"] = beside
            append_content(
                steps,
                event.get("content"),
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
        if not all(isinstance(child, str) for child in config.get("sub_agents", ())):
            raise ReadError("must be names of agents", place="sub_agents")
    parents = {child: name for name, config in configs.items() for child in config.get("sub_agents", ())}
    for name, config in configs.items():
        rest = unknown_keys(config, {"agent_id", "description", "instruction", "tools", "sub_agents"})
        if config.get("agent_id", name) != name:
            rest["agent_id"] = config["agent_id"]
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


def dump(sample: Sample, options: NoOptions) -> dict[str, Any]:
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("nothing was run: agent_data holds recorded runs only")
    if (why := sample_refusal(sample, NAME)) is not None:
        raise SampleRefused(why)
    main = _main_agent(trajectory)
    written: list[dict[str, Any]] = []
    authors = {main: None}
    for group in _turns(trajectory):
        events: list[dict[str, Any]] = []
        beside: dict[str, Any] = {}
        for step in group:
            for event in _events(step, main):
                if "turn" in event:
                    beside |= event.pop("turn")
                authors[event["author"]] = None
                events.append(event)
        if events:
            turn = {"turn_index": len(written), "turn_id": _turn_id(group, len(written)), "events": events}
            written.append({**turn, **beside})
    if not written:
        raise SampleRefused("nothing was said or done in it: the client would judge an empty run")
    authors.pop("user", None)
    data = {"agents": _agents(trajectory, authors), "turns": written, **trajectory.extra.get(NAME, {})}
    row = {"agent_data": data, **columns_of(sample, NAME)}
    if trajectory.response is not None and column_text(row.get("response")) != trajectory.response:
        row["response"] = text_or_content(trajectory.response, "model")
    return row


def _main_agent(trajectory: Trajectory) -> str:
    """The name under which steps speak that name no agent."""
    if trajectory.agents:
        return trajectory.agents[0].name
    return next((step.agent for step in trajectory.steps if step.role == "agent" and step.agent), "agent")


def _turns(trajectory: Trajectory) -> Iterator[list[Step]]:
    """Steps by user prompt; as the source numbers them where it numbers all."""
    if all(step.turn is not None for step in trajectory.steps):
        for _, group in groupby(trajectory.steps, lambda step: step.turn):
            yield list(group)
    else:
        for turn in turns(trajectory):
            yield list(turn.steps)


def _turn_id(steps: list[Step], index: int) -> str:
    names = {step.invocation for step in steps if step.invocation is not None}
    return names.pop() if len(names) == 1 else f"turn_{index}"


def _events(step: Step, main: str) -> list[dict[str, Any]]:
    """A step as events: what was said and asked, then what the tools answered."""
    if step.kind != "message" or step.role == "system":
        return []
    author: str = "user" if step.role == "user" else step.agent or main
    events = []
    if step.role == "user":
        parts = [out for part in step.parts if (out := part_out(part, NAME)) is not None]
        if parts:
            events.append(_event(author, step.at, content_to(step, "user", parts, NAME)))
    else:
        for role, parts, ended in contents_of(step, NAME):
            at = ended if events or ended is not None else step.at
            content = {"role": role, "parts": parts} if events else content_to(step, role, parts, NAME)
            events.append(_event(author, at, content))
    if step.state_delta is not None or NAME in step.extra:
        if not events:
            events.append(_event(author, step.at, None))
        if step.state_delta is not None:
            events[0]["state_delta"] = step.state_delta
        events[0].update(unknown_keys(step.extra.get(NAME, {}), {CONTENT}))
    return events


def _event(author: str, at: float | None, content: dict[str, Any] | None) -> dict[str, Any]:
    event: dict[str, Any] = {"author": author}
    if content is not None:
        event["content"] = content
    if at is not None and (time := time_text(at)) is not None:
        event["event_time"] = time
    return event


def _agents(trajectory: Trajectory, authors: Iterable[str]) -> dict[str, Any]:
    """The map of agents: all that the trajectory names, and whoever speaks in it."""
    system = [text for step in trajectory.steps if step.role == "system" and (text := said(step))]
    agents: dict[str, Any] = {}
    for agent in trajectory.agents:
        kept = dict(agent.extra.get(NAME, {}))
        others, strangers = kept.pop("tools", []), kept.pop("sub_agents", [])
        config: dict[str, Any] = {"agent_id": agent.name}
        if agent.description is not None:
            config["description"] = agent.description
        if agent.instructions is not None:
            config["instruction"] = agent.instructions
        if agent.tools is not None:
            functions = [_declaration(tool) for tool in agent.tools]
            config["tools"] = [*([{"function_declarations": functions}] if functions else []), *others]
        children = [other.name for other in trajectory.agents if other.parent == agent.name]
        if children or strangers:
            config["sub_agents"] = [*children, *strangers]
        agents[agent.name] = {**config, **kept}
    for author in authors:
        agents.setdefault(author, {"agent_id": author})
    if system and agents:
        # A prompt that is told as a step is the instruction of the agent that has none.
        next(iter(agents.values())).setdefault("instruction", "\n\n".join(system))
    return agents


def _declaration(tool: Tool) -> dict[str, Any]:
    kept = dict(tool.extra.get(NAME, {}))
    key = "parameters" if kept.pop("schema", None) == "gemini" else "parameters_json_schema"
    declaration: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        declaration["description"] = tool.description
    if tool.parameters is not None:
        declaration[key] = tool.parameters
    return {**declaration, **kept}


_EVENT = {"author?": str, "content?": {"role?": str, "parts": [dict]}, "event_time?": str, "state_delta?": dict}
_SHAPE = {
    "agent_data": {
        "agents?": dict,
        "turns": [{"turn_index": document(int), "turn_id?": str, "events": [_EVENT]}],
    },
    "session_id": document(ANY),
}


def check(row: Any) -> Iterator[Violation]:
    """The shape that the client validates, turn numbers, and answers without a call."""
    found = list(violations(row, _SHAPE))
    yield from found
    if any(each.level == "error" for each in found):
        return
    if "request" in row:
        yield Violation(level="error", message="a row with `request` is read as GEMINI: agent_data is lost")
    data = row["agent_data"]
    asked: set[Any] = set()
    authors: set[Any] = set()
    for place, turn in enumerate(data["turns"]):
        if turn.get("turn_index", place) != place:
            message = f"is {turn['turn_index']}, but it is turn {place} counted from 0"
            yield Violation(level="error", message=message, place=f"agent_data.turns[{place}].turn_index")
        for number, event in enumerate(turn["events"]):
            authors.add(event.get("author"))
            where = f"agent_data.turns[{place}].events[{number}]"
            for part in (event.get("content") or {}).get("parts", ()):
                yield from _part_violations(part, asked, where)
    for author in sorted(authors - {None, "user"} - set(data.get("agents") or ())):
        message = f"{author} speaks but is not in the map"
        yield Violation(level="warning", message=message, place="agent_data.agents")
    if (why := refusal(row)) is not None:
        yield Violation(level="error", message=why)


def _part_violations(part: dict[str, Any], asked: set[Any], where: str) -> Iterator[Violation]:
    call = part.get("function_call") or part.get("functionCall")
    answer = part.get("function_response") or part.get("functionResponse")
    if isinstance(call, dict):
        asked.add(str(call.get("id")))
        if not isinstance(call.get("args", {}), (dict, type(None))):
            yield Violation(level="error", message="args must be an object", place=f"{where}.function_call")
    if isinstance(answer, dict):
        if not isinstance(answer.get("response"), dict):
            yield Violation(level="error", message="response must be an object", place=f"{where}.function_response")
        if str(answer.get("id")) not in asked:
            message = f"answers a call {answer.get('id')!r} that nobody made"
            yield Violation(level="warning", message=message, place=f"{where}.function_response.id")


FORMAT = Format(
    name=NAME,
    title="agent_data rows for Vertex AI's Gen AI evaluation client",
    spec="AgentData in google-cloud-aiplatform 2.6.0, vertexai/_genai/types/evals.py",
    detect=detect,
    load=load,
    dump=dump,
    check=check,
    lost={
        "trajectory.children": "sub-agents with a trajectory of their own are rows of their own",
        "trajectory.steps[].id": "events have no ids",
        "trajectory.steps[].parts[].synthetic": "text that the program inserted is not written",
        "trajectory.steps[]": "events hold author, content, time and state; summaries and inserted steps are left out",
        "trajectory.agents[].model": "AgentConfig has no model",
        "case": "only reference and context are columns",
        "scores": "the client computes its own",
    },
    note="checked against the client 2.6.0; the server was never reached",
    reencoded={
        "*function_response.response.error": "`exit code 1` is a number in the model",
        "agent_data.turns[].turn_id": "turns are numbered",
    },
)
