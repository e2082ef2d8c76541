"""Pools measures over many samples: sums, ratios of sums, rates. Means over cases are computed in the engine."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from pantrace.model import Measure


class Sums:
    """Sums of named numbers over any number of samples. A number that a sample does not have is not 0."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, float, float]] = {}
        """Name -> how many samples have it, their sum, and the rounding error so far (Neumaier's compensation)."""

    def add(self, values: Mapping[str, float | None]) -> None:
        """Add one sample's numbers."""
        for name, value in values.items():
            if value is not None and isfinite(value):
                n, total, lost = self._sums.get(name, (0, 0, 0.0))
                whole = total + value
                # Integers are exact; only floats need the compensation.
                if isinstance(whole, float):
                    lost += (total - whole) + value if abs(total) >= abs(value) else (value - whole) + total
                self._sums[name] = n + 1, whole, lost

    def absorb(self, other: Sums) -> None:
        """Add sums that were computed elsewhere."""
        for name, (n, total, lost) in other._sums.items():
            count = self._sums.get(name, (0, 0, 0.0))[0]
            self.add({name: total})
            _, whole, rest = self._sums[name]
            self._sums[name] = count + n, whole, rest + lost

    def put(self, name: str, n: int, total: float) -> None:
        """Set a sum that was computed elsewhere."""
        self._sums[name] = n, total, 0.0

    def total(self, name: str) -> tuple[float | None, int]:
        """The sum, and the number of samples in it; None if there are none."""
        n, total, lost = self._sums.get(name, (0, 0, 0.0))
        return (total + lost if lost else total) if n else None, n

    def pooled(self, measure: Measure) -> tuple[float | None, int]:
        """The pooled value of a measure, and its number of samples; None if there is nothing to add or to divide by."""
        if measure.over is not None:
            (above, n), (below, _) = (self.total(name) for name in measure.over)
            return above / below if above is not None and below else None, n
        total, n = self.total(measure.name)
        return (total if measure.pooling == "sum" or total is None else total / n), n
