"""Compares two GUI actions: where they aim, and whether their content is the same."""

from __future__ import annotations

from math import sqrt

from pantrace.model import Action, Box, Point, Trajectory

Place = tuple[float, float]
"""x and y as shares of the screen's width and height."""
Sides = tuple[float, float, float, float]
"""left, top, right, bottom as shares of the screen's width and height."""

TOLERANCE = 1e-9
"""A distance that exceeds the radius by less is a rounding error: 0.55 - 0.50 is more than 0.05 in binary."""


def actions_of(trajectory: Trajectory) -> list[tuple[Action, str | None]]:
    """All actions in order, each with the id of its step."""
    return [
        (part, step.id)
        for step in trajectory.steps
        if step.kind == "message"
        for part in step.parts
        if isinstance(part, Action)
    ]


def normalised_place(point: Point | None) -> Place | None:
    """A point as shares of the screen; None if its space or the screen's size is unknown."""
    if point is None:
        return None
    scale = _scale(point.space, point.viewport)
    return (point.x / scale[0], point.y / scale[1]) if scale else None


def normalised_box(box: Box | None) -> Sides | None:
    """A box as shares of the screen; None if its space or the screen's size is unknown."""
    if box is None:
        return None
    scale = _scale(box.space, box.viewport)
    if scale is None:
        return None
    return box.left / scale[0], box.top / scale[1], box.right / scale[0], box.bottom / scale[1]


def _scale(space: str, viewport: tuple[int, int] | None) -> tuple[float, float] | None:
    if space == "normalised":
        return 1, 1
    if space == "permille":
        return 1000, 1000
    return viewport if space == "pixels" and viewport and viewport[0] > 0 and viewport[1] > 0 else None


def distance(left: Place, right: Place) -> float:
    """How far apart two places are. Both axes count the same, as in OpenAdapt: no weight for the aspect ratio."""
    dx, dy = left[0] - right[0], left[1] - right[1]
    return sqrt(dx * dx + dy * dy)


def within(measured: float, radius: float) -> bool:
    """Whether a distance is at most the radius, allowing for rounding."""
    return measured <= radius + TOLERANCE


def inside(place: Place, box: Sides) -> bool:
    """Whether a place is in a box; its edges belong to it."""
    return box[0] <= place[0] <= box[2] and box[1] <= place[1] <= box[3]


def on_screen(place: Place) -> bool:
    """Whether a place is on the screen at all."""
    return 0 <= place[0] <= 1 and 0 <= place[1] <= 1


def same_content(truth: Action, other: Action, radius: float) -> bool:
    """Whether two actions of the same kind have the same text, key, address, direction and end of a drag."""
    if truth.kind == "type":
        return truth.text == other.text
    if truth.kind in ("key", "hotkey"):
        # Ctrl+Shift and Shift+Ctrl are the same.
        return truth.key == other.key and set(truth.modifiers) == set(other.modifiers)
    if truth.kind == "goto":
        return truth.url == other.url
    if truth.kind == "scroll":
        return truth.direction == other.direction
    if truth.kind == "open_app":
        return truth.app == other.app
    # Where a click or the start of a drag lands is measured separately.
    end = normalised_place(truth.end) if truth.kind == "drag" else None
    if end is None:
        return True
    reached = normalised_place(other.end)
    return reached is not None and within(distance(end, reached), radius)
