"""The result of one step, and of one episode."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pantrace.model import Action


class StepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One measured step. None: does not apply."""

    place: int
    kind: str
    """Kind of the true action."""
    step: str | None = None
    """Id of the predicted step."""
    type_match: bool
    correct: bool
    """Type and place are right."""
    content: bool = False
    """The content is right, too: what was typed, pressed, opened or scrolled."""
    error: float | None = None
    """Distance between the true and the predicted point, as a share of the screen."""
    click_hit: bool | None = None
    box_hit: bool | None = None
    element_hit: bool | None = None
    missing: bool = False
    unparsed: bool = False
    off_screen: bool = False
    predicted: Action | None = None


class KindCounts(msgspec.Struct, kw_only=True):
    """Counts of the steps whose true action is of one kind."""

    steps: int = 0
    type_matches: int = 0
    correct_steps: int = 0
    coord_errors: list[float] = []
    click_hits: int = 0
    click_total: int = 0

    def add(self, other: KindCounts) -> None:
        """Add the counts of another episode."""
        self.steps += other.steps
        self.type_matches += other.type_matches
        self.correct_steps += other.correct_steps
        self.coord_errors.extend(other.coord_errors)
        self.click_hits += other.click_hits
        self.click_total += other.click_total


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one episode: everything that the metrics over many episodes need."""

    profile: str
    dsl_mode: str
    steps: int
    type_matches: int
    correct_steps: int
    content_matches: int
    success: bool
    coord_errors: list[float]
    click_hits: int
    click_total: int
    clicks: int
    """Clicks of the ground truth, with or without coordinates."""
    bbox_hits: int
    bbox_total: int
    element_hits: int
    element_total: int
    milestones: dict[str, bool] | None
    """None if none are declared for the task."""
    state_success: bool | None
    missing_predictions: int
    extra_predictions: int
    unparsed: int
    off_screen: int
    by_action_type: dict[str, KindCounts]


def episode(
    outcomes: Sequence[StepOutcome],
    *,
    profile: str,
    dsl_mode: str,
    success: bool,
    milestones: dict[str, bool] | None,
    state_success: bool | None,
    extra_predictions: int,
) -> Episode:
    """The counts over the steps of an episode."""
    kinds: dict[str, KindCounts] = {}
    for each in outcomes:
        kinds.setdefault(each.kind, KindCounts()).add(_counts([each]))
    total = _counts(outcomes)
    return Episode(
        profile=profile,
        dsl_mode=dsl_mode,
        steps=total.steps,
        type_matches=total.type_matches,
        correct_steps=total.correct_steps,
        content_matches=sum(each.content for each in outcomes),
        success=success,
        coord_errors=total.coord_errors,
        click_hits=total.click_hits,
        click_total=total.click_total,
        clicks=sum(each.kind == "click" for each in outcomes),
        bbox_hits=sum(each.box_hit is True for each in outcomes),
        bbox_total=sum(each.box_hit is not None for each in outcomes),
        element_hits=sum(each.element_hit is True for each in outcomes),
        element_total=sum(each.element_hit is not None for each in outcomes),
        milestones=milestones,
        state_success=state_success,
        missing_predictions=sum(each.missing for each in outcomes),
        extra_predictions=extra_predictions,
        unparsed=sum(each.unparsed for each in outcomes),
        off_screen=sum(each.off_screen for each in outcomes),
        # Sorted, so that the same episode always gives the same file.
        by_action_type=dict(sorted(kinds.items())),
    )


def _counts(outcomes: Sequence[StepOutcome]) -> KindCounts:
    return KindCounts(
        steps=len(outcomes),
        type_matches=sum(each.type_match for each in outcomes),
        correct_steps=sum(each.correct for each in outcomes),
        coord_errors=[each.error for each in outcomes if each.error is not None],
        click_hits=sum(each.click_hit is True for each in outcomes),
        click_total=sum(each.click_hit is not None for each in outcomes),
    )
