"""Python's garbage collector, run less often while many samples are measured."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000
"""About as many objects as 200 samples and their scores have."""


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Samples and scores have no cycles, so reference counting frees them. By default the collector looks for cycles
    after every 700 objects, which takes a fifth of the time of an evaluation."""
    before = gc.get_threshold()
    # A caller may have switched it off (0) or chosen a higher threshold.
    if 0 < before[0] < _OBJECTS:
        gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
