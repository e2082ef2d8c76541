"""The family of tests that a comparison adjusts together: which comparisons are tests, and how much each may err."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pantrace.stats import holm

from .compare_result import Comparison
from .compare_verdicts import PASSED, SUCCESS

PRIMARY_SHARE = 0.5
"""The part of the error rate that is reserved for the primary measure."""


@dataclass(frozen=True)
class Place:
    """The place of one comparison in the family."""

    tests: int
    """How many tests the family has."""
    share: float
    """The part of the error rate that this comparison gets before any other is proven."""
    p_adjusted: float | None = None
    """None if it is no test."""
    twin: str | None = None
    """The metric before it that has the same data, so that both are one test."""


def primary_of(names: Sequence[str]) -> str | None:
    """The primary measure: success, else the stored verdict, else none."""
    # A fixed rule: an endpoint chosen after looking at the data would have no error rate.
    return next((name for name in (SUCCESS, PASSED) if name in names), None)


def places_of(found: Sequence[Comparison]) -> list[Place]:
    """The place of each comparison, with p-values adjusted by Holm over all tests.

    A comparison in which nothing changed is no test, because its p is 1 by any method. Names for the same data are one
    test. Half of the error rate is for the primary measure, the rest for all others in equal parts."""
    keys = [_key(each) for each in found]
    p_values: dict[Hashable, float] = {}
    primary: set[Hashable] = set()
    for each, key in zip(found, keys, strict=True):
        if key is not None and each.difference is not None and each.difference.p is not None:
            p_values[key] = each.difference.p
            if each.primary:
                primary.add(key)
    shares = _shares(list(p_values), primary)
    adjusted = dict(zip(p_values, holm(list(p_values.values()), list(shares.values())), strict=True))
    count = len(p_values)
    named: dict[Hashable, str] = {}
    places = []
    for each, key in zip(found, keys, strict=True):
        if key is None:
            # It would be one test more if it had changed.
            places.append(Place(count, 1 / (count + 1)))
        else:
            places.append(Place(count, shares[key], adjusted[key], named.get(key)))
            named.setdefault(key, each.metric)
    return places


def _shares(tests: Sequence[Hashable], primary: set[Hashable]) -> dict[Hashable, float]:
    count, first = len(tests), len(primary)
    if first in (0, count):
        return dict.fromkeys(tests, 1 / max(1, count))
    # Several pairs of runs have a primary test each, which must not get less than an equal part.
    reserved = max(PRIMARY_SHARE, first / count)
    return {key: reserved / first if key in primary else (1 - reserved) / (count - first) for key in tests}


def _key(found: Comparison) -> Hashable | None:
    """The same for two names of the same data; None for what is no test."""
    difference = found.difference
    if difference is None or difference.p is None or found.verdict == "no change":
        return None
    if not found.common:
        return found.runs, found.metric
    # Cases that did not change differ by 0, so the others say everything. The same p: by the same method.
    changes = frozenset((flip.case, flip.after - flip.before) for flip in found.flips)
    return found.runs, found.common, changes, difference.p
