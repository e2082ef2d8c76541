"""Compare: did B get better than A, by how much, and how sure is that?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.stats import ALPHA, Estimate, holm

from .compare_cases import (
    Difference,
    Values,
    average,
    difference_of_pairs,
    difference_of_sides,
    kind_of,
    mean_of,
)
from .compare_notes import notes_of_gaps, notes_of_tasks
from .compare_power import Reach, whole
from .compare_result import Comparison, Conclusion, Flip
from .compare_side import Side, address_among
from .compare_verdicts import MISHAPS, PASSED
from .compare_words import sentence_of

Margin = Callable[[str, Estimate | None], float | None]
"""From a metric and the baseline's mean, the difference that does not matter; None where none is set."""


def compare_sides(
    first: Side,
    second: Side,
    *,
    metrics: Sequence[str] = (),
    margin: float | None = None,
    power: bool = True,
) -> list[Comparison]:
    """Every metric that both sides have (or those named), p-values adjusted together. Without `power` it is not said
    what could have been seen, which takes most of the time."""
    return compare_pairs([(first, second)], metrics=metrics, margin=lambda *_: margin, power=power)


def compare_pairs(
    pairs: Sequence[tuple[Side, Side]],
    *,
    metrics: Sequence[str] = (),
    margin: Margin = lambda *_: None,
    power: bool = True,
) -> list[Comparison]:
    """Every metric that both sides of a pair have (or those named), p-values adjusted over all pairs and metrics."""
    found = []
    for pair in pairs:
        chosen = [address_among(name, *pair) for name in metrics]
        if not chosen and (chosen := shared_metrics(*pair)):
            chosen += silent_metrics(*pair)
        found += [_compare(name, *pair) for name in chosen]
    p_values = [each.estimate.p for _, each in found if each.estimate is not None and each.estimate.p is not None]
    adjusted = iter(holm(p_values))
    return [
        with_verdict(
            _with_power(replace(comparison, tests=len(p_values)), each.reach if power else None, each.estimate),
            next(adjusted) if each.estimate is not None and each.estimate.p is not None else None,
            margin(comparison.metric, comparison.first),
        )
        for comparison, each in found
    ]


def compare_metric(metric: str, first: Side, second: Side, tests: int) -> Comparison:
    """One metric of two sides as one of so many tests, by Bonferroni: for tests that are chosen one after another."""
    comparison, found = _compare(metric, first, second)
    p = found.estimate.p if found.estimate is not None else None
    return with_verdict(
        _with_power(replace(comparison, tests=tests), found.reach, found.estimate),
        None if p is None else min(1.0, p * tests),
        None,
    )


def average_of(side: Side, metric: str) -> Estimate | None:
    """The mean of one side over all its cases; None where it has none."""
    values = side.values.get(metric, {})
    return average(values, side.binary.get(metric, False), side.scales.get(metric), side.clusters)


def shared_metrics(*sides: Side) -> list[str]:
    """What all sides have numbers of, but for measures that must be named, for what happened nowhere, and for a verdict
    that only says again what a score says."""
    shared = [
        name
        for name in sides[0].values
        if name not in sides[0].spare and all(name in each.values for each in sides) and _is_news(name, sides)
    ]
    others = [name for name in shared if name != PASSED]
    if any(all(side.values[PASSED] == side.values[name] for side in sides) for name in others if PASSED in shared):
        return others
    return shared


def silent_metrics(first: Side, second: Side) -> list[str]:
    """What the first has numbers of and the second none, although it has the same cases: an agent that breaks down
    everywhere has no score that would be worse."""
    return [
        name
        for name, cases in first.values.items()
        if name not in first.spare
        and name not in second.values
        and second.cases & cases.keys()
        and _is_news(name, (first,))
    ]


def _is_news(name: str, sides: Sequence[Side]) -> bool:
    """Not that no run broke down or was stopped: each test more makes all others harder to prove."""
    return name not in MISHAPS or any(any(values) for each in sides for values in each.values[name].values())


