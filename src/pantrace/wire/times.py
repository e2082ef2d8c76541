"""Times: UTC epoch seconds inside pantrace, ISO 8601 and milliseconds in files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_moment = datetime.fromisoformat
_FARTHEST = 2**53
"""Whole seconds beyond which the model takes no time (`model.record.Count`)."""


def iso(seconds: float) -> str:
    """ISO 8601 with zone: 2026-11-15T18:00:00.250000+00:00."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def time_text(seconds: float | None) -> str | None:
    """ISO 8601 in UTC; None for no time, and for one that is outside the calendar."""
    if seconds is None:
        return None
    try:
        return iso(seconds)
    except (ValueError, OverflowError, OSError):
        return None


def iso_short(seconds: float) -> str:
    """ISO 8601 as most tools write it: 2026-11-15T18:00:00.250Z; microseconds only if they are needed."""
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds" if moment.microsecond % 1000 else "milliseconds") + "Z"


def from_iso(text: Any) -> float | None:
    """Epoch seconds of an ISO 8601 text, UTC if it has no zone; None if it is not a time."""
    if type(text) is not str:
        return None
    try:
        moment = _moment(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def from_milliseconds(value: Any) -> float | None:
    """Epoch seconds of epoch milliseconds; None if it is not a usable number."""
    # An integer of 1,000 bits cannot be divided as a float.
    if isinstance(value, int) and (isinstance(value, bool) or value.bit_length() > 1000):
        return None
    return value / 1000 if isinstance(value, (int, float)) else None


def from_seconds(value: Any) -> int | float | None:
    """Epoch seconds that the model can hold; None if it is not a usable number."""
    if isinstance(value, int):
        return value if not isinstance(value, bool) and abs(value) <= _FARTHEST else None
    return value if isinstance(value, float) else None


def milliseconds(seconds: float | None) -> int | None:
    """Epoch milliseconds, rounded."""
    return None if seconds is None else round(seconds * 1000)
