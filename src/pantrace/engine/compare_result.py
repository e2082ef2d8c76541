"""The result of comparing two runs by one metric."""

from __future__ import annotations

from typing import Literal

from pantrace.model import Record, Unit
from pantrace.stats import Estimate

from .compare_cases import Kind

Conclusion = Literal["better", "worse", "higher", "lower", "equivalent", "inconclusive", "no change"]
SHOWS_NOTHING = ("inconclusive", "equivalent", "no change")
"""Conclusions that prove no difference."""


class Flip(Record, frozen=True, kw_only=True):
    """A case whose score changed."""

    case: str
    before: float
    after: float


class Comparison(Record, frozen=True, kw_only=True):
    """One metric of two runs, the second against the first."""

    metric: str
    runs: tuple[str, str] = ("A", "B")
    """Their names."""
    first: Estimate | None
    second: Estimate | None
    difference: Estimate | None
    ratio: Estimate | None = None
    """Second / first of the geometric means: how many times as much a typical case has. Only for numbers above 0
    without an upper end; the verdict is about the mean."""
    p_adjusted: float | None = None
    """Adjusted by Holm over all tests of the comparison; None if nothing changed, which is no test."""
    tests: int = 1
    """The number of tests."""
    primary: bool = False
    """Whether it is the primary measure, for which half of the error rate is reserved."""
    verdict: Conclusion
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None
    common: int
    only_first: int
    """Cases in which only the first run has a number. If there are any, it is not known that the second is no worse."""
    only_second: int
    without_first: int = 0
    """Cases of both runs in which only the second has a number: the first broke down there, was not scored, ..."""
    without_second: int = 0
    """The same for the second run."""
    left_out: int = 0
    detectable: float | None = None
    """The smallest true difference that this test, at this size and after Holm, shows four times out of five; None if
    no result could be significant (a note says so) or if the data has no spread to judge by."""
    needed: int | None = None
    """About how many cases would show the observed difference four times out of five."""
    kind: Kind = "any"
    better: str | None = None
    """Which end of the metric is good; None if it does not say."""
    unit: Unit | None = None
    margin: float | None = None
    no_worse: bool | None = None
    """Whether the second run is no worse than the first by more than the margin: proven, proven wrong, or (None) not
    proven. Without a margin, whether it is better or worse."""
    flips: tuple[Flip, ...] = ()
    """Cases that changed, the worst change first."""
    notes: tuple[str, ...] = ()
    sentence: str = ""
    """The answer in words."""

    @property
    def of_other_cases(self) -> bool:
        """Whether no case is in both runs: then nobody knows whether the runs differ or the cases. False for files that
        have only overall numbers."""
        return not self.common and self.only_first > 0 and self.only_second > 0
