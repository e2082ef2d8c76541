"""Aggregates over many samples: a ratio of sums, or a sum. Means of rows are the engine's."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pantrace.model import Aggregate, Score


def ratio_of_sums(numerator: str, denominator: str) -> Callable[[Iterable[Score]], list[Aggregate]]:
    """The ratio of sums of two numbers that each score holds in its details: every call weighs the same, whichever
    sample it belongs to. Samples that were not scored do not count."""

    def aggregate(scores: Iterable[Score]) -> list[Aggregate]:
        above: float = 0
        below: float = 0
        count, name = 0, None
        for score in scores:
            name = score.name
            if score.status == "scored":
                above += score.details[numerator]
                below += score.details[denominator]
                count += 1
        if name is None:
            return []
        return [Aggregate(name=name, metric="pooled", value=above / below if below else None, n=count)]

    return aggregate


def sums(scores: Iterable[Score]) -> list[Aggregate]:
    """The sum of the values, and for how many samples there is none: a sum over a part is no total."""
    values, missing, name = [], 0, None
    for score in scores:
        name = score.name
        if score.status == "scored" and isinstance(score.value, (int, float)):
            values.append(score.value)
        else:
            missing += 1
    if name is None:
        return []
    labels = {"samples_without": str(missing)} if missing else {}
    return [Aggregate(name=name, metric="sum", value=sum(values) if values else None, n=len(values), labels=labels)]
