"""Making violations, and placing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Violation


def error(message: str, place: str | None = None) -> Violation:
    """A violation that makes a reader fail or misread."""
    return Violation(level="error", message=message, place=place)


def warning(message: str, place: str | None = None) -> Violation:
    """A violation of the format's specification only."""
    return Violation(level="warning", message=message, place=place)


def unreadable(broken: ReadError) -> Violation:
    """A read error as a violation."""
    return error(broken.message, broken.place)


def under(lead: str | None, found: Iterable[Violation], joint: str = ".") -> Iterator[Violation]:
    """Violations with an outer place in front of their own."""
    for violation in found:
        place = joint.join(each for each in (lead, violation.place) if each)
        yield msgspec.structs.replace(violation, place=place or None)
