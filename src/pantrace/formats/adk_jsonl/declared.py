"""What `extracted_data` declares, read back: agents, their tools and instructions, and values nothing else tells."""

from __future__ import annotations

from typing import Any

from pantrace.model import Agent, Tool, Trajectory
from pantrace.wire.adk.expect import text

from .extracted import RESERVED


def agents_from(data: dict[str, Any], trajectory: Trajectory) -> tuple[Agent, ...]:
    """The agents that our writer declared, else those that the trajectory shows."""
    declared = {
        function["name"]: Tool(
            name=text(function["name"], "a tool's name") or "",
            description=text(function.get("description"), "a tool's description"),
            parameters=function.get("parameters"),
        )
        for group in data.get("tool_declarations") or ()
        for function in group.get("function_declarations") or ()
    }
    instructions = data.get("agent_instructions") or {}
    agents = []
    for row in data.get("agents") or ():
        tools = row.get("tools")
        agents.append(
            Agent(
                name=text(row["name"], "an agent's name") or "",
                model=row.get("model"),
                parent=row.get("parent"),
                instructions=instructions.get(row["name"]),
                tools=tuple(declared.get(name, Tool(name=name)) for name in tools) if tools is not None else None,
            )
        )
    return tuple(agents) or trajectory.agents


def unheard(data: dict[str, Any], trajectory: Trajectory | None) -> dict[str, Any]:
    """Extracted values that are no state variables and no known keys."""
    state = (trajectory.state if trajectory is not None else None) or {}
    return {key: value for key, value in data.items() if key not in RESERVED and state.get(key) != value}


def declared_fields(data: dict[str, Any], app: str) -> dict[str, Any]:
    """Tools and instructions that say more than the placeholders which the original puts there."""
    found: dict[str, Any] = {}
    instruction = data.get("system_instruction")
    if instruction and instruction != f"You are the {app} agent.":
        found["system_instruction"] = instruction
    groups = data.get("tool_declarations")
    each_group = groups if isinstance(groups, list) else []
    listed = [group.get("function_declarations") for group in each_group if isinstance(group, dict)]
    tools = [tool for tools in listed if isinstance(tools, list) for tool in tools if isinstance(tool, dict)]
    if any(tool.keys() - {"name", "description"} or not _is_placeholder(tool) for tool in tools):
        found["tool_declarations"] = groups
    return found


def _is_placeholder(tool: dict[str, Any]) -> bool:
    return tool.get("description") in (None, f"Tool: {tool.get('name')}")
