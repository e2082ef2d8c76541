"""Size: makes a figure as wide and as high as requested. Letters keep their size; panels grow or shrink."""

from __future__ import annotations

import copy
import re
from typing import Any

from pantrace.errors import UsageError

LEAST = 60
"""The smallest width or height of a panel, in points."""
_ROUNDS = 8
SMALL = 3
_ROOT = re.compile(r'<svg[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')


def sized(figure: dict[str, Any], width: float | None, height: float | None, draw: Any) -> dict[str, Any]:
    """The figure at that size in points; None leaves a side as it is. `draw` returns its SVG: the room for titles, axes
    and legends is known only once it is drawn, and can change with the panels, so several rounds are needed."""
    found = copy.deepcopy(figure)
    across, down = _grid(found)
    for _ in range(_ROUNDS):
        missing = _missing(found, width, height, draw)
        if all(0 <= each < SMALL for each in missing):
            break
        # Vega rounds up, so a figure that is too large has to shrink by a little more than the difference.
        missing = [each - 1 if each < 0 else each for each in missing]
        for panel in panels(found):
            _grow(panel, "width", missing[0] / across, "x")
            _grow(panel, "height", missing[1] / down, "y")
    # The rest, which is due to rounding, becomes margin.
    right, bottom = _missing(found, width, height, draw)
    margin = found["padding"]
    found["padding"] = {"left": margin, "top": margin, "right": margin + right, "bottom": margin + bottom}
    return found


def _missing(figure: dict[str, Any], width: float | None, height: float | None, draw: Any) -> list[float]:
    now = size_of(draw(figure))
    return [0.0 if want is None else want - have for want, have in zip((width, height), now, strict=True)]


def size_of(svg: str) -> tuple[float, float]:
    """Width and height of an SVG."""
    match = _ROOT.search(svg)
    assert match is not None, svg[:200]
    return float(match[1]), float(match[2])


def panels(figure: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a figure that have their own size."""
    found: list[dict[str, Any]] = figure.get("concat") or [figure]
    return found


def _grid(figure: dict[str, Any]) -> tuple[int, int]:
    """How many columns and rows of panels there are."""
    count = len(panels(figure))
    across = min(count, int(figure.get("columns", 1)))
    return across, -(-count // across)


def _grow(panel: dict[str, Any], side: str, more: float, place: str) -> None:
    """Change one side of a panel, and move marks at fixed places with it."""
    if not more:
        return
    old = panel[side]
    new = old + more
    if new < LEAST:
        raise UsageError(f"that {side} leaves no room to draw: at least {LEAST - new:.0f} points more are needed")
    panel[side] = new
    for layer in panel.get("layer", ()):
        mark = layer["mark"]
        for name in (place, f"{place}2"):
            if isinstance(mark.get(name), (int, float)):
                # A mark outside the panel keeps its distance from the edge; one inside keeps its relative place.
                mark[name] = mark[name] + more if mark[name] > old else mark[name] * new / old
