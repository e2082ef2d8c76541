"""Compare: is B better than A, by how much, and how certain is that?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.stats import ALPHA, Estimate

from .compare_cases import (
    Difference,
    Values,
    average,
    difference_of_pairs,
    difference_of_sides,
    kind_of,
    mean_of,
)
from .compare_family import places_of, primary_of
from .compare_notes import notes_of_gaps, notes_of_tasks
from .compare_power import Reach, whole
from .compare_result import Comparison, Conclusion, Flip
from .compare_side import Side, address_among
from .compare_verdicts import MISHAPS, PASSED, SUCCESS
from .compare_words import sentence_of

Margin = Callable[[str, Estimate | None], float | None]
"""Takes a metric and the baseline's mean, and returns the difference that does not matter; None if none is set."""


def compare_sides(
    first: Side,
    second: Side,
    *,
    metrics: Sequence[str] = (),
    margin: float | None = None,
    power: bool = True,
) -> list[Comparison]:
    """Every metric that both sides have (or those named), with p-values adjusted together. Without `power`, it is left
    out what difference could have been seen, which takes most of the time."""
    return compare_pairs([(first, second)], metrics=metrics, margin=lambda *_: margin, power=power)


def compare_pairs(
    pairs: Sequence[tuple[Side, Side]],
    *,
    metrics: Sequence[str] = (),
    margin: Margin = lambda *_: None,
    power: bool = True,
) -> list[Comparison]:
    """Every metric that both sides of a pair have (or those named), with p-values adjusted over all of them."""
    found = []
    for pair in pairs:
        chosen = [address_among(name, *pair) for name in metrics]
        if not chosen and (chosen := shared_metrics(*pair)):
            chosen += silent_metrics(*pair)
            chosen.sort(key=lambda name: _rank(name, *pair))
        primary = _primary(chosen, pair)
        for name in chosen:
            comparison, each = _compare(name, *pair)
            found.append((replace(comparison, primary=name == primary), each))
    places = places_of([comparison for comparison, _ in found])
    results = []
    for (comparison, each), place in zip(found, places, strict=True):
        twin = (f"the same differences as {place.twin}, so both are one test",) if place.twin is not None else ()
        placed = replace(comparison, tests=place.tests, notes=(*comparison.notes, *twin))
        seen = _with_power(placed, each.reach if power else None, each.estimate, place.share)
        results.append(with_verdict(seen, place.p_adjusted, margin(comparison.metric, comparison.first)))
    return results


def _rank(name: str, first: Side, second: Side) -> int:
    """Pass and fail first: success, the stored verdict, other stored yes or no; then everything else, as it stood."""
    if name in (SUCCESS, PASSED):
        return (SUCCESS, PASSED).index(name)
    # What is declared has a unit or is one of our metrics; a stored score has neither.
    stored = name not in first.units and name not in second.units
    return 2 if stored and first.binary.get(name) and second.binary.get(name) else 3


def _primary(chosen: Sequence[str], pair: tuple[Side, Side]) -> str | None:
    """The primary measure among these, or the score that the stored verdict only repeats."""
    if (found := primary_of(chosen)) is not None:
        return found
    return next((name for name in chosen if _repeats_verdict(name, pair)), None)


def compare_metric(metric: str, first: Side, second: Side, tests: int) -> Comparison:
    """One metric of two sides as one of several tests, adjusted by Bonferroni: Holm needs all p-values at once, and
    here each test depends on the results of the earlier ones."""
    comparison, found = _compare(metric, first, second)
    p = found.estimate.p if found.estimate is not None else None
    return with_verdict(
        _with_power(replace(comparison, tests=tests), found.reach, found.estimate, 1 / max(1, tests)),
        None if p is None else min(1.0, p * tests),
        None,
    )


def average_of(side: Side, metric: str) -> Estimate | None:
    """The mean of one side over all its cases; None if it has none."""
    values = side.values.get(metric, {})
    return average(values, side.binary.get(metric, False), side.scales.get(metric), side.clusters)


