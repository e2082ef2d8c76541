"""OpenAdapt's action DSL: the answer of a GUI model, with coordinates or Set-of-Marks numbers.

    Thought: Focus the field.
    State: {"success": false}
    Action: CLICK(x=0.42, y=0.31)

The parser is strict about case and blanks, like OpenAdapt's own. A line that it does not understand becomes an action
of kind `unparsed`. OpenAdapt calls that `fail`, which then looks the same as a model that gave up.
"""

from __future__ import annotations

import re
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Action, Point, Record, Target

from .json import decode_patiently

NAME = "gui-dsl"

_NUMBER = r"(-?(?:\d+\.\d+|\d+|\.\d+))"
_CLICK = re.compile(rf"CLICK\(x={_NUMBER},\s*y={_NUMBER}\)")
_TYPE = re.compile(r'TYPE\(text="((?:[^"\\]|\\.)*)"\)')
# At most 18 digits: int() raises an error for thousands of digits.
_MARK_CLICK = re.compile(r"CLICK\(\[(\d{1,18})\]\)")
_QUOTED = r"""["']((?:[^"'\\]|\\.)*)["']"""
_MARK_TYPE = re.compile(rf"TYPE\(\[(\d{{1,18}})\],\s*{_QUOTED}\)")
_PLAIN_TYPE = re.compile(rf"TYPE\({_QUOTED}\)")
_WAIT = re.compile(r"\bWAIT\s*\(\s*\)")
_DONE = re.compile(r"\bDONE\s*\(\s*\)")
_ACTION_LINE = re.compile(r"action:\s*(.+)", re.IGNORECASE)
_THOUGHT = re.compile(r"thought:\s*(.+?)(?=action:|state:|\Z)", re.IGNORECASE | re.DOTALL)
_STATE = re.compile(r"state:\s*(\{.*?\})", re.IGNORECASE | re.DOTALL)


class Reply(Record, frozen=True, kw_only=True):
    """A model's answer, split into thought, state and action."""

    thought: str | None = None
    state: dict[str, Any] | None = None
    """Also None if it is not flat JSON: OpenAdapt reads up to the first closing brace."""
    line: str
    """The text after the last `Action:`; the whole text if there is none."""
    action: Action


def parse_reply(text: str) -> Reply:
    """Thought, state and action of an answer; the last of each label wins."""
    line = action_line(text)
    thoughts = _THOUGHT.findall(text)
    states = _STATE.findall(text)
    return Reply(
        thought=thoughts[-1].strip() if thoughts else None,
        state=_object(states[-1]) if states else None,
        line=line,
        action=parse_action(line),
    )


def action_line(text: str) -> str:
    """The part of an answer with the action."""
    lines = _ACTION_LINE.findall(text)
    return (lines[-1] if lines else text).strip()


def parse_action(line: str) -> Action:
    """The action of one line; marks are tried before coordinates, the first match wins."""
    # In OpenAdapt's order, so that an ambiguous line is read as its own parser reads it.
    if match := _MARK_CLICK.search(line):
        return Action(kind="click", target=Target(element=int(match[1])), raw=line)
    if match := _MARK_TYPE.search(line):
        return Action(kind="type", target=Target(element=int(match[1])), text=_unescape(match[2]), raw=line)
    if match := _PLAIN_TYPE.search(line):
        return Action(kind="type", text=_unescape(match[1]), raw=line)
    if match := _CLICK.search(line):
        return Action(kind="click", target=_clamp(float(match[1]), float(match[2])), raw=line)
    if match := _TYPE.search(line):
        return Action(kind="type", text=_unescape(match[1]), raw=line)
    return _bare(line)


def _bare(line: str) -> Action:
    if _WAIT.search(line):
        return Action(kind="wait", raw=line)
    return Action(kind="done" if _DONE.search(line) else "unparsed", raw=line)


def _clamp(x: float, y: float) -> Target:
    """A normalised target; numbers outside 0..1 are moved to the edge, and the originals are kept."""
    inside = min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)
    point = Point(x=inside[0], y=inside[1], space="normalised")
    return Target(point=point, extra={} if inside == (x, y) else {NAME: {"x": x, "y": y}})


def _unescape(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = decode_patiently(text.encode())
    except ReadError:
        return None
    return value if isinstance(value, dict) else None
