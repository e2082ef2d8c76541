"""Notes on a comparison: what a reader should know before believing a difference."""

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
"""With fewer cases, an interval comes with a warning."""
FEW_FOR_RARE = 100
"""With fewer cases, a large value that one case in twenty has may be missing, or too rare to be estimated."""
FEW_CLUSTERS = 10
"""With fewer clusters, an interval comes with a warning."""
FEW_VALUES = 8
"""With fewer values, nothing can be said about their distribution."""


def notes_of_pairs(
    before: Sequence[float],
    after: Sequence[float],
    found: Estimate,
    groups: Sequence[Hashable] | None,
    kind: str,
    *,
    repeats: bool,
) -> tuple[str, ...]:
    """Notes on a difference on the same cases; `groups` if cases belong together."""
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
    """Notes on a difference between independent sides."""
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
        # Measured by bench/coverage.py, with 8 tasks that pass or fail as a whole.
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
"""If clusters have this many times the variance of independent cases, cases of one task count as alike."""


def notes_of_tasks(sides: Sequence[Sequence[float]], tasks: Sequence[Sequence[Hashable]]) -> tuple[str, ...]:
    """If cases of one task are alike but were counted as independent: how often that gives a false alarm. A single side
    contains the differences of pairs."""
    plain = clustered = 0.0
    for values, names in zip(sides, tasks, strict=True):
        sums = sums_of(values, names)
        if len(sums) < 2:
            return ()
        by_itself = cluster_mean([(value, 1) for value in values]).error ** 2
        plain += by_itself
        clustered += cluster_mean(list(sums.values())).error ** 2 if len(sums) < len(values) else by_itself
    # Some likeness is always seen by chance; a warning on every comparison would be ignored.
    if plain <= 0 or clustered <= ALIKE * plain:
        return ()
    alarms = 2 * NormalDist().cdf(-normal_quantile(CONFIDENCE) * sqrt(plain / clustered))
    return (f"cases of one task are alike, so up to {alarms:.0%} false alarms: --cluster task accounts for that",)


def notes_of_gaps(
    names: tuple[str, str], without: tuple[int, int], only: tuple[int, int], common: int
) -> tuple[str, ...]:
    """Cases that are left out: those of both runs in which one has no number, and those that the second run lacks,
    which may be its failures. If no case is common, nothing is left out."""
    gaps = zip(names, reversed(names), without, strict=True)
    told = [gap_words(name, other, count, common) for name, other, count in gaps if count]
    lacking = only[0] - without[1]
    if common and lacking:
        told.append(f"{names[1]} lacks {lacking:,} of {_counted(only[0] + common, 'case')} of {names[0]}")
    return tuple(told)


def gap_words(name: str, other: str, count: int, common: int) -> str:
    """half has no number in 6 of 12 cases in which good has one."""
    return f"{name} has no number in {count:,} of {_counted(count + common, 'case')} in which {other} has one"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _rare(cases: int, kind: str) -> str:
    """For numbers without an upper end: what so few cases may have missed."""
    if kind != "positive":
        return ""
    return f", which may have missed very large values if fewer than {1 - 0.05 ** (1 / cases):.0%} of cases have them"


def _skewed(values: Sequence[float], what: str, found: Estimate) -> list[str]:
    """A warning if a few values are far out on one side: then chance looks like a difference too often."""
    needed = cases_for_t(values)
    if "lognormal" in found.method or needed <= len(values) or len(values) < FEW_VALUES:
        return []
    # Measured by bench/coverage.py, with lognormal values of sigma 1.5 and 20 cases.
    alarms = "12 %" if "bootstrap" in found.method else "24 %"
    return [
        f"the {what} are skewed: up to {alarms} false alarms instead of 5 %, until there are about {needed:,} cases"
    ]


def _far_out(sides: Sequence[Sequence[float]], found: Estimate) -> list[str]:
    """The same if even the logarithms are skewed: a few values are so large that the next run may have none of them."""
    if "lognormal" not in found.method:
        return []
    logs = [[log(value) for value in side] for side in sides]
    if not any(len(side) >= FEW_VALUES and skewness(side) > 1 and cases_for_t(side) > len(side) for side in logs):
        return []
    # The same benchmark, with one value in twenty that is twenty times as large as the others, and 20 cases.
    return ["a few values are far larger than all others: up to 40 % false alarms, because a run may have none of them"]
