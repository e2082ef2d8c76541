"""Spans of time: their union, their difference, their length."""

from __future__ import annotations

from math import inf

Span = tuple[float, float]


def union(spans: list[Span]) -> list[Span]:
    """The same time as spans that do not overlap."""
    merged: list[Span] = []
    last = -inf
    for span in sorted(spans):
        begin, end = span
        if begin > last:
            merged.append(span)
            last = end
        elif end > last:
            merged[-1] = (merged[-1][0], end)
            last = end
    return merged


def without(spans: list[Span], holes: list[Span]) -> list[Span]:
    """Spans with other spans cut out; both without overlaps and in order."""
    if not holes:
        return spans
    left: list[Span] = []
    first = 0
    for begin, end in spans:
        while first < len(holes) and holes[first][1] <= begin:
            first += 1
        place = first
        while place < len(holes) and holes[place][0] < end:
            if holes[place][0] > begin:
                left.append((begin, holes[place][0]))
            begin = max(begin, holes[place][1])
            place += 1
        # A span of no length counts unless a hole covers it.
        if begin < end or (begin == end and place == first):
            left.append((begin, end))
    return left


def length(spans: list[Span]) -> float:
    """Seconds covered by spans that do not overlap."""
    return sum([end - begin for begin, end in spans])
