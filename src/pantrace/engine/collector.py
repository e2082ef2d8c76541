"""Python's collector of cycles, asked less often while many samples are measured."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000
"""About what 200 samples with their scores are made of."""


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Samples and scores hold no cycles and go when nobody names them; by default the collector looks for some after
    every 700 objects, a fifth of the time of an evaluation."""
    before = gc.get_threshold()
    if 0 < before[0] < _OBJECTS:
        gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
