"""What the ADK evaluation guide extracts from a session: state, tools, agents, thoughts, grounding, tokens, history."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError, UsageError
from pantrace.model import (
    Agent,
    CallPair,
    Citation,
    Sample,
    Step,
    Text,
    Thinking,
    Tool,
    Trajectory,
    call_pairs,
    merged_turns,
)
from pantrace.wire import files, gemini
from pantrace.wire.adk.agents import is_declared
from pantrace.wire.adk.event_writer import chunk_of
from pantrace.wire.adk.parts import NAME as ADK
from pantrace.wire.json import decode
from pantrace.wire.optional import present

RESERVED = (
    "state_variables",
    "tool_interactions",
    "sub_agent_trace",
    "tool_declarations",
    "system_instruction",
    "thinking_trace",
    "grounding_chunks",
    "per_turn_tokens",
    "stop_reasons",
    "conversation_history",
    "agents",
    "agent_instructions",
    "grounding_sources",
    "model_versions",
    "cache_details",
    "errors",
)
"""Keys that a state variable of the same name never overwrites."""


def contents_of(trajectory: Trajectory | None) -> list[dict[str, Any]]:
    """The conversation up to the last prompt, with all texts of a turn joined; its answer is the response."""
    turns = [turn for turn in merged_turns(trajectory) if turn.text] if trajectory is not None else []
    # The last answer is the row's response, so it must not be part of the request.
    while turns and turns[-1].role != "user":
        turns.pop()
    return [{"role": "user" if turn.role == "user" else "model", "parts": [{"text": turn.text}]} for turn in turns]


def extracted_data(sample: Sample, descriptions: Mapping[str, str]) -> dict[str, Any]:
    """All keys of the document in its order, then ours, then the state variables that overwrite none of them."""
    trajectory = sample.trajectory or Trajectory()
    # Copied steps were paid for in another session.
    calls = [step for step in trajectory.steps if step.usage is not None and step.kind != "copied"]
    pairs = call_pairs(trajectory)
    data: dict[str, Any] = {
        "state_variables": trajectory.state,
        "tool_interactions": [_interaction(pair) for pair in pairs],
        "sub_agent_trace": _responses(trajectory),
        "tool_declarations": _declarations(trajectory, pairs, descriptions),
        "system_instruction": next((agent.instructions for agent in trajectory.agents if agent.instructions), None),
        "thinking_trace": [
            part.text for step in trajectory.steps for part in step.parts if isinstance(part, Thinking) and part.text
        ],
        "grounding_chunks": [chunk_of(cited) for cited, _ in _citations(trajectory)],
        "per_turn_tokens": [_tokens(step) for step in calls],
        "stop_reasons": [step.stop for step in trajectory.steps if step.stop is not None],
        # Without the last prompt. The original cuts its list at the wrong end and drops the answer instead.
        "conversation_history": contents_of(trajectory)[:-1],
        "agents": [_agent(agent) for agent in trajectory.agents],
        "agent_instructions": {agent.name: agent.instructions for agent in trajectory.agents if agent.instructions},
        "grounding_sources": [
            {"agent_name": step.agent, "uri": cited.uri, "title": cited.title, "text": cited.text}
            for cited, step in _citations(trajectory)
        ],
        "model_versions": [step.model for step in calls],
        "cache_details": _cache(calls),
        "errors": _errors(trajectory, pairs),
    }
    # The original lets a state variable overwrite a reserved key; here the reserved key wins.
    for key, value in (trajectory.state or {}).items():
        data.setdefault(key, value)
    return data


def _interaction(pair: CallPair) -> dict[str, Any]:
    row: dict[str, Any] = {"tool_name": pair.call.name, "input_arguments": pair.call.arguments, "call_id": pair.call.id}
    if pair.result is None:
        return {**row, "output_result": None, "status": "no_response"}
    output = pair.result.output
    # The original unwraps `result`; doing so beside other keys would drop them.
    only_result = isinstance(output, dict) and output.keys() == {"result"} and output["result"]
    row["output_result"] = output["result"] if only_result else output
    if pair.result.failure is not None:
        row["status"] = "error"
        row["error"] = pair.result.error
    if pair.step.agent is not None:
        row["agent_name"] = pair.step.agent
    return row


def _responses(trajectory: Trajectory) -> list[dict[str, Any]]:
    found = []
    for step in trajectory.steps:
        texts = [part.text for part in step.parts if isinstance(part, Text) and not part.synthetic and part.text]
        if step.role == "agent" and step.kind == "message" and texts:
            found.append({"agent_name": step.agent, "text_response": "\n".join(texts), "timestamp": step.at})
    return found


def _declarations(
    trajectory: Trajectory, pairs: list[CallPair], descriptions: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Each tool once, with description and parameters; if nothing is declared, the tools that were used."""
    tools: dict[str, Tool] = {}
    for agent in trajectory.agents:
        for tool in agent.tools or ():
            tools.setdefault(tool.name, tool)
    for pair in pairs:
        tools.setdefault(pair.call.name, Tool(name=pair.call.name))
    functions = []
    for tool in tools.values():
        fields = {
            "name": tool.name,
            "description": tool.description or descriptions.get(tool.name),
            "parameters": tool.parameters,
        }
        # The original writes "Tool: NAME" where it knows no description; here it is left out.
        functions.append(present(fields))
    return [{"function_declarations": functions}] if functions else []


