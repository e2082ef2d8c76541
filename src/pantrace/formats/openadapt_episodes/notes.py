"""What the schema of an episode has no field for, on its way to the sample.

An episode file holds it under `pantrace`; a reader of logs and result folders puts it into the row it makes, as the
struct itself, under a key that no JSON can have. Rows made so also hold actions as they are: writing them by the
schema, only to read them again, would lose what the schema cannot say.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Media, Outcome
from pantrace.wire.carried import CARRIER

NOTES: Any = object()
"""The key."""


class Notes(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Of an episode, a step or an observation."""

    trajectory: str | None = None
    """Id of the trajectory, where it is not that of the episode."""
    outcome: Outcome | None = None
    """Where it is more than `success` and `final_reward` say."""
    expected: dict[str, Any] | None = None
    """The episode that was wanted."""
    epoch: int | None = None
    id: str | msgspec.UnsetType | None = msgspec.UNSET
    """Of a step, where it is not numbered like the row."""
    after: Media | str | None = None
    """What was seen after the action; "next": what the next step saw before its own."""
    continues: bool = False
    """Another action of the step before."""
    screenshot: dict[str, Any] | None = None
    """Fields of the screenshot that differ from what the observation says."""
    media: tuple[Media, ...] = ()
    """Other files that were seen."""


def notes_in(row: dict[str, Any]) -> Notes:
    """The notes of a row, whoever made it."""
    if (made := row.get(NOTES)) is not None:
        return made  # type: ignore[no-any-return]
    carried = row.get(CARRIER)
    return msgspec.convert(carried, Notes) if isinstance(carried, dict) else Notes()
