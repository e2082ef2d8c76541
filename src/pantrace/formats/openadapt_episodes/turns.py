"""What the readers of all shapes hand over: an episode on its way to a sample.

Logs and result folders say things that the schema of an episode has no field for: several actions of one turn, what was
seen after an action, why nothing was judged. Writing them by the schema, only to read them again, would lose that.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Action, Media, Outcome


class Turn(msgspec.Struct, kw_only=True):
    """What an agent saw, thought and did before it was asked again."""

    row: dict[str, Any]
    """All but the actions, under the keys of a step of the schema."""
    actions: list[Action]
    seen: tuple[Media, ...] = ()
    """Other files than the screenshot that were seen."""
    after: Media | None = None
    """What was seen after the last action, where no further turn shows it."""
    leads_on: bool = False
    """Whether the screenshot of the next turn is what was seen after the last action."""


class Episode(msgspec.Struct, kw_only=True):
    """One sample of any shape."""

    row: dict[str, Any]
    """All but the steps, under the keys of the schema."""
    turns: list[Turn]
    expected: list[Turn] | None = None
    """The turns that were wanted."""
    outcome: Outcome | None = None
    """Where it is more than `success` and `final_reward` say."""
    epoch: int | None = None
