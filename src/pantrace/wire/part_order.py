"""Whether parts are still in their old order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from .align import Place


class Order:
    """The new places of the surviving parts, in their old order."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, Place]] = []
        self._last: Place = (-1, -1)
        self._is_risen = True

    def add(self, path: str, place: Place) -> None:
        """Add a part: its old path, and the place where it was found."""
        self._seen.append((path, place))
        if place < self._last:
            self._is_risen = False
        self._last = place

    def moved(self) -> Iterator[str]:
        """Paths of the parts that moved: the fewest without which all others are in order."""
        # Nearly always: then nothing has to be sorted.
        if self._is_risen:
            return
        kept = _longest_rise([place for _, place in self._seen])
        yield from (path for index, (path, _) in enumerate(self._seen) if index not in kept)


def _longest_rise(places: list[Place]) -> set[int]:
    """Indices of a longest non-falling subsequence."""
    # Patience sorting: `ends` has the lowest place at which a rise of each length ends, `last` whose place it is.
    ends: list[Place] = []
    last: list[int] = []
    before: list[int | None] = []
    for index, place in enumerate(places):
        length = bisect_right(ends, place)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [index]
    found: set[int] = set()
    each: int | None = last[-1]
    while each is not None:
        found.add(each)
        each = before[each]
    return found