def shared_metrics(*sides: Side) -> list[str]:
    """Metrics for which all sides have numbers, without measures that must be named, mishaps that never happened, and a
    verdict that only repeats a score."""
    shared = [
        name
        for name in sides[0].values
        if name not in sides[0].spare and all(name in each.values for each in sides) and _is_news(name, sides)
    ]
    # `passed` often only repeats a score; testing the same numbers twice would make both harder to prove.
    others = [name for name in shared if name != PASSED]
    return others if any(_repeats_verdict(name, sides) for name in others) else shared


def _repeats_verdict(name: str, sides: Sequence[Side]) -> bool:
    return all(PASSED in side.values and side.values[PASSED] == side.values.get(name) for side in sides)


def silent_metrics(first: Side, second: Side) -> list[str]:
    """Metrics that the first side has and the second has not, although it has the same cases: an agent that breaks down
    everywhere has no score that could be worse."""
    return [
        name
        for name, cases in first.values.items()
        if name not in first.spare
        and name not in second.values
        and second.cases & cases.keys()
        and _is_news(name, (first,))
    ]


def _is_news(name: str, sides: Sequence[Side]) -> bool:
    """False if no run broke down or was stopped: every additional test makes all others harder to prove."""
    return name not in MISHAPS or any(any(values) for each in sides for values in each.values[name].values())


def _compare(metric: str, first: Side, second: Side) -> tuple[Comparison, Difference]:
    one, two = first.values.get(metric, {}), second.values.get(metric, {})
    declared = [side.binary[metric] for side in (first, second) if side.values.get(metric)]
    binary = bool(declared) and all(declared)
    # Sorted: random draws must not depend on which run was named first, nor on the order of its file.
    common = sorted(case for case in one if case in two)
    only = len(one) - len(common), len(two) - len(common)
    without = _without(one, two, first), _without(two, one, second)
    scale, clusters = first.scales.get(metric), clusters_of_both(first, second)
    if one and two and scale != second.scales.get(metric):
        found = Difference(notes=("the two sides declare different scales, so a difference means nothing",))
    elif common:
        # Only the common cases, so that the means in a row and their difference agree.
        one, two = ({case: side[case] for case in common} for side in (one, two))
        found = difference_of_pairs(one, two, binary, clusters, scale)
    else:
        found = difference_of_sides(one, two, binary, (first.clusters, second.clusters), scale)
    warned = () if found.estimate is None else _notes_of_tasks(one, two, first, second)
    gaps = notes_of_gaps((first.name, second.name), without, only, len(common))
    # Yes or no without any scale: a pass is taken to be good, as in pass rates.
    better = first.better.get(metric) or ("higher" if binary and scale is None else None)
    flips = _flips(one, two, better) if common and found.estimate is not None else ()
    means = {mean_of(values) for side in (one, two) for values in side.values()}
    constant = found.estimate is not None and (not flips if common else len(means) == 1)
    comparison = Comparison(
        metric=metric,
        runs=(first.name, second.name),
        first=average(one, binary, scale, clusters),
        second=average(two, binary, second.scales.get(metric), clusters),
        difference=found.estimate,
        ratio=found.ratio,
        verdict="no change" if constant else "inconclusive",
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        common=len(common),
        only_first=only[0],
        only_second=only[1],
        without_first=without[0],
        without_second=without[1],
        left_out=first.left_out[metric] + second.left_out[metric],
        kind=kind_of(binary, scale, [value for side in (one, two) for values in side.values() for value in values]),
        better=better,
        unit=first.units.get(metric),
        flips=flips,
        notes=(*found.notes, *warned, *gaps),
    )
    return comparison, found


def _without(one: Values, two: Values, side: Side) -> int:
    """How many cases have no number on this side but one on the other."""
    return sum(case in side.cases for case in two if case not in one)


