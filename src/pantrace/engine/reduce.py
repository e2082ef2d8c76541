"""Reduce: turns many scores into a few numbers. The mean is over cases, with repeats averaged within the case; sums and
ratios of sums are next to it. Numbers arrive one by one, or as sums from a database, and become estimates here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, inf

from msgspec.structs import replace

from pantrace.metrics.pooling import Sums
from pantrace.model import Measure, Record, Scale, Unit, in_words
from pantrace.stats import Estimate, TooFew
from pantrace.stats.moments import Moments, RatioMoments, mean_of_moments, ratio_of_moments

REASONS = 200
"""At most this many different reasons are counted: a metric with a new reason each time must not fill the memory."""


class Total(Record, frozen=True, kw_only=True):
    """One measure over all samples together, if that is not a mean over cases."""

    how: str
    """pooled: a ratio of sums; sum; rate: the share of all samples."""
    value: float
    low: float | None = None
    high: float | None = None
    method: str | None = None
    n: int
    """Samples that have a number for it."""
    without: int
    """Samples that have none. They are left out and do not count as zero."""


@dataclass
class CaseMeans:
    """Numbers of one measure, by case. Cases that cannot occur again are not kept, so that memory stays flat."""

    trials: int = 0
    lowest: float = inf
    highest: float = -inf
    yes_or_no: bool = True
    _cases: int = 0
    _mean: float = 0.0
    _squares: float = 0.0
    _repeated: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, number: float, case: str | None) -> None:
        """Add a number; `case` if there may be another number of the same case."""
        self.trials += 1
        self.lowest, self.highest = min(self.lowest, number), max(self.highest, number)
        self.yes_or_no = self.yes_or_no and number in (0.0, 1.0)
        if case is None:
            self._take(number)
        else:
            count, total = self._repeated.get(case, (0, 0.0))
            self._repeated[case] = count + 1, total + number

    def _take(self, number: float) -> None:
        # Welford's method: sums of squares would lose all digits of a small variance around a large mean.
        self._cases += 1
        off = number - self._mean
        self._mean += off / self._cases
        self._squares += off * (number - self._mean)

    def absorb(self, other: CaseMeans) -> None:
        """Add the numbers of another part (Chan's method)."""
        self.trials += other.trials
        self.lowest, self.highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        self.yes_or_no = self.yes_or_no and other.yes_or_no
        for case, (count, total) in other._repeated.items():
            before, sum_before = self._repeated.get(case, (0, 0.0))
            self._repeated[case] = before + count, sum_before + total
        if other._cases:
            cases, off = self._cases + other._cases, other._mean - self._mean
            self._squares += other._squares + off**2 * self._cases * other._cases / cases
            self._mean += off * other._cases / cases
            self._cases = cases

    def moments(self) -> Moments | None:
        """The moments; None if there is no number. Nothing can be added afterwards."""
        for count, total in self._repeated.values():
            self._take(total / count)
        self._repeated.clear()
        if not self._cases:
            return None
        return Moments(
            cases=self._cases,
            trials=self.trials,
            mean=self._mean,
            variance=self._squares / (self._cases - 1) if self._cases > 1 else None,
            lowest=self.lowest,
            highest=self.highest,
            yes_or_no=self.yes_or_no,
        )


def moments_of(values: Mapping[str, Sequence[float]]) -> Moments | None:
    """The moments of numbers by case that are in memory anyway; with exact sums, independent of the order."""
    means = [fsum(each) / len(each) for each in values.values()]
    if not means:
        return None
    average = fsum(means) / len(means)
    every = [number for each in values.values() for number in each]
    return Moments(
        cases=len(means),
        trials=len(every),
        mean=average,
        variance=fsum((mean - average) ** 2 for mean in means) / (len(means) - 1) if len(means) > 1 else None,
        lowest=min(every),
        highest=max(every),
        yes_or_no=all(number in (0.0, 1.0) for number in every),
    )


def estimate_of(found: Moments | None, *, binary: bool, scale: Scale | None = None) -> Estimate | None:
    """The mean over cases with its interval, cut off at the ends of the scale; None if there is no number.

    `binary`: 0 means no and 1 means yes. Without it they are counts, which may happen to be only 0 and 1."""
    if found is None:
        return None
    # Both: declared as yes or no, and no value in between.
    share = binary and found.yes_or_no
    bounds = Scale(low=0.0, high=1.0) if share else scale
    return within(mean_of_moments(found, share=share), bounds)


def within(estimate: Estimate, scale: Scale | None) -> Estimate:
    """The estimate with its interval cut off at the ends of the scale: a t interval does not know that a share ends at
    1. An interval without width claims a certainty that nobody has, so it is left out."""
    low, high = estimate.low, estimate.high
    if low is None or high is None:
        return estimate
    if low == high:
        return replace(estimate, low=None, high=None, note="all values are equal, so there is no interval")
    if scale is not None:
        low = low if scale.low is None else min(estimate.value, max(scale.low, low))
        high = high if scale.high is None else max(estimate.value, min(scale.high, high))
    return replace(estimate, low=low, high=high)


_HOW = {"ratio": "pooled", "sum": "sum", "rate": "rate"}


def total_of(
    measure: Measure, sums: Sums, samples: int, ratio: RatioMoments | None = None, rate: Moments | None = None
) -> Total | None:
    """The total of a measure over all samples; None for a mean, and if no sample has a number."""
    if measure.pooling == "mean":
        return None
    value, n = sums.pooled(measure)
    if value is None:
        return None
    interval: Estimate | None = None
    try:
        if measure.pooling == "ratio" and ratio is not None:
            # Cases vary, not single calls: an interval over calls would be too narrow.
            interval = ratio_of_moments(ratio, share=measure.unit == "share")
        elif measure.pooling == "rate" and rate is not None:
            interval = estimate_of(rate, binary=measure.yes_or_no, scale=measure.scale)
    except TooFew:
        pass
    return Total(
        how=_HOW[measure.pooling],
        value=value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        method=interval.method if interval and interval.low is not None else None,
        n=n,
        without=samples - n,
    )


def total_words(found: Total | None, unit: Unit | None, *, briefly: bool = False) -> str:
    """87.5 % pooled (3 samples without); briefly, if another column counts them: 87.5 % pooled."""
    if found is None or found.how == "rate":
        # Except for repeats, a rate over samples is the mean over cases, which is shown already.
        return ""
    samples = "sample" if found.without == 1 else "samples"
    missing = f" ({found.without} {samples} without)" if found.without and not briefly else ""
    return f"{in_words(found.value, unit)} {found.how}{missing}"


def main_reason(reasons: Counter[str]) -> str | None:
    """The most frequent reason; of several, the first one."""
    return reasons.most_common(1)[0][0] if reasons else None
