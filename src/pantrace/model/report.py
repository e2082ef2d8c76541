"""What pantrace reports about a conversion or a file: losses and violations."""

from __future__ import annotations

from typing import Literal

from .record import Record


class Loss(Record, frozen=True, kw_only=True):
    """A value that a writer could not keep."""

    input: str | None = None
    """Which of several inputs lost its header."""
    sample: str | None = None
    path: str
    """Its path in the model: "trajectory.steps[3].usage.input"."""
    what: str
    """absent, changed, merged, joined or moved; after a colon, the value."""
    why: str
    values: int = 1
    """How many values were lost: a missing step counts all of its values."""
    own: int = 0
    """How many of these exist only in the source format (in `extra`, in unknown parts)."""
    part: str | None = None
    """Type of the lost part of a step: thinking, call, media."""


class Violation(Record, frozen=True, kw_only=True):
    """Something that breaks the rules of a format."""

    level: Literal["error", "warning"]
    """error: a reader would fail or misread it; warning: it breaks only a rule of the specification."""
    message: str
    place: str | None = None
    """Line and path inside the file: "line 3, request.contents[0].role"."""
    path: str | None = None
    """The file."""
