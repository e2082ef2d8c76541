"""Measure: what a metric declares about a number (unit, direction, pooling), and how the number is displayed."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, isfinite, log10
from typing import Literal

from .record import Record
from .score import Scale, Score

Unit = Literal["USD", "tokens", "s", "share", "count", "distance"]
"""share: 0 to 1; count: of calls, steps, turns; distance: in parts of the screen."""

Pooling = Literal["mean", "ratio", "sum", "rate"]
"""How samples are combined: the mean over cases; a ratio of two sums (every call weighs the same); a sum; the share of
episodes. Every measure has its mean over cases; the other three are reported next to it."""


class Measure(Record, frozen=True, kw_only=True):
    """One named number of a metric."""

    metric: str = ""
    name: str = ""
    """Empty: it is the metric's only number, and its address is the metric's name."""
    unit: Unit | None = None
    """None: the metric declares none."""
    better: Literal["higher", "lower"] | None = None
    """None: neither direction is better."""
    # Most measures count something and cannot be negative; those that can say so with None.
    low: float | None = 0.0
    high: float | None = None
    yes_or_no: bool = False
    """A sample's value is 0 or 1, nothing in between."""
    pooling: Pooling = "mean"
    over: tuple[str, str] | None = None
    """The two measures of the same metric whose sums form a ratio: numerator, denominator."""
    headline: bool = False
    """Shown in tables that have no room for all measures."""
    what: str = ""
    """One line: what it counts."""

    @property
    def address(self) -> str:
        """The name that gates, queries and plots use: token_usage.total_tokens."""
        return f"{self.metric}.{self.name}" if self.name else self.metric

    @property
    def scale(self) -> Scale | None:
        """Range and direction; None where neither direction is better."""
        return None if self.better is None else Scale(low=self.low, high=self.high, better=self.better)

    @property
    def skewed(self) -> bool:
        """Whether a few samples may be far above all others: money, tokens and time have no upper limit."""
        return self.unit in ("USD", "tokens", "s")


def numbers_of(score: Score) -> Iterator[tuple[str, float]]:
    """The numbers of a score with their addresses: each of its measures, or its value where it has no others.

    A score whose main value is missing may have other numbers all the same: tokens without a price."""
    for name, number in score.values.items():
        if number is not None and isfinite(number):
            yield f"{score.name}.{name}", float(number)
    value = score.value
    # A bool counts as 0 or 1 here: pass and fail are averaged like any number.
    if not score.values and score.status == "scored" and isinstance(value, (int, float)) and isfinite(value):
        yield score.name, float(value)


def in_words(number: float, unit: Unit | None) -> str:
    """A number as people read it: $0.0013, 4,826 tokens, 0.34 s, 85.7 %."""
    if not isfinite(number):
        return str(number)
    if unit == "USD":
        return f"{'-' if number < 0 else ''}${_trim(abs(number), 2 if abs(number) >= 1 else 4, keep=2)}"
    if unit == "tokens":
        return f"{_trim(number, 0 if abs(number) >= 100 else 1)} tokens"
    if unit == "s":
        return f"{_trim(number, 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2)} s"
    # Before the rounding below: a share is the only unit in which the last step to 100 % has a meaning of its own.
    if unit == "share":
        # 99.96 % is not 100 %: one failure in thousands must not be rounded away.
        places = next((places for places in (1, 2, 3, 4) if round(number * 100, places) != 100), 1)
        return f"{_trim(number * 100, 1 if number == 1 else places)} %"
    if unit == "count":
        return _trim(number, 0 if abs(number) >= 1000 else 2)
    is_whole = abs(number) < 1e15 and (number == int(number) or abs(number) >= 1000)  # 17,700 and not 1.77e+04
    return _trim(number, 0) if is_whole else f"{number:.4g}"


def apart_in_words(number: float, other: float, unit: Unit | None) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart, without their unit."""
    whole = unit == "tokens" and number == int(number) and other == int(other)
    # The tables of `compare` would otherwise show a difference between two numbers that look the same.
    for places in range(0 if whole else 4 if unit == "USD" else 2, 17):
        texts = f"{number:.{places}f}", f"{other:.{places}f}"
        if texts[0] != texts[1] or number == other:
            return texts
    return repr(number), repr(other)


def _trim(number: float, places: int, *, keep: int = 0) -> str:
    """The number with that many decimal places, or more if a small number needs them to show two digits. Trailing zeros
    are removed, except for the first `keep` places."""
    if number and abs(number) < 10 ** -max(places - 1, 0):
        places = max(places, 1 - floor(log10(abs(number))))
    text = f"{number:,.{places}f}"
    # Not `rstrip` on the whole text: it would turn 4,800 into 4,8.
    whole, point, rest = text.partition(".")
    rest = rest.rstrip("0")
    if keep and rest:
        rest = rest.ljust(keep, "0")
    return whole + (point + rest if rest else "")
