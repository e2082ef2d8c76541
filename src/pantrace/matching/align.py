"""Aligns two lists: numbers in, places out. Only the caller knows what the items are."""

from __future__ import annotations

from collections.abc import Sequence

Pairs = list[tuple[int, int]]
"""Places in the left and in the right list, each place at most once, ordered by the left."""


def common_subsequence(matches: Sequence[int]) -> Pairs:
    """The longest common subsequence.

    `matches[i]` is an integer whose bit j says whether left i matches right j; any relation will do. It takes a few
    operations per left item, on integers with one bit per right item (Hyyrö 2004), so ten thousand against ten
    thousand is fast."""
    width = max((match.bit_length() for match in matches), default=0)
    ones = (1 << width) - 1
    rows = [ones]
    for match in matches:
        row = rows[-1]
        found = row & match
        rows.append(((row + found) | (row - found)) & ones)
    pairs: Pairs = []
    left, right = len(matches), width
    # A zero in a row means that the subsequence grows there; if the row above has a one, the two places are a pair.
    while left and right:
        bit = 1 << (right - 1)
        if rows[left] & bit:
            right -= 1
        elif not rows[left - 1] & bit:
            left -= 1
        else:
            left, right = left - 1, right - 1
            pairs.append((left, right))
    pairs.reverse()
    return pairs


def subsequence(matches: Sequence[int], length: int) -> bool:
    """Whether all `length` right items occur in the left list in their order (`matches` as above)."""
    wanted = 0
    for match in matches:
        if wanted < length and match >> wanted & 1:
            wanted += 1
    return wanted == length


def largest_matching(choices: Sequence[Sequence[int]]) -> Pairs:
    """As many pairs as possible, if left i may take any of the right places `choices[i]` (augmenting paths)."""
    place_of: dict[int, int] = {}
    owner_of: dict[int, int] = {}
    for start in range(len(choices)):
        came_from: dict[int, int] = {}
        place = _free_place(start, choices, owner_of, came_from)
        while place is not None:
            left = came_from[place]
            owner_of[place] = left
            place_of[left], place = place, place_of.get(left)
    return sorted(place_of.items())


def _free_place(
    start: int, choices: Sequence[Sequence[int]], owner_of: dict[int, int], came_from: dict[int, int]
) -> int | None:
    """A right place without an owner, reached from `start` by moving owners to other places; breadth first."""
    waiting = [start]
    for left in waiting:
        for right in choices[left]:
            if right not in came_from:
                came_from[right] = left
                if right not in owner_of:
                    return right
                waiting.append(owner_of[right])
    return None


def heaviest_assignment(weights: Sequence[Sequence[float]]) -> Pairs:
    """The assignment with the greatest total weight; the shorter side is assigned completely (Kuhn and Munkres, by
    shortest augmenting paths: rows² x columns steps). Written by hand, because scipy is not a core dependency."""
    if not weights or not weights[0]:
        return []
    if len(weights) > len(weights[0]):
        # Each row gets a column, so rows must be the shorter side.
        turned = heaviest_assignment(list(zip(*weights, strict=True)))
        return sorted((left, right) for right, left in turned)
    rows, columns = len(weights), len(weights[0])
    # Place 0 means "not assigned yet"; rows and columns count from 1.
    row_price, column_price = [0.0] * (rows + 1), [0.0] * (columns + 1)
    owner = [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0] = row
        _shortest_path(weights, row_price, column_price, owner)
    return sorted((owner[column] - 1, column - 1) for column in range(1, columns + 1) if owner[column])


def _shortest_path(
    weights: Sequence[Sequence[float]], row_price: list[float], column_price: list[float], owner: list[int]
) -> None:
    """Find a free column for the row in column 0, and shift the rows on the way to it."""
    columns = len(column_price) - 1
    distance = [float("inf")] * (columns + 1)
    before = [0] * (columns + 1)
    done = [False] * (columns + 1)
    here = 0
    while owner[here]:
        done[here] = True
        row = owner[here]
        step, nearest = float("inf"), 0
        for column in range(1, columns + 1):
            if done[column]:
                continue
            # The method minimises cost, so weights are negated.
            cost = -weights[row - 1][column - 1] - row_price[row] - column_price[column]
            if cost < distance[column]:
                distance[column], before[column] = cost, here
            if distance[column] < step:
                step, nearest = distance[column], column
        # Prices move by the length of the step, so that the assigned edges keep a cost of 0.
        for column in range(columns + 1):
            if done[column]:
                row_price[owner[column]] += step
                column_price[column] -= step
            else:
                distance[column] -= step
        here = nearest
    while here:
        owner[here] = owner[before[here]]
        here = before[here]
