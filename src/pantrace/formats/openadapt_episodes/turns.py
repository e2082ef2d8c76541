"""The episode that the readers of all shapes produce, before it becomes a sample.

Logs and result folders have things that the schema of an episode has no field for: several actions in one turn, the
screen after an action, why there is no verdict. Converting them to the schema first would lose that.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Action, Media, Outcome


class Turn(msgspec.Struct, kw_only=True):
    """What an agent saw, thought and did in one call of the model."""

    row: dict[str, Any]
    """Everything except the actions, under the schema's keys for a step."""
    actions: list[Action]
    seen: tuple[Media, ...] = ()
    """Files that the agent saw beside the screenshot."""
    after: Media | None = None
    """The screen after the last action, if no further turn shows it."""
    leads_on: bool = False
    """Whether the screenshot of the next turn shows the screen right after the last action."""


class Episode(msgspec.Struct, kw_only=True):
    """One sample of any shape."""

    row: dict[str, Any]
    """Everything except the steps, under the schema's keys."""
    turns: list[Turn]
    expected: list[Turn] | None = None
    """The turns that were expected."""
    outcome: Outcome | None = None
    """Set if it says more than `success` and `final_reward`."""
    epoch: int | None = None
