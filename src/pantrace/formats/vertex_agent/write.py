"""Writes a sample as a row with `agent_data`: its agents, and its steps as events of turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from pantrace.errors import SampleRefused
from pantrace.formats.format import NoOptions
from pantrace.model import Sample, Step, Tool, Trajectory, step_text, turns
from pantrace.wire.json import unknown_keys
from pantrace.wire.optional import present
from pantrace.wire.times import time_text
from pantrace.wire.vertex.columns import column_text, columns_of, main_agent, text_or_content
from pantrace.wire.vertex.contents import CONTENT, content_to, contents_of
from pantrace.wire.vertex.parts import part_out
from pantrace.wire.vertex.refusal import sample_refusal

from .rows import NAME


def dump(sample: Sample, options: NoOptions) -> dict[str, Any]:
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("nothing was run: agent_data holds recorded runs only")
    if (why := sample_refusal(sample, NAME)) is not None:
        raise SampleRefused(why)
    main = main_agent(trajectory)
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
            # The client counts turns from 0.
            turn = {"turn_index": len(written), "turn_id": _turn_id(group, len(written)), "events": events}
            written.append({**turn, **beside})
    if not written:
        raise SampleRefused("nothing was said or done in it: the client would judge an empty run")
    authors.pop("user", None)
    data = {"agents": _agents(trajectory, authors), "turns": written, **trajectory.extra.get(NAME, {})}
    row = {"agent_data": data, **columns_of(sample, NAME)}
    if trajectory.response is not None and column_text(row.get("response")) != trajectory.response:
        # Only if the source stated it: otherwise the client takes the last message itself.
        row["response"] = text_or_content(trajectory.response, "model")
    return row


def _turns(trajectory: Trajectory) -> Iterator[list[Step]]:
    """Steps grouped by user prompt, or by the source's turn numbers if all steps have one."""
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
    """A step as events: first texts and calls, then the results of the tools."""
    # A judge must not take a summary or inserted text for something the agent or the user said.
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
        # A change of state without any text still needs an event to carry it.
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
    """The map of agents: those of the trajectory, and every author of an event."""
    system = [text for step in trajectory.steps if step.role == "system" and (text := step_text(step))]
    agents: dict[str, Any] = {}
    for agent in trajectory.agents:
        kept = dict(agent.extra.get(NAME, {}))
        others, strangers = kept.pop("tools", []), kept.pop("sub_agents", [])
        functions = [_declaration(tool) for tool in agent.tools or ()]
        declared = [{"function_declarations": functions}] if functions else []
        children = [other.name for other in trajectory.agents if other.parent == agent.name]
        config = {
            "agent_id": agent.name,
            "description": agent.description,
            "instruction": agent.instructions,
            "tools": [*declared, *others] if agent.tools is not None else None,
            "sub_agents": [*children, *strangers] or None,
        }
        agents[agent.name] = {**present(config), **kept}
    for author in authors:
        agents.setdefault(author, {"agent_id": author})
    if system and agents:
        # A system message is written as the first agent's instruction, unless that agent has one.
        next(iter(agents.values())).setdefault("instruction", "\n\n".join(system))
    return agents


def _declaration(tool: Tool) -> dict[str, Any]:
    kept = dict(tool.extra.get(NAME, {}))
    key = "parameters" if kept.pop("schema", None) == "gemini" else "parameters_json_schema"
    return {**present({"name": tool.name, "description": tool.description, key: tool.parameters}), **kept}
