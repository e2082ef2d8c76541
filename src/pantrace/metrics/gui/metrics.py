"""The metrics of OpenAdapt's evaluation schema over many episodes. None: not applicable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

import msgspec

from pantrace.metrics.metric import Numbers
from pantrace.metrics.pooling import Sums
from pantrace.model import Aggregate, Measure, Score
from pantrace.stats import Estimate, TooFew, pooled_share, share_over_cases, wilson

from .measures import DOCUMENTED, MEASURES, STRICT
from .outcome import KindCounts

_HOW = {"sum": "count", "ratio": "rate", "rate": "rate", "mean": "mean"}
_MEANS = ("mean_coord_error", "mean_episode_progress", "mean_episode_step_score")


def aggregate(scores: Iterable[Score]) -> list[Aggregate]:
    """All metrics over the scores of a run, in the profile of these scores."""
    return metrics(scores)


def metrics(scores: Iterable[Score], profile: str | None = None) -> list[Aggregate]:
    """The document's thirteen metrics in its order, further ones, and some of them by type of action. Scores without
    the counts of an episode are left out."""
    sums, kinds = Sums(), dict[str, KindCounts]()
    episodes: list[Numbers] = []
    for score in scores:
        if score.status == "scored":
            episodes.append(score.values)
        # Also of scores without a value: an episode without predictions still has steps.
        if "by_action_type" in score.details:
            profile = profile or score.details["profile"]
            for kind, counts in score.details["by_action_type"].items():
                # The details come back from a file as plain dictionaries.
                kinds.setdefault(kind, KindCounts()).add(msgspec.convert(counts, KindCounts))
        sums.add(score.values)
    old = profile == "openadapt-v1"
    known = {each.name: each for each in MEASURES}
    found = []
    for name in DOCUMENTED if old else (*DOCUMENTED, *STRICT):
        measure = known[name]
        value, n = sums.pooled(measure)
        if value is None and (measure.pooling == "sum" or (old and name == "action_type_accuracy")):
            # A sum over nothing is 0. The original also has an accuracy of 0 if there are no steps.
            value = 0
        how = "mean" if name in _MEANS else _HOW[measure.pooling]
        interval = _interval(measure, episodes)
        found.append(
            Aggregate(
                name=name,
                value=value,
                metric=how,
                n=None if how == "count" else n,
                low=interval.low if interval else None,
                high=interval.high if interval else None,
            )
        )
    return found + _by_action_type(kinds)


def _interval(measure: Measure, episodes: Sequence[Numbers]) -> Estimate | None:
    """The interval of a share, if there is one. All are Wilson intervals, which never leave 0..1: plain for shares of
    episodes; with episodes as clusters for shares of steps; over episodes for means of their shares."""
    if measure.unit != "share":
        return None
    try:
        if measure.over is not None:
            above, below = ([each.get(name) or 0 for each in episodes] for name in measure.over)
            return pooled_share(above, below)
        shares = [value for each in episodes if (value := each.get(measure.name)) is not None]
        if measure.yes_or_no:
            return wilson(sum(shares), len(shares))
        return share_over_cases(shares, int(fsum(each.get("num_steps") or 0 for each in episodes)))
    except TooFew:
        return None


def _by_action_type(kinds: dict[str, KindCounts]) -> list[Aggregate]:
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


def _rate(name: str, hits: int, total: int) -> Aggregate:
    return Aggregate(name=name, value=hits / total if total else None, metric="rate", n=total)


def _mean(name: str, values: Sequence[float]) -> Aggregate:
    return Aggregate(name=name, value=fsum(values) / len(values) if values else None, metric="mean", n=len(values))
