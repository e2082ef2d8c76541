"""What `extracted_data` declares, read back: agents, their tools and instructions, and values found nowhere else."""

from __future__ import annotations

from typing import Any

from pantrace.model import Agent, Tool, Trajectory
from pantrace.wire.adk.field_types import identifier, list_of, mapping, text

from .extracted import RESERVED


def agents_from(data: dict[str, Any], trajectory: Trajectory) -> tuple[Agent, ...]:
    """The agents that our writer declared, else those that the trajectory shows."""
    # Tools are declared once for all agents; each agent lists its own by name.
    declared: dict[str, Tool] = {}
    for group in list_of(data.get("tool_declarations"), "tool_declarations"):
        functions = (mapping(group, "a group of tool_declarations") or {}).get("function_declarations")
        for each in list_of(functions, "function_declarations"):
            function = mapping(each, "a function declaration") or {}
            name = text(function.get("name"), "a tool's name") or ""
            described = text(function.get("description"), "a tool's description")
            declared[name] = Tool(name=name, description=described, parameters=function.get("parameters"))
    instructions = mapping(data.get("agent_instructions"), "agent_instructions") or {}
    agents = []
    for each in list_of(data.get("agents"), "agents"):
        row = mapping(each, "an agent") or {}
        name = text(row.get("name"), "an agent's name") or ""
        tools = [identifier(tool, "a tool of an agent") for tool in list_of(row.get("tools"), "an agent's tools")]
        agents.append(
            Agent(
                name=name,
                model=text(row.get("model"), "an agent's model"),
                parent=text(row.get("parent"), "an agent's parent"),
                instructions=text(instructions.get(name), "an agent's instructions"),
                tools=tuple(declared.get(tool, Tool(name=tool)) for tool in tools)
                # Without a list the agent's tools are unknown, which is not the same as having none.
                if row.get("tools") is not None
                else None,
            )
        )
    return tuple(agents) or trajectory.agents


def unknown_values(data: dict[str, Any], trajectory: Trajectory | None) -> dict[str, Any]:
    """Extracted values that are neither state variables nor known keys."""
    state = (trajectory.state if trajectory is not None else None) or {}
    return {key: value for key, value in data.items() if key not in RESERVED and state.get(key) != value}


def declared_fields(data: dict[str, Any], app: str) -> dict[str, Any]:
    """Tools and instructions that say more than the placeholders of the original converter."""
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
    """Whether a tool's description is the original's "Tool: NAME", which it writes for every tool that was used."""
    return tool.get("description") in (None, f"Tool: {tool.get('name')}")
