"""Compare evaluations that store only overall numbers (OpenAdapt's eval JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from pantrace.stats import Estimate, difference_of_intervals, difference_of_proportions, holm

from .compare import Margin, with_verdict
from .compare_result import Comparison
from .metric_values import Evaluation, MetricValues, read_evaluations
from .read import Notes

Named = tuple[str, Path]
"""A run's name, and its file."""


def compare_stored(
    pairs: Sequence[tuple[Named, Named]], *, metrics: Sequence[str] = (), margin: Margin = lambda *_: None
) -> list[Comparison]:
    """Each metric that both files of a pair have: shares over episodes as independent proportions, all others without
    an interval."""
    found: list[Comparison] = []
    for (first, one_path), (second, two_path) in pairs:
        one, two = _evaluation(one_path), _evaluation(two_path)
        names = [name for name in one.metrics if name in two.metrics and (not metrics or name in metrics)]
        found += [
            replace(_comparison(one.metrics[name], two.metrics[name]), runs=(first, second))
            for name in names
            if _tells(one, two, name)
        ]
    tested = [each.difference.p for each in found if each.difference is not None and each.difference.p is not None]
    adjusted = iter(holm(tested))
    return [
        with_verdict(
            replace(each, tests=len(tested)),
            next(adjusted) if each.difference is not None and each.difference.p is not None else None,
            margin(each.metric, each.first),
        )
        for each in found
    ]


def _evaluation(path: Path) -> Evaluation:
    return read_evaluations([path], notes=Notes())[0]


def _tells(one: Evaluation, two: Evaluation, name: str) -> bool:
    """Whether there is something to say about a metric: two numbers, or one number and a withdrawn one."""
    sides = (one.metrics[name], two.metrics[name])
    return all(each.estimate is not None or each.withdrawn for each in sides) and not all(
        each.withdrawn for each in sides
    )


def _comparison(one: MetricValues, two: MetricValues) -> Comparison:
    difference: Estimate | None = None
    notes = ["each file has only one number, so nothing can be paired"]
    if one.estimate is not None and two.estimate is not None:
        difference = Estimate(value=two.estimate.value - one.estimate.value, n=0, method="none")
        if one.independent and two.independent:
            counts = [
                (round(each.estimate.value * round(each.independent)), round(each.independent))
                for each in (one, two)
                if each.estimate is not None and each.independent
            ]
            # Fisher's test needs whole numbers, so counts are rounded for p; the interval uses the exact ones.
            p = difference_of_proportions(counts[0], counts[1]).p
            difference = replace(difference_of_intervals(one.estimate, two.estimate), p=p)
            notes.append("shares are computed over episodes, because steps of one episode are not independent")
        else:
            notes.append("the files do not say how far the number spreads, so no interval can be given")
    gone = [side for side, each in (("first", one), ("second", two)) if each.withdrawn]
    if gone:
        notes = [f"the {gone[0]} run has withdrawn this metric (-1), so there is nothing to compare"]
    # Without a direction, a gate does not wait for this metric: a withdrawn one can never be proven.
    better = one.scale.better if one.scale is not None and not gone else None
    return Comparison(
        metric=one.metric,
        first=one.estimate,
        second=two.estimate,
        difference=difference,
        verdict="inconclusive",
        kind="bounded",
        unit="share" if one.independent and two.independent else None,
        common=0,
        only_first=0,
        only_second=0,
        better=better,
        notes=tuple(notes),
    )
