"""Verdicts of Vertex AI's rubric metrics: what was checked, and whether it is met."""

from __future__ import annotations

from typing import Any

from pantrace.wire.extra_keys import rest_of
from pantrace.wire.optional import object_of

_PATH = ("evaluated_rubric", "content", "property")
"""The service wraps the text of a rubric three times."""
_KNOWN = ({"verdict", "reasoning"}, {"rubric_id", "type", "importance"}, set[str](), {"description"})
"""The known keys of a verdict and of each of its wrappers."""


def verdict_in(raw: dict[str, Any]) -> dict[str, Any]:
    """A verdict in short form, with everything else under its original keys. The service omits values that are false,
    or writes null."""
    levels = [raw]
    for key in _PATH:
        inner = levels[-1].get(key)
        levels.append(object_of(inner))
    _, rubric, _, content = levels
    told = {
        "id": rubric.get("rubric_id"),
        "description": content.get("description"),
        "type": rubric.get("type"),
        "importance": rubric.get("importance"),
        "reasoning": raw.get("reasoning"),
    }
    short = {"verdict": raw.get("verdict") is True, **{name: value for name, value in told.items() if value}}
    return {**short, **_unknown(levels)}


def _unknown(levels: list[dict[str, Any]]) -> dict[str, Any]:
    """Keys that a later version of the service may add, at any level."""
    rest: dict[str, Any] = {}
    for level, known, key in reversed(list(zip(levels, _KNOWN, (*_PATH, None), strict=True))):
        # A wrapper that is not an object was not read, so it is kept unchanged.
        read = {*known, key} if key is not None and isinstance(level.get(key), dict) else known
        rest = rest_of(level, read) | ({key: rest} if key is not None and rest else {})
    return rest


def share_met(verdicts: list[dict[str, Any]]) -> float:
    """The share of true verdicts, which is the score."""
    return sum(each["verdict"] is True for each in verdicts) / len(verdicts)
