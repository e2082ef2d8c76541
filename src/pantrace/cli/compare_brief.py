"""A short comparison of many metrics: findings first, everything on one screen."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .answer import few, short_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pantrace.engine.compare_result import Comparison

MOST_ROWS = 8
MOST_EXPLAINED = 2
"""Up to this many comparisons, each is printed with its method and all notes."""
SMALL = 15


def in_front(found: Sequence[Comparison]) -> list[Comparison]:
    """What is worth a row: the primary measure, the differences that were found, then the metrics with most cases;
    last those in which nothing changed."""
    from pantrace.engine.compare_result import SHOWS_NOTHING

    def worth(each: Comparison) -> tuple[bool, bool, bool, int]:
        return not each.primary, each.verdict in SHOWS_NOTHING, each.verdict == "no change", -each.common

    # Sorted to choose, then shown in the order of the metrics, which people know.
    shown = sorted(found, key=worth)[:MOST_ROWS]
    return [each for each in found if each in shown]


def headline(found: Sequence[Comparison]) -> list[Comparison]:
    """What always gets a sentence: the primary measure of each pair of runs, or else what stands first there. What only
    one run has is no answer; it is among the gaps."""
    first: dict[tuple[str, str], Comparison] = {}
    for each in sorted(
        found, key=lambda each: (not each.primary, each.difference is None, each.verdict == "no change")
    ):
        first.setdefault(each.runs, each)
    return list(first.values())


def _rank(each: Comparison) -> tuple[bool, bool, bool]:
    return not each.primary, each.difference is None, each.verdict == "no change"


def gaps_briefly(found: Sequence[Comparison]) -> list[str]:
    """Cases that have a number in only one of two runs: by runs and counts, with the metrics."""
    from pantrace.engine.compare_words import gaps_of

    alike: dict[tuple[str, ...], list[str]] = {}
    for each in found:
        if gaps := gaps_of(each):
            alike.setdefault(gaps, []).append(short_name(each.metric))
    return [f"{'; '.join(gaps)}: {_listed(names)}. Those cases are left out." for gaps, names in alike.items()]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def methods_briefly(found: Sequence[Comparison]) -> list[str]:
    """Methods, each once; then why most comparisons cannot show anything."""
    methods = Counter(each.difference.method for each in found if each.difference is not None)
    told = [f"Methods: {'; '.join(f'{name} ({count})' for name, count in methods.most_common())}."] if methods else []
    small = [each for each in found if 0 < each.common < SMALL]
    if small:
        pairs = sorted(each.common for each in small)
        span = str(pairs[0]) if pairs[0] == pairs[-1] else f"{pairs[0]} to {pairs[-1]}"
        told.append(
            f"{few(len(small), 'metric')} of {len(found)} {'has' if len(small) == 1 else 'have'} only {span} pairs of "
            "cases, which can hardly show a difference (`pantrace power` says how many it takes)."
        )
    told.append("-v shows all metrics, each with its method and notes; --metric NAME shows one.")
    return told
