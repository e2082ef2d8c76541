"""What each metric of the eval JSON measures: its denominator, its unit, and which direction is better."""

from __future__ import annotations

from pantrace.formats.format import StoredMeasure
from pantrace.model import Scale

SHARE = Scale(low=0.0, high=1.0)

STORED = {
    "num_episodes": StoredMeasure(kind="count", unit="episodes"),
    "num_steps": StoredMeasure(kind="count", unit="steps"),
    "coord_error_count": StoredMeasure(kind="count", unit="clicks with coordinates"),
    "action_type_accuracy": StoredMeasure(kind="share", of="num_steps", unit="share of steps", scale=SHARE),
    "mean_coord_error": StoredMeasure(
        kind="mean", of="coord_error_count", unit="distance (share of screen)", scale=Scale(low=0.0, better="lower")
    ),
    "click_hit_rate": StoredMeasure(kind="share", of="coord_error_count", unit="share of clicks", scale=SHARE),
    "episode_success_rate": StoredMeasure(kind="share", of="num_episodes", unit="share of episodes", scale=SHARE),
    # Without `of`: the file does not have the number of clicks with a box, so no interval can be computed.
    "bbox_hit_rate": StoredMeasure(kind="share", unit="share of clicks", scale=SHARE),
    "mean_episode_progress": StoredMeasure(kind="mean", of="num_episodes", unit="share of steps", scale=SHARE),
    "mean_episode_step_score": StoredMeasure(kind="mean", of="num_episodes", unit="share of steps", scale=SHARE),
    "weak_episode_success_rate": StoredMeasure(kind="share", of="num_episodes", unit="share of episodes", scale=SHARE),
    "state_success_rate": StoredMeasure(kind="share", unit="share of episodes", scale=SHARE),
    "element_accuracy": StoredMeasure(kind="share", unit="share of steps", scale=SHARE),
}
