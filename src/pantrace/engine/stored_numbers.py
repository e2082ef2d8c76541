"""What a file states for a whole run: which of its numbers can be used in calculations, and under which names."""

from __future__ import annotations

from math import isfinite
from typing import Any, TypeGuard

from pantrace.model import Aggregate, Run, Scale


def stored_results(run: Run) -> dict[str, Aggregate]:
    """What a file states for the whole run, by name; of two with the same name, the first counts."""
    found = {_key(each): each for each in reversed(run.results) if each.metric not in _SPREADS}
    return dict(reversed(found.items()))


def _key(each: Aggregate) -> str:
    """A metric's name, with how and over what it was aggregated unless it is the mean of everything."""
    name = each.name if each.metric in (None, "mean", "accuracy", each.name) else f"{each.name}.{each.metric}"
    of = [value for value in each.labels.values() if value != each.name]
    return f"{name}[{', '.join(of)}]" if of else name


_SPREADS = {"stderr", "bootstrap_stderr", "std", "var", "ci", "ci_wilson"}
"""Aggregates that only say how certain another one is."""


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value can be used in calculations: not text, not NaN."""
    return in_range(value) and isfinite(value)


_ROUNDING = 1e-9
"""A mean of ones may be computed as 1.0000000000000002."""


def is_outside(value: float, scale: Scale | None) -> bool:
    """Whether a number cannot be on a scale: no interval could be computed for it, and any mean with it would lie."""
    if scale is None:
        return False
    below = scale.low is not None and value < scale.low - _ROUNDING
    return below or (scale.high is not None and value > scale.high + _ROUNDING)


def in_range(value: Any) -> TypeGuard[float]:
    """Whether a value is a number that fits into a float, including NaN."""
    return isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 1000)
