"""Agents: what `app_details` declares about them, and what the events show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from pantrace.model import Agent, Step, Tool
from pantrace.wire.json import decode
from pantrace.wire.optional import present

from .field_types import text
from .parts import NAME
from .recase import without_nulls


class Declared(NamedTuple):
    """What an invocation declares about its agents."""

    agents: tuple[Agent, ...] = ()
    whole: bool = True
    """Whether `app_details_of` reproduces everything that was declared."""


def declared_agents(app_details: Any) -> Declared:
    """The agents of one `app_details` object, with instructions and full tool declarations."""
    if isinstance(app_details, msgspec.Raw):
        return _declared_in(bytes(app_details))
    if app_details is None:
        return Declared()
    details = app_details.get("agent_details") if isinstance(app_details, dict) else None
    named = details.items() if isinstance(details, dict) else ()
    agents = tuple([_agent(name, each) for name, each in named if isinstance(each, dict)])
    return Declared(agents, whole=app_details_of(agents) == without_nulls(app_details))


_known: tuple[tuple[bytes, Declared], ...] = ()


def _declared_in(app_details: bytes) -> Declared:
    """The same, cached: it is usually equal in every invocation of a file. Compared and not hashed, which would take
    ten times as long."""
    global _known
    for known, declared in _known:
        if known == app_details:
            return declared
    declared = declared_agents(decode(app_details))
    # A few are enough: a file rarely mixes more apps.
    _known = ((app_details, declared), *_known[:7])
    return declared


def _agent(name: str, details: dict[str, Any]) -> Agent:
    declarations = details.get("tool_declarations")
    rest = {
        key: value
        for key, value in details.items()
        if key not in ("name", "instructions", "tool_declarations") and value is not None
    }
    return Agent(
        name=name,
        instructions=text(details.get("instructions"), "instructions") or None,
        tools=tuple(_tools(declarations)) if isinstance(declarations, list) else None,
        extra={NAME: rest} if rest else {},
    )


def _tools(declarations: list[Any]) -> Iterable[Tool]:
    for declaration in declarations:
        if not isinstance(declaration, dict):
            # Not an object: kept as it is, so that the file can be written back.
            yield Tool(name=str(declaration), extra={NAME: {"declaration": declaration}})
            continue
        for key, value in declaration.items():
            if value is None:
                continue
            if key == "function_declarations" and isinstance(value, list):
                for function in value:
                    yield _function(function)
            else:
                # google_search, code_execution and others that Gemini runs itself: an object without a name.
                yield Tool(name=key, extra={NAME: {"built_in": without_nulls(value)}})


def _function(function: Any) -> Tool:
    if not isinstance(function, dict):
        return Tool(name="", extra={NAME: {"function": function}})
    known = present(function)
    name, description = known.pop("name", None), known.pop("description", None)
    parameters = known.pop("parameters_json_schema", None)
    if parameters is None and (schema := known.pop("parameters", None)) is not None:
        # Gemini's own Schema type: JSON Schema with types in capitals and every unused keyword null.
        parameters = _with_types(schema, str.lower)
        # Noted in its case: types in capitals are written back in capitals.
        known["schema"] = "parameters" if parameters == without_nulls(schema) else "PARAMETERS"
    name, description = text(name, "a tool's name"), text(description, "a tool's description")
    return Tool(name=name or "", description=description, parameters=parameters, extra={NAME: known} if known else {})


def _with_types(schema: Any, cased: Callable[[str], str]) -> Any:
    if isinstance(schema, dict):
        return {
            key: cased(value) if key == "type" and isinstance(value, str) else _with_types(value, cased)
            for key, value in schema.items()
            if value is not None
        }
    return [_with_types(item, cased) for item in schema] if isinstance(schema, list) else schema


def app_details_of(agents: Sequence[Agent]) -> dict[str, Any] | None:
    """`app_details` for agents that have something to declare; None if none has."""
    details = {
        agent.name: {
            **agent.extra.get(NAME, {}),
            "name": agent.name,
            "instructions": agent.instructions or "",
            "tool_declarations": _declarations(agent.tools or ()),
        }
        for agent in agents
        if is_declared(agent)
    }
    return {"agent_details": details} if details else None


def is_declared(agent: Agent) -> bool:
    """Whether an agent has instructions or tools, and did not only speak."""
    return agent.instructions is not None or agent.tools is not None


def _declarations(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    functions: list[Any] = []
    others: list[Any] = []
    for tool in tools:
        extra = tool.extra.get(NAME, {})
        if "built_in" in extra:
            others.append({tool.name: extra["built_in"]})
        elif "declaration" in extra:
            others.append(extra["declaration"])
        else:
            functions.append(extra["function"] if "function" in extra else function_of(tool))
    return [*([{"function_declarations": functions}] if functions else []), *others]


def function_of(tool: Tool) -> dict[str, Any]:
    """A tool as a Gemini function declaration."""
    rest = dict(tool.extra.get(NAME, {}))
    key, parameters = rest.pop("schema", "parameters_json_schema"), tool.parameters
    if key == "PARAMETERS":
        key, parameters = "parameters", _with_types(parameters, str.upper)
    said = {"name": tool.name, "description": tool.description, key: parameters, **rest}
    return present(said)


def agents_of(declarations: Sequence[Declared], steps: Sequence[Step]) -> tuple[Agent, ...]:
    """All agents: first the declared ones (the first declaration counts), then those that only spoke or were called."""
    found: dict[str, Agent] = {}
    for declared in declarations:
        for agent in declared.agents:
            # google-adk repeats the declaration in every invocation.
            found.setdefault(agent.name, agent)
    # An eval history declares no models; the first one that an agent's events name counts.
    models: dict[str, str] = {}
    parents: dict[str, str] = {}
    for step in steps:
        if step.agent is None or step.role not in ("agent", "tool"):
            continue
        found.setdefault(step.agent, Agent(name=step.agent))
        if step.model is not None:
            models.setdefault(step.agent, step.model)
        for parent, child in _lineage(step):
            parents.setdefault(child, parent)
    return tuple(
        [
            msgspec.structs.replace(agent, model=models.get(name), parent=parents.get(name))
            if name in models or name in parents
            else agent
            for name, agent in found.items()
        ]
    )


def _lineage(step: Step) -> Iterable[tuple[str, str]]:
    """Parent and child pairs of a node path "greeter@1/billing_agent@1" (2.x) or a branch "greeter.billing_agent"."""
    extra = step.extra.get(NAME)
    if not extra:
        return []
    node = extra.get("node_info")
    if isinstance(node, dict) and isinstance(node.get("path"), str):
        return _pairs(node["path"], "/")
    return _pairs(extra["branch"], ".") if isinstance(extra.get("branch"), str) else []


@lru_cache(256)
def _pairs(path: str, separator: str) -> Sequence[tuple[str, str]]:
    # A session has a handful of paths, and repeats one in every event.
    names = [part.partition("@")[0] if separator == "/" else part for part in path.split(separator)]
    return [(parent, child) for parent, child in pairwise(names) if parent and child != parent]
