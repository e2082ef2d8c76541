"""A comparison of many metrics, in short: what was found stands in front, and one screen holds it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .answer import few, short_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pantrace.engine.compare_result import Comparison

MOST_ROWS = 8
MOST_EXPLAINED = 2
"""Up to so many comparisons, each is told with its method and all that is to be known of it."""
SMALL = 15


def in_front(found: Sequence[Comparison]) -> list[Comparison]:
    """What is worth a row: first the differences that were found, then those that were tried on most cases."""
    ordered = sorted(found, key=lambda each: (each.verdict in ("inconclusive", "equivalent"), -each.common))
    shown = ordered[:MOST_ROWS]
    return [each for each in found if each in shown]


def gaps_briefly(found: Sequence[Comparison]) -> list[str]:
    """Where one run has no number for a case and the other has one: by runs and counts, with the metrics."""
    from pantrace.engine.compare_notes import notes_of_gaps

    alike: dict[tuple[str, ...], list[str]] = {}
    for each in found:
        if gaps := notes_of_gaps(each.runs, (each.without_first, each.without_second), each.common):
            alike.setdefault(gaps, []).append(short_name(each.metric))
    return [f"{'; '.join(gaps)}: {_listed(names)}. Those cases are left out." for gaps, names in alike.items()]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def methods_briefly(found: Sequence[Comparison]) -> list[str]:
    """Methods, each once; then what keeps most of the comparisons from showing anything."""
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
