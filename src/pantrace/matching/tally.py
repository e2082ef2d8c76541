"""How often each of several names occurs. `Counter` takes ten times as long for a few of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from operator import itemgetter
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def tally(names: Iterable[T]) -> dict[T, int]:
    """How often each name occurs, in order of first occurrence."""
    counts: dict[T, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def tally_by_frequency(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs, the most frequent first."""
    counts = tally(names)
    return dict(sorted(counts.items(), key=itemgetter(1), reverse=True)) if len(counts) > 1 else counts
