"""Compare result: what one comparison of two runs by one metric found."""

from __future__ import annotations

from typing import Literal

from pantrace.model import Record, Unit
from pantrace.stats import Estimate

from .compare_cases import Kind

Conclusion = Literal["better", "worse", "higher", "lower", "equivalent", "inconclusive"]


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
    """Second / first of the geometric means: how many times as much a typical case has. Only of numbers above 0 that
    have no upper end; the verdict is about the mean."""
    p_adjusted: float | None = None
    """By Holm over all tests of the comparison."""
    tests: int = 1
    """How many that are."""
    verdict: Conclusion
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None
    common: int
    only_first: int
    only_second: int
    without_first: int = 0
    """Cases of both runs in which only the second has a number: the first broke down there, was not scored, ..."""
    without_second: int = 0
    """Those in which only the first has one. While there are any, nobody knows that the second is no worse."""
    left_out: int = 0
    detectable: float | None = None
    """The least true difference that this test, at this size and after Holm, would have shown four times of five; None
    where no result could be significant (a note says so) or nothing tells how far values spread."""
    needed: int | None = None
    """About how many cases would show the difference that was seen, four times of five."""
    kind: Kind = "any"
    better: str | None = None
    """Which end of the metric is good; None where it does not say."""
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
