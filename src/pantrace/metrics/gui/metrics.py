"""The metrics of the OpenAdapt evaluation schema over many episodes. None: not applicable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

import msgspec

from pantrace.metrics.pooling import Sums
from pantrace.model import Aggregate, Score

from .measures import DOCUMENTED, MEASURES, STRICT
from .outcome import KindCounts

_HOW = {"sum": "count", "ratio": "rate", "rate": "rate", "mean": "mean"}
_MEANS = ("mean_coord_error", "mean_episode_progress", "mean_episode_step_score")


def aggregate(scores: Iterable[Score]) -> list[Aggregate]:
    """All metrics over the scores of a run, in the profile that they were made in."""
    return metrics(scores)


def metrics(scores: Iterable[Score], profile: str | None = None) -> list[Aggregate]:
    """The document's thirteen metrics in its order, further ones, and some of them by type of action; scores without an
    episode's counts are left out."""
    sums, kinds = Sums(), dict[str, KindCounts]()
    for score in scores:
        if "by_action_type" in score.details:
            profile = profile or score.details["profile"]
            for kind, counts in score.details["by_action_type"].items():
                kinds.setdefault(kind, KindCounts()).add(msgspec.convert(counts, KindCounts))
        sums.add(score.values)
    old = profile == "openadapt-v1"
    known = {each.name: each for each in MEASURES}
    found = []
    for name in DOCUMENTED if old else (*DOCUMENTED, *STRICT):
        measure = known[name]
        value, n = sums.pooled(measure)
        if value is None and (measure.pooling == "sum" or (old and name == "action_type_accuracy")):
            # Nothing counted is a count of nothing; the original also calls no match in no step an accuracy of 0.
            value = 0
        how = "mean" if name in _MEANS else _HOW[measure.pooling]
        found.append(Aggregate(name=name, value=value, metric=how, n=None if how == "count" else n))
    return found + _by_action_type(kinds)


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
