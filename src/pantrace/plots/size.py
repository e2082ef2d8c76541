"""Size: a figure made as wide and as high as somebody wants it. Letters keep their size, panels grow or shrink."""

from __future__ import annotations

import copy
import re
from typing import Any

from pantrace.errors import UsageError

LEAST = 60
"""Points that a panel has at least, either way."""
_ROUNDS = 8
SMALL = 3
_ROOT = re.compile(r'<svg[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')


def sized(figure: dict[str, Any], width: float | None, height: float | None, draw: Any) -> dict[str, Any]:
    """The figure at that size in points; None leaves what it has by itself. `draw` gives its SVG: how much room titles,
    axes and legends take is known only when it is drawn, and may change with the panels, so it is tried some times."""
    found = copy.deepcopy(figure)
    across, down = _grid(found)
    for _ in range(_ROUNDS):
        missing = _missing(found, width, height, draw)
        if all(0 <= each < SMALL for each in missing):
            break
        # The drawing program rounds up, so what is a little too large must lose a little more than that.
        missing = [each - 1 if each < 0 else each for each in missing]
        for panel in panels(found):
            _grow(panel, "width", missing[0] / across, "x")
            _grow(panel, "height", missing[1] / down, "y")
    # What rounding leaves is margin.
    right, bottom = _missing(found, width, height, draw)
    margin = found["padding"]
    found["padding"] = {"left": margin, "top": margin, "right": margin + right, "bottom": margin + bottom}
    return found


def _missing(figure: dict[str, Any], width: float | None, height: float | None, draw: Any) -> list[float]:
    now = size_of(draw(figure))
    return [0.0 if want is None else want - have for want, have in zip((width, height), now, strict=True)]


def size_of(svg: str) -> tuple[float, float]:
    """Width and height of a drawn picture."""
    match = _ROOT.search(svg)
    assert match is not None, svg[:200]
    return float(match[1]), float(match[2])


def panels(figure: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a figure that have a size of their own."""
    found: list[dict[str, Any]] = figure.get("concat") or [figure]
    return found


def _grid(figure: dict[str, Any]) -> tuple[int, int]:
    """How many panels stand side by side, and how many above each other."""
    count = len(panels(figure))
    across = min(count, int(figure.get("columns", 1)))
    return across, -(-count // across)


def _grow(panel: dict[str, Any], side: str, more: float, place: str) -> None:
    """Change one side of a panel; marks at fixed places move along."""
    if not more:
        return
    old = panel[side]
    new = old + more
    if new < LEAST:
        raise UsageError(f"that {side} leaves no room to draw: it takes {LEAST - new:.0f} points more at least")
    panel[side] = new
    for layer in panel.get("layer", ()):
        mark = layer["mark"]
        for name in (place, f"{place}2"):
            if isinstance(mark.get(name), (int, float)):
                # Beyond the panel a mark keeps its distance from the edge, inside it keeps its share.
                mark[name] = mark[name] + more if mark[name] > old else mark[name] * new / old
