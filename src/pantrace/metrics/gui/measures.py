"""The measures of GUI agents, under the names of the evaluation JSON, and their values for one episode."""

from __future__ import annotations

from math import fsum

from pantrace.metrics.metric import Numbers
from pantrace.model import Measure, Unit

from .outcome import Episode


def _ratio(name: str, above: str, below: str, what: str, *, unit: Unit = "share", headline: bool = True) -> Measure:
    share = unit == "share"
    return Measure(
        name=name,
        unit=unit,
        better="higher" if share else "lower",
        high=1.0 if share else None,
        pooling="ratio",
        over=(above, below),
        headline=headline,
        what=what,
    )


def _rate(name: str, what: str, *, yes_or_no: bool = True) -> Measure:
    return Measure(
        name=name,
        unit="share",
        better="higher",
        high=1.0,
        yes_or_no=yes_or_no,
        pooling="rate",
        headline=True,
        what=what,
    )


def _count(name: str, what: str, *, bad: bool = False) -> Measure:
    better = "lower" if bad else None
    return Measure(name=name, unit="count", better=better, pooling="sum", what=what)  # type: ignore[arg-type]


# The first is the main measure, as in every metric.
MEASURES = (
    _rate("mean_episode_step_score", "steps of an episode that are right in type and place", yes_or_no=False),
    _count("num_episodes", "episodes"),
    _count("num_steps", "steps of the ground truth"),
    _ratio("action_type_accuracy", "type_matches", "num_steps", "steps of the right type"),
    _ratio("mean_coord_error", "coord_error_sum", "coord_error_count", "distance from the true point", unit="distance"),
    _count("coord_error_count", "clicks with coordinates on both sides"),
    _rate("episode_success_rate", "episodes in which all steps are right"),
    _ratio("click_hit_rate", "click_hits", "click_total", "clicks within the radius"),
    _ratio("bbox_hit_rate", "bbox_hits", "bbox_total", "clicks within the box"),
    _rate("mean_episode_progress", "steps of an episode that are of the right type", yes_or_no=False),
    _rate("weak_episode_success_rate", "episodes that reach all milestones"),
    _rate("state_success_rate", "episodes whose last recorded state is a success"),
    _ratio("element_accuracy", "element_hits", "element_total", "marks that are right"),
    _ratio("click_hit_rate_all", "click_hits", "clicks", "the same, of all true clicks", headline=False),
    _ratio("step_content_accuracy", "content_matches", "num_steps", "steps right in content, too", headline=False),
    _count("missing_predictions", "steps without a prediction", bad=True),
    _count("extra_predictions", "predictions after the last step", bad=True),
    _count("unparsed", "answers that could not be parsed", bad=True),
    _count("off_screen", "clicks outside the screen", bad=True),
    _count("type_matches", "steps of the right type"),
    _count("correct_steps", "steps right in type and place"),
    _count("content_matches", "steps right in content, too"),
    _count("clicks", "true clicks"),
    _count("click_hits", "clicks within the radius"),
    _count("click_total", "clicks that could be compared"),
    _count("bbox_hits", "clicks within the box"),
    _count("bbox_total", "clicks with a box"),
    _count("element_hits", "marks that are right"),
    _count("element_total", "steps with a mark"),
    Measure(name="coord_error_sum", unit="distance", pooling="sum", what="sum of the distances"),
)

DOCUMENTED = (
    "num_episodes",
    "num_steps",
    "action_type_accuracy",
    "mean_coord_error",
    "coord_error_count",
    "episode_success_rate",
    "click_hit_rate",
    "bbox_hit_rate",
    "mean_episode_progress",
    "mean_episode_step_score",
    "weak_episode_success_rate",
    "state_success_rate",
    "element_accuracy",
)
"""The thirteen metrics of the evaluation JSON, in its order."""

STRICT = (
    "click_hit_rate_all",
    "step_content_accuracy",
    "missing_predictions",
    "extra_predictions",
    "unparsed",
    "off_screen",
)
"""Further metrics, which the original does not have."""

_COUNTED = (
    "type_matches",
    "correct_steps",
    "click_hits",
    "click_total",
    "bbox_hits",
    "bbox_total",
    "element_hits",
    "element_total",
    "missing_predictions",
    "extra_predictions",
    "unparsed",
    "off_screen",
)


def values_of(episode: Episode) -> Numbers:
    """The value of each measure for one episode; None if it does not apply."""
    old, steps = episode.profile == "openadapt-v1", episode.steps
    values: Numbers = {"num_episodes": 1, "num_steps": steps, "coord_error_count": len(episode.coord_errors)}
    values |= {name: getattr(episode, name) for name in _COUNTED}
    # fsum, because plain sums differ in the last digit between Python 3.11 and 3.12.
    values["coord_error_sum"] = fsum(episode.coord_errors)
    values["content_matches"] = None if old else episode.content_matches
    # In som mode a click names a mark and has no coordinates, so there is nothing that could hit.
    values["clicks"] = episode.clicks if not old and episode.dsl_mode == "coord" else None
    for each in MEASURES:
        if each.over is not None:
            above, below = (values[name] for name in each.over)
            values[each.name] = above / below if above is not None and below else None
    values["mean_episode_progress"] = episode.type_matches / steps if steps else None
    values["mean_episode_step_score"] = episode.correct_steps / steps if steps else None
    values["episode_success_rate"] = int(episode.success) if steps else None
    # Without milestones the original counts 0; in `strict` the measure does not apply.
    reached = bool(episode.milestones) and all((episode.milestones or {}).values())
    values["weak_episode_success_rate"] = int(reached) if steps and (old or episode.milestones) else None
    tracked = episode.state_success is not None and steps
    values["state_success_rate"] = int(episode.state_success is True) if tracked else None
    return values
