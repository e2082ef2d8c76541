"""Alignments against brute force."""

from __future__ import annotations

from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from pantrace.matching.align import (
    Pairs,
    common_subsequence,
    heaviest_assignment,
    largest_matching,
    subsequence,
)

WIDTH = 5
masks = st.lists(st.integers(0, 2**WIDTH - 1), max_size=5)
tables = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(st.integers(0, 6), min_size=columns, max_size=columns), min_size=1, max_size=4)
)


def choices(matches: list[int]) -> list[list[int]]:
    return [[place for place in range(WIDTH) if match >> place & 1] for match in matches]


def longest(matches: list[int]) -> int:
    """Length of the longest common subsequence, by the textbook's table."""
    row = [0] * (WIDTH + 1)
    for match in matches:
        above, row = row, [0]
        for place in range(WIDTH):
            found = above[place] + 1 if match >> place & 1 else 0
            row.append(max(found, above[place + 1], row[place]))
    return row[-1]


def is_matching(pairs: Pairs, matches: list[int]) -> bool:
    lefts, rights = [left for left, _ in pairs], [right for _, right in pairs]
    related = all(matches[left] >> right & 1 for left, right in pairs)
    return related and len(set(lefts)) == len(lefts) and len(set(rights)) == len(rights)


@given(masks)
def test_the_common_subsequence_is_one_and_the_longest(matches: list[int]) -> None:
    pairs = common_subsequence(matches)
    assert is_matching(pairs, matches)
    assert pairs == sorted(pairs)
    assert [right for _, right in pairs] == sorted(right for _, right in pairs)
    assert len(pairs) == longest(matches)


@given(masks, st.integers(0, WIDTH))
def test_a_subsequence_is_found_exactly_when_some_choice_of_places_has_it(matches: list[int], length: int) -> None:
    exists = any(
        all(matches[place] >> wanted & 1 for wanted, place in enumerate(places))
        for places in combinations(range(len(matches)), length)
    )
    assert subsequence(matches, length) == exists


@given(masks)
def test_the_largest_matching_is_one_and_the_largest(matches: list[int]) -> None:
    pairs = largest_matching(choices(matches))
    assert is_matching(pairs, matches)
    best = max(
        sum(matches[left] >> right & 1 for left, right in zip(range(len(matches)), order, strict=False))
        for order in permutations(range(WIDTH))
    )
    assert len(pairs) == best


@given(tables)
def test_the_heaviest_assignment_is_complete_and_the_heaviest(weights: list[list[int]]) -> None:
    rows, columns = len(weights), len(weights[0])
    pairs = heaviest_assignment(weights)
    assert len(pairs) == min(rows, columns)
    assert len({left for left, _ in pairs}) == len({right for _, right in pairs}) == len(pairs)
    if rows <= columns:
        every = (tuple(enumerate(order)) for order in permutations(range(columns), rows))
    else:
        every = (
            tuple((left, right) for right, left in enumerate(order)) for order in permutations(range(rows), columns)
        )
    assert sum(weights[left][right] for left, right in pairs) == max(
        sum(weights[left][right] for left, right in one) for one in every
    )


def test_nothing_to_align() -> None:
    assert common_subsequence([]) == []
    assert largest_matching([]) == []
    assert heaviest_assignment([]) == []
    assert heaviest_assignment([[], []]) == []
