"""Counts held against their total."""

from __future__ import annotations

import pytest

from pantrace.model import Usage
from pantrace.wire.usage_check import settled


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(input=10, output=5, reasoning=3),
        Usage(input=10, output=5, total=15, reasoning=3, cache_read=4),
        Usage(input=10, output=5, total=99, reasoning=3, cache_read=4),
        Usage(input=10, output=5, total=12, reasoning=3, cache_read=4),
        Usage(input=10, output=5, total=18),
    ],
)
def test_what_adds_up_or_cannot_be_explained_stays(usage: Usage) -> None:
    assert settled(usage) == usage


@pytest.mark.parametrize(
    ("total", "expected", "derived"),
    [(18, (10, 8), ("output",)), (21, (16, 5), ("input",)), (24, (16, 8), ("output", "input"))],
)
def test_what_only_the_total_has_is_added(total: int, expected: tuple[int, int], derived: tuple[str, ...]) -> None:
    found = settled(Usage(input=10, output=5, total=total, reasoning=3, cache_read=4, cache_write=2))
    assert (found.input, found.output) == expected
    assert found.derived == derived
    assert sum(expected) == found.total == total