def _agent(agent: Agent) -> dict[str, Any]:
    row = {
        "name": agent.name,
        "model": agent.model,
        "parent": agent.parent,
        "tools": [tool.name for tool in agent.tools] if is_declared(agent) and agent.tools is not None else None,
    }
    return present(row)


def _citations(trajectory: Trajectory) -> list[tuple[Citation, Step]]:
    return [(part, step) for step in trajectory.steps for part in step.parts if isinstance(part, Citation)]


def _tokens(step: Step) -> dict[str, Any]:
    assert step.usage is not None
    row = gemini.usage_to(step.usage, ADK)
    row["model_version"] = step.model
    row["agent_name"] = step.agent
    return row


def _cache(calls: list[Step]) -> dict[str, Any]:
    """Cached tokens, which are part of the prompt. Calls that do not report them are counted, not taken as zero."""
    cached = [step.usage.cache_read for step in calls if step.usage is not None and step.usage.cache_read is not None]
    prompts = [step.usage.input for step in calls if step.usage is not None and step.usage.input is not None]
    return {
        "cached_content_token_count": sum(cached) if cached else None,
        "input_token_count": sum(prompts) if prompts else None,
        "calls": len(calls),
        "calls_missing_cached": len(calls) - len(cached),
    }


def _errors(trajectory: Trajectory, pairs: list[CallPair]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for step in trajectory.steps:
        if step.error is not None:
            found.append({"agent_name": step.agent, "error_code": step.error.kind, "error_message": step.error.message})
    for pair in pairs:
        if pair.result is not None and pair.result.failure is not None:
            found.append({"tool_name": pair.call.name, "call_id": pair.call.id, "error_message": pair.result.error})
    return found


@lru_cache(8)
def tool_descriptions(path: str) -> Mapping[str, str]:
    """Descriptions by tool name, from a JSON file: name -> text, or name -> object with a description, perhaps under a
    key `tools`. Capabilities and limitations are appended."""
    try:
        value = decode(files.read_all(Path(path)))
    except ReadError as error:
        raise UsageError(f"tool_descriptions: {error}") from None
    tools = value.get("tools", value) if isinstance(value, dict) else None
    if not isinstance(tools, dict):
        raise UsageError(f"tool_descriptions: {path} holds no object of names and descriptions")
    # Keys like "_comment" hold notes for people.
    return {name: text for name, each in tools.items() if not name.startswith("_") and (text := _description(each))}


def _description(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("description"), str):
        return None
    text: str = value["description"]
    for key in ("capabilities", "limitations"):
        if isinstance(listed := value.get(key), list) and listed:
            text += f" {key.capitalize()}: {'; '.join(str(each) for each in listed)}."
    return text
