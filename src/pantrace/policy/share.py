"""The share that must pass."""

from __future__ import annotations

from pantrace.errors import UsageError


def demanded_rate(given: float | None, planned: float = 1.0) -> float:
    """The given share, otherwise the planned one. A UsageError if it is none."""
    if given is None:
        return planned
    # Not `given < 0 or given > 1`, which is false for NaN; and True is no share.
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise UsageError(f"min_pass_rate {given!r} is not a share from 0 to 1")
    return given


def must_words(rate: float) -> str:
    """at least 80 % must pass: with all digits, so that 79.99999 % does not look as if it were enough."""
    return f"at least {rate * 100:.12g} % must pass"
