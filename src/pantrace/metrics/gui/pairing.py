"""Finds which prediction belongs to which step of the ground truth."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.matching.actions import actions_of
from pantrace.model import Action, Media, Part, Trajectory
from pantrace.wire.gui_dsl import parse_reply


class Pair(msgspec.Struct, frozen=True):
    """A step of the ground truth and its prediction."""

    place: int
    """Position among the actions of the ground truth; milestones refer to it."""
    truth: Action
    predicted: Action | None
    step: str | None
    """Id of the predicted step."""


def pairs(predicted: Trajectory, truth: Trajectory, *, missing: bool) -> list[Pair]:
    """Predictions in their order, one for each step that has a screenshot.

    If no step has one (a log without pictures), or if there are more predictions than screenshots, there is one for
    every step. With `missing`, steps without a prediction are listed, too."""
    wanted = [action for action, _ in actions_of(truth)]
    given = actions_of(predicted)
    seen = _seen(truth)
    # OpenAdapt asks the model only about steps with a screenshot, and does not record which ones.
    asked = [place for place, action in enumerate(wanted) if action.before in seen]
    if not asked or (missing and len(given) > len(asked)):
        asked = list(range(len(wanted)))
    answers = dict(zip(asked, given, strict=False))
    return [
        Pair(place, action, *answers.get(place, (None, None)))
        for place, action in enumerate(wanted)
        if missing or place in answers
    ]


def _seen(trajectory: Trajectory) -> set[str]:
    """Ids of the screenshots that have a path."""
    parts = (part for step in trajectory.steps for part in step.parts)
    return {part.id for part in parts if isinstance(part, Media) and part.id is not None and part.uri}


def state_success(predicted: Trajectory, used: set[str | None]) -> bool | None:
    """The last true or false that the model gave as `success` in its state; None if it gave none.

    A state may be in the step's changes, in the model's raw answer, or at the end of the trajectory."""
    last = None
    for step in predicted.steps:
        for state in (step.state_delta, *(_state(part) for part in step.parts)) if step.id in used else ():
            found = (state or {}).get("success")
            last = found if isinstance(found, bool) else last
    final = (predicted.state or {}).get("success")
    return last if last is not None else final if isinstance(final, bool) else None


def _state(part: Part) -> dict[str, Any] | None:
    if isinstance(part, Action) and isinstance(part.raw, str) and "state:" in part.raw.lower():
        return parse_reply(part.raw).state
    return None