def _compare(metric: str, first: Side, second: Side) -> tuple[Comparison, Difference]:
    one, two = first.values.get(metric, {}), second.values.get(metric, {})
    told = [side.binary[metric] for side in (first, second) if side.values.get(metric)]
    binary = bool(told) and all(told)
    # In order: what is drawn must not depend on which run was named first, nor on the order of its file.
    common = sorted(case for case in one if case in two)
    only = len(one) - len(common), len(two) - len(common)
    without = _without(one, two, first), _without(two, one, second)
    scale, clusters = first.scales.get(metric), clusters_of_both(first, second)
    if one and two and scale != second.scales.get(metric):
        found = Difference(notes=("the two sides declare different scales, so a difference means nothing",))
    elif common:
        # One row speaks of one set of cases: B - A is the difference.
        one, two = ({case: side[case] for case in common} for side in (one, two))
        found = difference_of_pairs(one, two, binary, clusters, scale)
    else:
        found = difference_of_sides(one, two, binary, (first.clusters, second.clusters), scale)
    warned = () if found.estimate is None else _notes_of_tasks(one, two, first, second)
    better = first.better.get(metric) or ("higher" if binary and scale is None else None)
    comparison = Comparison(
        metric=metric,
        runs=(first.name, second.name),
        first=average(one, binary, scale, clusters),
        second=average(two, binary, second.scales.get(metric), clusters),
        difference=found.estimate,
        ratio=found.ratio,
        verdict="inconclusive",
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
        flips=_flips(one, two, better) if common and found.estimate is not None else (),
        notes=(*found.notes, *warned, *notes_of_gaps((first.name, second.name), without, len(common))),
    )
    return comparison, found


def _without(one: Values, two: Values, side: Side) -> int:
    """How many cases a side has without a number, where the other has one."""
    return sum(case in side.cases for case in two if case not in one)


def _notes_of_tasks(one: Values, two: Values, first: Side, second: Side) -> tuple[str, ...]:
    """A word of caution where cases of one task pass and fail together, and are counted each by itself."""
    if first.clusters or second.clusters or not (first.tasks or second.tasks):
        return ()
    if one.keys() == two.keys():
        tasks = [first.tasks.get(case) or second.tasks.get(case, case) for case in one]
        return notes_of_tasks([[mean_of(two[case]) - mean_of(one[case]) for case in one]], [tasks])
    sides = (one, first.tasks), (two, second.tasks)
    values = [[mean_of(each) for each in side.values()] for side, _ in sides]
    return notes_of_tasks(values, [[tasks.get(case, case) for case in side] for side, tasks in sides])


def clusters_of_both(first: Side, second: Side) -> dict[str, str]:
    """What each case belongs to. A case that names nothing in one run belongs where it does in the other."""
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


def _with_power(comparison: Comparison, reach: Reach | None, estimate: Estimate | None) -> Comparison:
    """The comparison with the least true difference that its test would have found four times of five, when so many
    are tested together; a note where it could not have found any."""
    tests = comparison.tests
    if reach is None or estimate is None:
        return comparison
    alpha = ALPHA / max(1, tests)
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
    verdict: Conclusion = "inconclusive"
    difference = found.difference
    no_worse: bool | None = None
    if difference is not None and difference.low is not None and difference.high is not None:
        apart = (difference.low > 0 or difference.high < 0) and p is not None and p < ALPHA
        if margin is not None and -margin <= difference.low and difference.high <= margin:
            verdict = "equivalent"
        elif apart:
            up = difference.value > 0
            if found.better is None:
                verdict = "higher" if up else "lower"
            else:
                verdict = "better" if up == (found.better == "higher") else "worse"
        # The ends of the interval, by how much better the second run is.
        ends = (difference.low, difference.high)
        worst, best = ends if found.better == "higher" else (-ends[1], -ends[0])
        allowed = -(margin or 0.0)
        if verdict in ("better", "equivalent") or (
            found.better is not None and margin is not None and worst >= allowed
        ):
            # Where a number is missing, the second run may have done worse than anybody knows.
            no_worse = None if found.without_second else True
        elif verdict == "worse" and best < allowed:
            no_worse = False
    decided = replace(found, p_adjusted=p, verdict=verdict, margin=margin, no_worse=no_worse)
    return replace(decided, sentence=sentence_of(decided))
