"""Tools as they are declared to a model, in OpenAI's two shapes and in Anthropic's."""

from __future__ import annotations

from typing import Any, Literal

from pantrace.model import Tool

from .extra_keys import as_extra, rest_in, rest_of
from .field_map import ANYTHING, TEXT, FieldMap

Shape = Literal["function", "flat", "schema"]
"""function: inside `function`, as in chats; flat: as in responses; schema: with `input_schema`, as in Anthropic's."""


def _map(owner: str, schema: str) -> FieldMap[Tool]:
    keys = {"name": ("name", TEXT), "description": ("description", TEXT), schema: ("parameters", ANYTHING)}
    return FieldMap(owner, Tool, keys)


def tools_from(declared: Any, owner: str) -> tuple[Tool, ...] | None:
    """The declared tools; None if one of them cannot be written back."""
    if not isinstance(declared, list) or not all(isinstance(each, dict) for each in declared):
        return None
    found = []
    for raw in declared:
        inner, around = raw, {}
        if isinstance(raw.get("function"), dict):
            inner, around = raw["function"], rest_of(raw, {"function"})
        kind = raw.get("type")
        # The provider's own tools (such as web_search) have a type and no name.
        name = inner.get("name") if isinstance(inner.get("name"), str) else kind
        if not isinstance(name, str):
            return None
        schema = "input_schema" if "input_schema" in inner else "parameters"
        notes = {"around": around} if around and around != {"type": "function"} else {}
        found.append(_map(owner, schema).load(inner, name=name, extra=as_extra(owner, notes)))
    return tuple(found)


def tool_to(tool: Tool, owner: str, shape: Shape) -> dict[str, Any]:
    """A tool's declaration; one that was read is written as it was."""
    own = rest_in(tool.extra, owner)
    row = _map(owner, "input_schema" if shape == "schema" else "parameters").dump(tool, "around")
    if own.get("type") == tool.name:
        row.pop("name", None)  # one of the provider's own tools, which has only a type
    if shape == "schema":
        return row if owner in tool.extra else {"input_schema": {"type": "object"}, **row}
    if shape == "flat":
        return {"type": "function", **row}
    return {"type": "function", **own.get("around", {}), "function": row}
