"""What is true of the recordings in own/sessions of the corpus: it comes from the scripted model's own log."""

from __future__ import annotations

import json
from typing import Any

from corpus import CORPUS
from pantrace.model import (
    Trajectory,
    Usage,
    agent_trajectories,
    call_pairs,
    counts_usage,
    final_response,
    has_failed,
    turns,
    usage_total,
)

FOLDER = CORPUS / "own" / "sessions"
LISTED = json.loads((FOLDER / "expected.json").read_bytes())["recordings"] if FOLDER.exists() else []
RECORDINGS: list[str] = [each["id"] for each in LISTED]
Counts = dict[str, int]


def truth(name: str) -> dict[str, Any]:
    """What `expected.json` says of one recording."""
    return next(each for each in LISTED if each["id"] == name)


def told(trajectory: Trajectory) -> dict[str, Any]:
    """The same of a trajectory, in the same words."""
    pairs = call_pairs(trajectory, children=True)
    total = usage_total(trajectory, children=True)
    return {
        "user_turns": len([turn for turn in turns(trajectory) if turn.number]),
        "tool_calls": len(pairs),
        "tool_calls_failed": len([pair for pair in pairs if pair.result is not None and has_failed(pair.result)]),
        "final_answer": final_response(trajectory),
        "tokens_all_answered": counts(total),
        "calls": sorted(
            (list(counts(step.usage).items()))
            for each in agent_trajectories(trajectory)
            for step in each.steps
            if step.usage is not None and counts_usage(step)
        ),
        "sub_agents": sorted(list(counts(usage_total(child)).items()) for child in trajectory.children),
    }


def plain(usage: dict[str, Any]) -> Counts:
    return {key: usage[key] for key in ("input", "output", "cache_read", "reasoning")}


def counts(usage: Usage | None) -> Counts:
    """A number that was not reported is missing here, not zero."""
    keys = ("input", "output", "cache_read", "reasoning")
    return {key: value for key in keys if usage is not None and (value := getattr(usage, key)) is not None}
