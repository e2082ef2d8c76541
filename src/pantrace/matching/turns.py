"""Turns with the numbers that rules and measurements per turn use."""

from __future__ import annotations

from pantrace.model import Trajectory, Turn, turns


def numbered_turns(trajectory: Trajectory) -> list[Turn]:
    """The turns that begin with a prompt; a recording without any is one turn."""
    found = turns(trajectory)
    if len(found) == 1 and found[0].number == 0:
        return [Turn(1, found[0].steps)]
    return [turn for turn in found if turn.number > 0]
