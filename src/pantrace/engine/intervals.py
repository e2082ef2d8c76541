"""Intervals of GUI metrics: episodes are what repeats, so shares of steps are clustered in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from pantrace.model import Aggregate, Score
from pantrace.stats import Estimate, TooFew, pooled_share, share_over_cases, wilson

_SHARES_OF_STEPS = {
    "action_type_accuracy": ("type_matches", "steps"),
    "click_hit_rate": ("click_hits", "click_total"),
    "bbox_hit_rate": ("bbox_hits", "bbox_total"),
    "element_accuracy": ("element_hits", "element_total"),
}
_SHARES_OF_EPISODES = ("episode_success_rate", "weak_episode_success_rate", "state_success_rate")
_MEANS_OF_EPISODES = {"mean_episode_progress": "type_matches", "mean_episode_step_score": "correct_steps"}


def with_intervals(found: Iterable[Aggregate], scores: Iterable[Score]) -> list[Aggregate]:
    """The metrics of a run with 95 % intervals where one can be given. All are shares, so all are Wilson's, which never
    leave 0..1: plain for shares of episodes, with the steps of an episode as a cluster for shares of steps, and over
    episodes for means of their shares."""
    episodes = [score.details for score in scores if score.status == "scored"]
    return [each if each.labels or each.value is None else _with_interval(each, episodes) for each in found]


def _with_interval(each: Aggregate, episodes: Sequence[dict[str, Any]]) -> Aggregate:
    try:
        estimate = _estimate(each, episodes)
    except (TooFew, KeyError, TypeError):
        return each
    if estimate is None or estimate.low is None:
        return each
    return replace(each, low=estimate.low, high=estimate.high)


def _estimate(each: Aggregate, episodes: Sequence[dict[str, Any]]) -> Estimate | None:
    if each.name in _SHARES_OF_STEPS:
        hits, total = _SHARES_OF_STEPS[each.name]
        return pooled_share([episode[hits] for episode in episodes], [episode[total] for episode in episodes])
    if each.name in _SHARES_OF_EPISODES and each.n:
        return wilson(round(float(each.value or 0) * each.n), each.n)
    if each.name in _MEANS_OF_EPISODES:
        part = _MEANS_OF_EPISODES[each.name]
        walked = [episode for episode in episodes if episode["steps"]]
        steps = sum(episode["steps"] for episode in walked)
        return share_over_cases([episode[part] / episode["steps"] for episode in walked], steps)
    return None
