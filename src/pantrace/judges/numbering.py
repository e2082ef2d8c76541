"""Numbers of steps: how a judge names a step of a transcript, and which id of the recording that is."""

from __future__ import annotations

from typing import Any

from pantrace.model import Step, Trajectory, all_trajectories


class Numbers:
    """Steps counted from 1 in the order recorded, those of sub-agents after their parent's.

    Abandoned and copied steps count, too, so that a number is the place in the recording."""

    def __init__(self, trajectory: Trajectory | None):
        steps = [step for each in all_trajectories(trajectory) for step in each.steps] if trajectory else []
        # By identity: a recording may contain two equal steps.
        self._numbers = {id(step): number for number, step in enumerate(steps, 1)}
        self._steps = steps

    def place(self, step: Step | None) -> dict[str, Any]:
        """The fields of a block that belongs to a step: its number, and the id that evidence uses.

        A step without an id gets its number as id: #7."""
        number = self._numbers.get(id(step)) if step is not None else None
        if step is None or number is None:
            return {}
        return {"step": number, "id": step.id or f"#{number}"}
