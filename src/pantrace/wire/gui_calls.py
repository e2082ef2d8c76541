"""GUI actions as calls of a computer tool, for formats that only have calls."""

from __future__ import annotations

from typing import Any, cast

from pantrace.model import Action

from .json import to_plain

TOOL = "computer"
"""Name of the tool."""


def action_arguments(action: Action) -> dict[str, Any]:
    """A GUI action as arguments of a computer tool: `action` and its details."""
    plain = cast("dict[str, Any]", to_plain(action))
    found: dict[str, Any] = {"action": action.kind}
    target = action.target
    if target is not None and target.point is not None:
        found["coordinate"] = [target.point.x, target.point.y]
        # Without it, [0.5, 0.5] and [640, 360] could not be told apart.
        found["space"] = target.point.space
    if target is not None and target.element is not None:
        found["element"] = target.element
    if target is not None and target.description is not None:
        found["description"] = target.description
    for key in ("text", "key", "modifiers", "direction", "amount", "url", "app", "seconds", "end"):
        if key in plain:
            found[key] = plain[key]
    return found
