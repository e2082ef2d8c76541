"""Numbers over all samples together that are no means of theirs: ratios of sums, sums, rates over episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from pantrace.metrics import Metric
from pantrace.metrics.pooling import Sums
from pantrace.model import Aggregate, Measure, Record, Score

IN_TABLES = ("pooled", "sum")
"""What stands in tables. GUI metrics have many aggregates of other names; JSON and eval JSON hold them."""


class Total(Record, frozen=True, kw_only=True):
    """One number of a metric over all samples together."""

    name: str
    """The metric's name, or that of one of its parts (GUI metrics)."""
    how: str
    """pooled: a ratio of sums; sum; count, rate and mean of GUI metrics; failed: it could not be computed."""
    value: float | bool | str | None
    """None: there is nothing to take a ratio of, or it failed."""
    n: int | None = None
    """What the number rests on: samples, for a ratio of sums and for a sum."""
    without: int
    """Samples that have no number for it. They are left out, not counted as zero."""
    labels: dict[str, str] = {}
    """Of which part of the metric: {"action_type": "click"}."""
    why_not: str | None = None
    """What went wrong, if it failed."""


_HOW = {"ratio": "pooled", "sum": "sum", "rate": "rate"}


def totals_of(check: Metric, scores: Sequence[Score]) -> tuple[Total, ...]:
    """What a metric makes of its scores together; nothing where none of them has a value."""
    sums = Sums()
    for score in scores:
        sums.add(score.values)
    found = [_pooled(each, sums, len(scores)) for each in check.measures if each.pooling != "mean"]
    told = [each for each in found if each.value is not None]
    return (*told, *_further(check, scores))


def _pooled(measure: Measure, sums: Sums, samples: int) -> Total:
    value, n = sums.pooled(measure)
    return Total(name=measure.address, how=_HOW[measure.pooling], value=value, n=n, without=samples - n)


def _further(check: Metric, scores: Sequence[Score]) -> tuple[Total, ...]:
    """What the metric itself makes of its scores, beyond its measures."""
    if check.aggregate is None or not any(score.status == "scored" for score in scores):
        return ()
    without = sum(score.status != "scored" for score in scores)
    measured = {each.name for each in check.measures}
    try:
        further = [_told(each, without) for each in check.aggregate(scores)]
        return tuple([each for each in further if each.name not in measured or each.labels])
    except Exception as error:  # noqa: BLE001 -- a metric, perhaps a user's own, must not end the run
        why = f"its aggregate raised {type(error).__name__}: {error}"
        return (Total(name=check.name, how="failed", value=None, without=without, why_not=why),)


def _told(found: Aggregate, without: int) -> Total:
    if not isinstance(found, Aggregate):
        raise TypeError(f"it returned {found!r:.80} among its aggregates")
    return Total(
        name=found.name,
        how=found.metric or "",
        value=found.value,
        n=found.n,
        without=without,
        labels=dict(found.labels),
    )


def total_words(found: Iterable[Total], *, briefly: bool = False) -> str:
    """0.9 pooled (without 3 samples); briefly, where these are counted in columns beside it: 0.9 pooled."""
    told = []
    for each in found:
        if each.how == "failed":
            told.append(f"failed: {each.why_not}")
        elif each.how in IN_TABLES and isinstance(each.value, (int, float)):
            samples = "sample" if each.without == 1 else "samples"
            missing = f" (without {each.without} {samples})" if each.without and not briefly else ""
            told.append(f"{number_words(each.value)} {each.how}{missing}")
    return ", ".join(told)


def number_words(value: float) -> str:
    """A whole number in full, any other with four figures."""
    return f"{value:.0f}" if isfinite(value) and value == int(value) and abs(value) < 1e15 else f"{value:.4g}"
