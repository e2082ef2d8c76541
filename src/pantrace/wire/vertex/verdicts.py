"""Verdicts of Vertex AI's rubric metrics: what was looked at, and whether it is met."""

from __future__ import annotations

from typing import Any


def verdict_in(raw: dict[str, Any]) -> dict[str, Any]:
    """A verdict in short. The service leaves out or nulls what is false."""
    rubric = raw.get("evaluated_rubric") or {}
    content = (rubric.get("content") or {}).get("property") or {}
    told = {
        "id": rubric.get("rubric_id"),
        "description": content.get("description"),
        "type": rubric.get("type"),
        "importance": rubric.get("importance"),
        "reasoning": raw.get("reasoning"),
    }
    return {"verdict": raw.get("verdict") is True, **{name: value for name, value in told.items() if value}}


def share_met(verdicts: list[dict[str, Any]]) -> float:
    """The share of verdicts that are true, which is the score."""
    return sum(each["verdict"] is True for each in verdicts) / len(verdicts)
