"""GUI actions: what a hand on mouse and keyboard would do."""

from __future__ import annotations

from typing import Any, Literal

from .record import Extra, Number, PartRecord, Record, Seconds

Space = Literal["normalised", "pixels", "permille", "unknown"]
"""normalised: 0..1 of the viewport; permille: 0..1000 of it; pixels: of `viewport`, where known."""


class Point(Record, frozen=True, kw_only=True):
    """A place on the screen; x is always across and y down, in whichever order the source wrote them."""

    x: Number
    y: Number
    space: Space
    viewport: tuple[int, int] | None = None
    """Width and height in pixels that the point refers to."""
    axes: Literal["xy", "yx"] = "xy"
    """The order in which the source wrote the pair."""


class Box(Record, frozen=True, kw_only=True):
    """A rectangle on the screen: left, top, right, bottom."""

    left: Number
    top: Number
    right: Number
    bottom: Number
    space: Space
    viewport: tuple[int, int] | None = None


class Target(Record, frozen=True, kw_only=True):
    """What an action aims at."""

    point: Point | None = None
    box: Box | None = None
    # Set-of-Marks numbers are integers, accessibility ids are texts; as text, 7 and "7" would be the same.
    element: str | int | None = None
    """Id or mark number of the element, in the source's own type."""
    role: str | None = None
    description: str | None = None
    extra: Extra = {}


class Action(PartRecord, frozen=True, kw_only=True, tag="action"):
    """One GUI action. `kind` is lower case: click, double_click, right_click, drag, scroll, hover, type, key, hotkey,
    wait, goto, open_app, done, fail, unparsed, or the source's own word."""

    kind: str
    id: str | None = None
    target: Target | None = None
    end: Point | None = None
    """Where a drag ends."""
    text: str | None = None
    key: str | None = None
    modifiers: tuple[str, ...] = ()
    direction: str | None = None
    amount: Number | None = None
    """How far a scroll goes, in the source's unit."""
    url: str | None = None
    app: str | None = None
    seconds: Seconds | None = None
    """How long a wait lasts."""
    # Linked by id, not by position: recordings differ in whether a screenshot comes before or after the action.
    before: str | None = None
    """Id of the Media that was seen before the action."""
    after: str | None = None
    """Id of the Media that was seen after it."""
    raw: Any = None
    """The action as the source wrote it: model output, code, DSL line."""
    extra: Extra = {}
