"""Portions: how many samples are kept together as one part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pantrace.model import Sample
from pantrace.store import SampleTexts

FIRST = 64
"""Samples of the first part at most. Each part may hold twice as many as the one before."""
MOST = 8_192
"""Samples of the largest."""
BYTES = 20_000_000
"""Of their JSON: a part ends with the sample that reaches it."""


def portions(samples: Iterable[Sample], first: int = FIRST) -> Iterator[SampleTexts]:
    """Samples in parts that depend on nothing but the samples: small at first, so that an early crash costs little,
    then larger, so that a long run is not a pile of small files. They wait as texts: thousands of samples as objects
    take several times the memory, and Python's collector looks through all of them again and again."""
    most = first
    found = SampleTexts()
    for sample in samples:
        found.add(sample)
        if len(found) >= most or found.bytes >= BYTES:
            yield found
            found, most = SampleTexts(), min(2 * most, MOST)
    if found:
        yield found
