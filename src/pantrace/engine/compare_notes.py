"""Compare notes: what a reader must know about a difference before believing it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import log, sqrt
from statistics import NormalDist

from pantrace.stats import (
    CONFIDENCE,
    Estimate,
    cases_for_t,
    cluster_mean,
    differences_of,
    normal_quantile,
    skewness,
    sums_of,
)

REPEATED = "epochs are averaged within each case"
SMALL = 30
"""Below so many cases an interval is taken with a word of caution."""
FEW_FOR_RARE = 100
"""Below so many cases, a value that one case of twenty has may be missing or rare enough to mislead."""
FEW_CLUSTERS = 10
"""Below so many clusters, too."""
FEW_VALUES = 8
"""Below so many values nothing can be said of how they are spread."""


def notes_of_pairs(
    before: Sequence[float],
    after: Sequence[float],
    found: Estimate,
    groups: Sequence[Hashable] | None,
    kind: str,
    *,
    repeats: bool,
) -> tuple[str, ...]:
    """Of a difference on the same cases; `groups` where cases belong together."""
    notes = [] if found.note is None else [found.note]
    if repeats:
        notes.append(REPEATED)
    if len(before) < (FEW_FOR_RARE if kind == "positive" else SMALL):
        notes.append(f"only {_counted(len(before), 'pair')}" + _rare(len(before), kind))
    if kind != "binary":
        notes += _skewed(differences_of(before, after), "differences", found) + _far_out((before, after), found)
    if groups is not None and 1 < (count := len(set(groups))) < FEW_CLUSTERS:
        notes = [note for note in notes if note != f"{count} clusters"]
        notes.append(f"only {count} clusters: t has as many degrees of freedom as their sizes allow, and p is exact")
    return tuple(notes)


def notes_of_sides(
    first: Sequence[float],
    second: Sequence[float],
    found: Estimate,
    groups: Sequence[Sequence[Hashable]],
    kind: str,
    *,
    repeats: bool,
) -> tuple[str, ...]:
    """Of a difference between independent sides."""
    notes = [] if found.note is None else [found.note]
    if repeats:
        notes.append(REPEATED)
    if kind != "binary":
        notes += _skewed(first, "values of the first run", found) + _skewed(second, "values of the second run", found)
        notes += _far_out((first, second), found)
    few = min(len(first), len(second))
    if few < (FEW_FOR_RARE if kind == "positive" else SMALL):
        notes.append(f"only {_counted(few, 'case')} in a run" + _rare(few, kind))
    sizes = [len(set(each)) for each in groups]
    if sizes and 1 < min(sizes) < FEW_CLUSTERS:
        # As bench/coverage.py measured, with 8 tasks that pass or fail as a whole.
        narrow = (
            "; the interval may contain the true value in only 91 % of comparisons, not 95 %"
            if kind == "binary"
            else ""
        )
        notes.append(
            f"only {min(sizes)} clusters in a run: p comes from permuting whole clusters, "
            f"which is valid for few{narrow}"
        )
    return tuple(notes)


ALIKE = 1.3
"""From so many times the variance of independent cases on, those of one task are said to be alike."""


def notes_of_tasks(sides: Sequence[Sequence[float]], tasks: Sequence[Sequence[Hashable]]) -> tuple[str, ...]:
    """Where cases of one task are alike and were counted each by itself: how often that cries wolf. Of one side, these
    are the differences of pairs."""
    plain = clustered = 0.0
    for values, names in zip(sides, tasks, strict=True):
        sums = sums_of(values, names)
        if len(sums) < 2:
            return ()
        by_itself = cluster_mean([(value, 1) for value in values]).error ** 2
        plain += by_itself
        clustered += cluster_mean(list(sums.values())).error ** 2 if len(sums) < len(values) else by_itself
    if plain <= 0 or clustered <= ALIKE * plain:
        return ()
    alarms = 2 * NormalDist().cdf(-normal_quantile(CONFIDENCE) * sqrt(plain / clustered))
    return (f"cases of one task are alike, so up to {alarms:.0%} false alarms: --cluster task accounts for that",)


def notes_of_gaps(names: tuple[str, str], without: tuple[int, int], common: int) -> tuple[str, ...]:
    """Which cases that both runs have are left out, because one of them has no number there."""
    told = zip(names, reversed(names), without, strict=True)
    return tuple(gap_words(name, other, count, common) for name, other, count in told if count)


def gap_words(name: str, other: str, count: int, common: int) -> str:
    """half has no number in 6 of 12 cases in which good has one."""
    return f"{name} has no number in {count:,} of {_counted(count + common, 'case')} in which {other} has one"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _rare(cases: int, kind: str) -> str:
    """Of numbers without an end: what so few cases may not have met at all."""
    if kind != "positive":
        return ""
    return f", which may have missed very large values if fewer than {1 - 0.05 ** (1 / cases):.0%} of cases have them"


def _skewed(values: Sequence[float], what: str, found: Estimate) -> list[str]:
    """A word of caution where few values lie far out on one side: then chance looks like a difference too often."""
    needed = cases_for_t(values)
    if "lognormal" in found.method or needed <= len(values) or len(values) < FEW_VALUES:
        return []
    # As bench/coverage.py measured, with lognormal values of sigma 1.5 and 20 cases.
    alarms = "12 %" if "bootstrap" in found.method else "24 %"
    return [
        f"the {what} are skewed: up to {alarms} false alarms instead of 5 %, until there are about {needed:,} cases"
    ]


def _far_out(sides: Sequence[Sequence[float]], found: Estimate) -> list[str]:
    """The same where even logarithms lean: a few values are so large that the next run may have none of them."""
    if "lognormal" not in found.method:
        return []
    logs = [[log(value) for value in side] for side in sides]
    if not any(len(side) >= FEW_VALUES and skewness(side) > 1 and cases_for_t(side) > len(side) for side in logs):
        return []
    # The same bench, with one value of twenty twenty times as large as the others, and 20 cases.
    return ["a few values are far larger than all others: up to 40 % false alarms, because a run may have none of them"]
