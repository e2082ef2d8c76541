"""The metrics of the OpenAdapt evaluation schema over many episodes. None: not applicable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

import msgspec

from pantrace.model import Aggregate, Score

from .outcome import Episode, KindCounts


def aggregate(scores: Iterable[Score]) -> list[Aggregate]:
    """All metrics over the scores of a run; scores without an episode's counts are left out."""
    episodes = [msgspec.convert(score.details, Episode) for score in scores if "by_action_type" in score.details]
    return metrics(episodes, profile=episodes[0].profile if episodes else "strict")


def metrics(episodes: Sequence[Episode], *, profile: str) -> list[Aggregate]:
    """The document's thirteen metrics in its order, further ones, and some of them by type of action."""
    walked = [each for each in episodes if each.steps]
    steps = sum(each.steps for each in episodes)
    matches = sum(each.type_matches for each in episodes)
    errors = [error for each in episodes for error in each.coord_errors]
    old = profile == "openadapt-v1"
    # The original has no success without milestones; here a task without any has no weak success to speak of.
    staked = walked if old else [each for each in walked if each.milestones]
    tracked = [each for each in walked if each.state_success is not None]
    found = [
        Aggregate(name="num_episodes", value=len(episodes), metric="count"),
        Aggregate(name="num_steps", value=steps, metric="count"),
        _rate("action_type_accuracy", matches, steps, empty=0.0 if old else None),
        _mean("mean_coord_error", errors),
        Aggregate(name="coord_error_count", value=len(errors), metric="count"),
        _rate("episode_success_rate", sum(each.success for each in walked), len(walked)),
        _rate("click_hit_rate", *_sums(episodes, "click_hits", "click_total")),
        _rate("bbox_hit_rate", *_sums(episodes, "bbox_hits", "bbox_total")),
        _mean("mean_episode_progress", [each.type_matches / each.steps for each in walked]),
        _mean("mean_episode_step_score", [each.correct_steps / each.steps for each in walked]),
        _rate("weak_episode_success_rate", sum(_weak(each) for each in staked), len(staked)),
        _rate("state_success_rate", sum(each.state_success is True for each in tracked), len(tracked)),
        _rate("element_accuracy", *_sums(episodes, "element_hits", "element_total")),
    ]
    if not old:
        pointed = [each for each in episodes if each.dsl_mode == "coord"]
        found += [
            _rate("click_hit_rate_all", *_sums(pointed, "click_hits", "clicks")),
            _rate("step_content_accuracy", *_sums(episodes, "content_matches", "steps")),
        ]
        for name in ("missing_predictions", "extra_predictions", "unparsed", "off_screen"):
            total = sum(getattr(each, name) for each in episodes)
            found.append(Aggregate(name=name, value=total, metric="count"))
    return found + _by_action_type(episodes)


def _by_action_type(episodes: Sequence[Episode]) -> list[Aggregate]:
    kinds: dict[str, KindCounts] = {}
    for each in episodes:
        for kind, counts in each.by_action_type.items():
            kinds.setdefault(kind, KindCounts()).add(counts)
    found = []
    for kind, counts in sorted(kinds.items()):
        numbers = [
            Aggregate(name="num_steps", value=counts.steps, metric="count"),
            _rate("action_type_accuracy", counts.type_matches, counts.steps),
            _rate("step_score", counts.correct_steps, counts.steps),
            _mean("mean_coord_error", counts.coord_errors),
            _rate("click_hit_rate", counts.click_hits, counts.click_total),
        ]
        found += [msgspec.structs.replace(number, labels={"action_type": kind}) for number in numbers]
    return found


def _weak(each: Episode) -> bool:
    return bool(each.milestones) and all((each.milestones or {}).values())


def _sums(episodes: Sequence[Episode], hits: str, total: str) -> tuple[int, int]:
    return sum(getattr(each, hits) for each in episodes), sum(getattr(each, total) for each in episodes)


def _rate(name: str, hits: int, total: int, *, empty: float | None = None) -> Aggregate:
    return Aggregate(name=name, value=hits / total if total else empty, metric="rate", n=total)


def _mean(name: str, values: Sequence[float]) -> Aggregate:
    return Aggregate(name=name, value=fsum(values) / len(values) if values else None, metric="mean", n=len(values))
