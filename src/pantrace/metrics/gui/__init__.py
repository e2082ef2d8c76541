"""gui: predicted GUI actions against a ground-truth episode."""

from __future__ import annotations

from typing import Literal

import msgspec

from pantrace.matching.actions import actions_of
from pantrace.metrics.metric import Found, Measurement, NotApplicable, metric
from pantrace.model import Record, Sample

from . import openadapt_v1, strict
from .measures import MEASURES, values_of
from .metrics import aggregate
from .milestones import EVERY_TASK, LOGIN, Milestones, milestones_of, reached_milestones, read_milestones
from .outcome import Episode, StepOutcome, episode
from .pairing import pairs, state_success


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How predicted actions are measured."""

    profile: Literal["strict", "openadapt-v1"] = "strict"
    """strict: as the document defines the metrics; openadapt-v1: the same numbers as OpenAdapt's own code."""
    dsl_mode: Literal["coord", "som"] = "coord"
    """Whether actions aim at coordinates or at numbered marks."""
    milestones: str | Milestones | None = None
    """A JSON or TOML file, or the milestones themselves: task -> list of name, step_index, expected_type,
    coord_threshold; the task * is every task."""
    hit_radius: float = 0.05
    """How far from the target a click may land, as a share of the screen."""

    def __post_init__(self) -> None:
        # Loaded now, so that a wrong path is reported once, and measuring needs no file.
        if isinstance(self.milestones, str):
            msgspec.structs.force_setattr(self, "milestones", read_milestones(self.milestones))


@metric(settings=Settings, measures=MEASURES, per_turn=False, aggregate=aggregate)
def gui(sample: Sample, settings: Settings) -> Found:
    """Share of ground-truth steps that the predicted GUI actions get right.

    Formula: correct steps / steps; a step is correct when the type of action matches and, for a click, it lands within
    `hit_radius` of the target (in som mode: the element is the right one). The other measures are those of the
    evaluation JSON, for one episode and over many: action_type_accuracy, mean_coord_error, click_hit_rate,
    bbox_hit_rate, episode_success_rate, mean_episode_progress, mean_episode_step_score, weak_episode_success_rate,
    state_success_rate, element_accuracy, and some of them by type of action.

    Not applicable when: there is no trajectory or no expected trajectory, the expected one has no GUI action, or (in
    openadapt-v1) no step has a prediction.

    Source: Action parts of the trajectory (predictions) and of Sample.expected (ground truth), paired in their order.
    """
    if sample.expected is None:
        return NotApplicable("there is no ground-truth episode" if sample.trajectory else "the case has not been run")
    if not actions_of(sample.expected):
        return NotApplicable("the expected trajectory has no GUI action")
    if sample.trajectory is None:
        # An episode that was not run still counts as an episode.
        return NotApplicable("the case has not been run", {"num_episodes": 1})
    found, outcomes = _measure(sample, settings)
    kept = ("profile", "dsl_mode", "milestones", "coord_errors", "by_action_type")
    details = {name: msgspec.to_builtins(getattr(found, name)) for name in kept}
    values = values_of(found)
    if not found.steps:
        return NotApplicable("no step of the ground truth has a prediction", values, details)
    wrong = [each.step for each in outcomes if not each.correct and each.step is not None]
    return Measurement(
        value=found.correct_steps / found.steps,
        explanation=f"{found.correct_steps} of {found.steps} steps correct, {found.type_matches} of the right type",
        values=values,
        details=details,
        evidence=tuple(dict.fromkeys(wrong)),
    )


def _measure(sample: Sample, settings: Settings) -> tuple[Episode, list[StepOutcome]]:
    assert sample.trajectory is not None
    assert sample.expected is not None
    old = settings.profile == "openadapt-v1"
    profile = openadapt_v1 if old else strict
    marks = settings.dsl_mode == "som"
    paired = pairs(sample.trajectory, sample.expected, missing=not old)
    outcomes = [profile.measure_step(pair, marks=marks, radius=settings.hit_radius) for pair in paired]
    used = [pair.step for pair in paired if pair.predicted is not None]
    declared = settings.milestones if isinstance(settings.milestones, dict) else None
    if declared is None:
        # The original uses its login milestones for every task; `strict` has none unless they are declared.
        declared = {EVERY_TASK: LOGIN} if old else {}
    wanted = milestones_of(sample, declared)
    milestones = None
    if wanted is not None:
        milestones = reached_milestones(wanted, {each.place: each for each in outcomes}, profile.is_reached)
    return episode(
        outcomes,
        profile=settings.profile,
        dsl_mode=settings.dsl_mode,
        # The original calls an episode a success if all types match; clicks are not checked.
        success=all(each.type_match if old else each.correct for each in outcomes),
        milestones=milestones,
        state_success=state_success(sample.trajectory, set(used)),
        extra_predictions=len(actions_of(sample.trajectory)) - len(used),
    ), outcomes
