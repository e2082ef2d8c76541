"""What pantrace says about its own work: losses and violations."""

from __future__ import annotations

from typing import Literal

from .record import Record


class Loss(Record, frozen=True, kw_only=True):
    """Something a writer could not carry."""

    input: str | None = None
    """Which of several inputs lost its header."""
    sample: str | None = None
    path: str
    """Where it stood in the model: "trajectory.steps[3].usage.input"."""
    what: str
    """absent, changed, merged, joined or moved; behind a colon, the value."""
    why: str
    values: int = 1
    """How many values it comes to: a step that is absent weighs what it held."""
    own: int = 0
    """How many of these only the format they come from has a word for (in `extra`, in unknown parts)."""
    part: str | None = None
    """Of a part of a step that is gone, its type: thinking, call, media."""


class Violation(Record, frozen=True, kw_only=True):
    """Something that is not as a format demands."""

    level: Literal["error", "warning"]
    """error: a reader would fail or lie; warning: only a document demands it."""
    message: str
    place: str | None = None
    """Line and path inside the file: "line 3, request.contents[0].role"."""
    path: str | None = None
    """The file."""
