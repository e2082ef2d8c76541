"""Portions: how many samples form one part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pantrace.model import Sample
from pantrace.store import SampleTexts

FIRST = 64
"""At most this many samples in the first part. Each part may have twice as many as the one before."""
MOST = 8_192
"""At most this many samples in any part."""
BYTES = 20_000_000
"""Bytes of JSON: a part ends with the sample that reaches it."""


def portions(samples: Iterable[Sample], first: int = FIRST) -> Iterator[SampleTexts]:
    """Samples in parts that depend only on the samples: small at first, so that an early crash costs little, then
    larger, so that a long run does not become thousands of small files. They wait as texts: as objects, thousands of
    samples take several times the memory, and Python's garbage collector scans all of them again and again."""
    # No limit in seconds: the names of parts would then depend on the load of the machine.
    most = first
    found = SampleTexts()
    for sample in samples:
        found.add(sample)
        if len(found) >= most or found.bytes >= BYTES:
            yield found
            found, most = SampleTexts(), min(2 * most, MOST)
    if found:
        yield found
