"""Compare evaluations that store only overall numbers (OpenAdapt's eval JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.stats import Estimate, difference_of_intervals, difference_of_proportions, holm
from pantrace.wire.closest_name import closest_name

from .compare import Margin, with_verdict
from .compare_result import Comparison
from .metric_values import Evaluation, MetricValues, read_evaluations
from .read import Notes

Named = tuple[str, Path]
"""A run's name, and its file."""


def compare_stored(
    pairs: Sequence[tuple[Named, Named]], *, metrics: Sequence[str] = (), margin: Margin = lambda *_: None
) -> list[Comparison]:
    """Each metric of a pair of files: shares over episodes as independent proportions, all others without an interval.
    A number that only the first file has is compared with nothing, so that a gate does not pass without it."""
    found: list[Comparison] = []
    for (first, one_path), (second, two_path) in pairs:
        one, two = _evaluation(one_path), _evaluation(two_path)
        for name in metrics:
            _refuse_gap(name, first, one)
            _refuse_gap(name, second, two)
        found += [
            replace(_comparison(mine, two.metrics.get(name), second), runs=(first, second))
            for name, mine in one.metrics.items()
            if name in metrics or (not metrics and _tells(mine, two.metrics.get(name)))
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


def _refuse_gap(name: str, run: str, found: Evaluation) -> None:
    """Refuse a metric that was asked for by name and has no number here, rather than compare the others only."""
    if not _has_news(found.metrics.get(name)):
        if name in found.metrics:
            raise UsageError(f"{run} has no number for {name!r}: its file says null")
        known = sorted(each for each, values in found.metrics.items() if _has_news(values))
        close = closest_name(name, known)
        hint = f"did you mean {close}?" if close is not None else f"it has: {', '.join(known) or 'none'}"
        raise UsageError(f"{run} has no numbers for {name!r}; {hint}")


def _has_news(found: MetricValues | None) -> bool:
    return found is not None and (found.estimate is not None or found.withdrawn)


def _tells(one: MetricValues, two: MetricValues | None) -> bool:
    """Whether there is something to say about a metric: a number that is compared or missed, or a withdrawn one beside
    a number."""
    return one.estimate is not None or (one.withdrawn and two is not None and two.estimate is not None)


def _comparison(one: MetricValues, two: MetricValues | None, second: str) -> Comparison:
    difference: Estimate | None = None
    notes = ["each file has only one number, so nothing can be paired"]
    if two is None or (two.estimate is None and not two.withdrawn):
        notes = [f"{second} has no number for it"]
    elif one.estimate is not None and two.estimate is not None:
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
    gone = [side for side, each in (("first", one), ("second", two)) if each is not None and each.withdrawn]
    if gone:
        notes = [f"the {gone[0]} run has withdrawn this metric (-1), so there is nothing to compare"]
    # Without a direction, a gate does not wait for this metric: against a withdrawn number nothing can be proven. One
    # that only the second run lacks may hide that it got worse.
    better = one.scale.better if one.scale is not None and one.estimate is not None else None
    return Comparison(
        metric=one.metric,
        first=one.estimate,
        second=two.estimate if two is not None else None,
        difference=difference,
        verdict="inconclusive",
        kind="bounded",
        unit="share" if one.independent and two is not None and two.independent else None,
        common=0,
        only_first=0,
        only_second=0,
        better=better,
        notes=tuple(notes),
    )