def _notes_of_tasks(one: Values, two: Values, first: Side, second: Side) -> tuple[str, ...]:
    """A warning if cases of one task pass and fail together but are counted as independent."""
    if first.clusters or second.clusters or not (first.tasks or second.tasks):
        return ()
    if one.keys() == two.keys():
        tasks = [first.tasks.get(case) or second.tasks.get(case, case) for case in one]
        return notes_of_tasks([[mean_of(two[case]) - mean_of(one[case]) for case in one]], [tasks])
    sides = (one, first.tasks), (two, second.tasks)
    values = [[mean_of(each) for each in side.values()] for side, _ in sides]
    return notes_of_tasks(values, [[tasks.get(case, case) for case in side] for side, tasks in sides])


def clusters_of_both(first: Side, second: Side) -> dict[str, str]:
    """The cluster of each case. If only one run names it, it holds for both."""
    found = dict(first.clusters)
    for case, cluster in second.clusters.items():
        before = found.get(case, case)
        if before != cluster and case not in (before, cluster):
            raise UsageError(
                f"--cluster: case {case!r} belongs to {before!r} in {first.name} and to {cluster!r} in {second.name}; "
                "choose a name that says the same in both runs"
            )
        if before == case:
            found[case] = cluster
    return found


def _flips(one: Values, two: Values, better: str | None) -> tuple[Flip, ...]:
    flips = [Flip(case=case, before=mean_of(one[case]), after=mean_of(two[case])) for case in one]
    changed = (flip for flip in flips if flip.before != flip.after)
    worse = -1 if better == "lower" else 1
    return tuple(sorted(changed, key=lambda flip: (worse * (flip.after - flip.before), flip.case)))


def _with_power(comparison: Comparison, reach: Reach | None, estimate: Estimate | None, share: float) -> Comparison:
    """The comparison with the smallest true difference that its test finds four times out of five, with its share of
    the error rate; a note if it could not have found any."""
    tests = comparison.tests
    if reach is None or estimate is None:
        return comparison
    # Power after the correction: without it, 20 metrics promised 80 % and had 39 %.
    alpha = ALPHA * share
    least = reach.least(alpha) if reach.least_p < alpha else inf
    if least == inf:
        together = f", before it is adjusted for {tests} tests" if tests > 1 else ""
        never = f"p is never below {reach.least_p:.3g}{together}"
        why = never if reach.least_p >= alpha else "not even the largest difference is found four times of five"
        return replace(comparison, notes=(*comparison.notes, f"so few cannot show a difference: {why}"))
    size = abs(estimate.value)
    needed = whole(reach.needed(size, alpha)) if size else None
    return replace(comparison, detectable=least or None, needed=needed)


def with_verdict(found: Comparison, p: float | None, margin: float | None) -> Comparison:
    """The comparison with its adjusted p-value, its verdict and its sentence."""
    verdict: Conclusion = found.verdict
    difference = found.difference
    no_worse: bool | None = None
    if difference is not None and difference.low is not None and difference.high is not None:
        # Both must agree: the interval and the adjusted p come from different methods.
        apart = (difference.low > 0 or difference.high < 0) and p is not None and p < ALPHA
        if margin is not None and -margin <= difference.low and difference.high <= margin:
            verdict = "equivalent"
        elif apart:
            up = difference.value > 0
            if found.better is None:
                verdict = "higher" if up else "lower"
            else:
                verdict = "better" if up == (found.better == "higher") else "worse"
        # The ends of the interval as improvements, whichever direction is good.
        ends = (difference.low, difference.high)
        worst, best = ends if found.better == "higher" else (-ends[1], -ends[0])
        allowed = -(margin or 0.0)
        if verdict in ("better", "equivalent") or (
            found.better is not None and margin is not None and worst >= allowed
        ):
            # Where the second run has no number it may have failed, and other cases may be easier ones.
            no_worse = None if found.only_first else True
        elif verdict == "worse" and best < allowed:
            no_worse = None if found.of_other_cases else False
    decided = replace(found, p_adjusted=p, verdict=verdict, margin=margin, no_worse=no_worse)
    return replace(decided, sentence=sentence_of(decided))
