"""Who graded a run is not who ran it."""

from __future__ import annotations

from pantrace.model import Trajectory


def is_grader(trajectory: Trajectory) -> bool:
    """Whether a child is what a scorer asked a model, recorded beside the run: nothing that the agent did."""
    kinds = [kept.get("span") for kept in trajectory.extra.values() if isinstance(kept, dict)]
    return "scorer" in kinds or "scorers" in kinds
