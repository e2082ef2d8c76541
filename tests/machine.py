"""How fast the processor is at the moment: a limit of computing time is meant for a machine that does nothing else."""

from __future__ import annotations

from time import process_time

_TURNS = 2_000_000
_QUIET = 0.045
"""Seconds of computing for so many turns when nothing else runs; a slower machine gets more time."""


def slowness() -> float:
    """How many times as long everything takes now, at least 1. Neighbours on a shared machine made it 5 once."""
    began = process_time()
    for _ in range(_TURNS):
        pass
    return max(1.0, (process_time() - began) / _QUIET)
