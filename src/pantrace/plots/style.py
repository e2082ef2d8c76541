"""Style: colours that colour-blind readers can tell apart, font sizes, and how numbers are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log10
from typing import Any, NamedTuple

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe and Ito's palette, dark blue first; grey instead of their black, so that an interval stays visible on it."""
BETTER, WORSE, SAME = "#0072B2", "#D55E00", "#9A9A9A"
INK, QUIET, FAINT, LINE = "#1F1F1F", "#5A5A5A", "#DCDCDC", "#333333"
FONT = "Arial, Helvetica, Liberation Sans, sans-serif"

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3])
"""Solid, dashed, dotted, dashed and dotted."""


class Look(NamedTuple):
    """How one label is drawn, so that it can be told from all others even without colour."""

    colour: str
    fill: str
    """Of a bar: the colour itself, or a pale tone of it inside an edge of the colour."""
    edge: str
    """Of a bar: white around a full one."""
    edge_dash: list[int]
    hollow: bool
    """Of a point: white inside."""
    dash: list[int]
    """Of a line."""
    shape: str


def looks(labels: Sequence[str]) -> list[Look]:
    """A look for each label. There are eight colours that colour-blind readers can tell apart; lighter tones of them
    would look like others. So from the ninth label on the colours repeat: lines are dashed, points are hollow and have
    another shape, bars are pale with an edge."""
    return [_look(place) for place in range(len(labels))]


def _look(place: int) -> Look:
    colour, again = OKABE_ITO[place % len(OKABE_ITO)], place // len(OKABE_ITO)
    return Look(
        colour=colour,
        fill=_lighter(colour, 0.75) if again else colour,
        edge=colour if again else "white",
        edge_dash=DASHES[max(0, again - 1) % len(DASHES)],
        hollow=again % 2 == 1,
        dash=DASHES[again % len(DASHES)],
        shape=SHAPES[place % len(SHAPES)],
    )


def shared_scale(labels: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """An encoding by label: each label gets the value at its position."""
    return {"field": "label", "type": "nominal", "scale": {"domain": list(labels), "range": list(values)}}


def _lighter(colour: str, share: float) -> str:
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * share):02X}" for part in parts)


def figure(title: str, subtitle: list[str], body: dict[str, Any], *, offset: int = 14) -> dict[str, Any]:
    """A whole figure: the body with its title, on white, in our typeface."""
    heading: dict[str, Any] = {
        "text": title,
        "anchor": "start",
        "frame": "bounds",
        "fontSize": 16,
        "fontWeight": 600,
        "color": INK,
        "offset": offset,
    }
    if subtitle:
        heading |= {"subtitle": subtitle, "subtitleFontSize": 11.5, "subtitleColor": QUIET, "subtitlePadding": 5}
    return {
        "$schema": SCHEMA,
        "background": "white",
        "padding": 16,
        "title": heading,
        **body,
        "config": {
            "font": FONT,
            "view": {"stroke": None},
            "axis": {
                "labelFontSize": 11,
                "titleFontSize": 11.5,
                "titleFontWeight": "normal",
                "labelColor": INK,
                "titleColor": QUIET,
                "titlePadding": 7,
                "gridColor": "#ECECEC",
                "domainColor": "#B8B8B8",
                "tickColor": "#B8B8B8",
                "tickSize": 4,
            },
            "text": {"font": FONT, "fontSize": 11, "color": INK},
            "title": {"font": FONT, "subtitleFont": FONT},
            "concat": {"spacing": 26},
        },
    }


def words(metric: str) -> str:
    """A metric's name for a reader: "click_hit_rate" -> "Click hit rate". If a measure has the name of its metric, the
    name appears once."""
    name, _, measure = metric.partition(".")
    text = " ".join((name if name == measure else metric).replace("_", " ").split())
    return text[:1].upper() + text[1:]


def shorten(text: str, length: int) -> str:
    """The text, with its middle left out if it is longer than this."""
    # The middle, because names of runs often differ only at the end (a date, a number).
    if len(text) <= length:
        return text
    front = (length - 1) * 2 // 3
    return f"{text[:front].rstrip()}…{text[len(text) - (length - 1 - front) :].lstrip()}"


def decimals(values: Iterable[float]) -> int:
    """How many decimals a column of numbers needs: two digits of the smallest, at least two for shares."""
    sizes = [abs(value) for value in values if value]
    if not sizes or max(sizes) >= 1000:
        return 0 if sizes else 2
    if max(sizes) >= 10:
        return 1
    return 2 if min(sizes) >= 0.095 or max(sizes) >= 1 else 3


def number(value: float) -> str:
    """A number as a label: two decimals for shares, three for small numbers, none for large ones."""
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.0005 or size >= 1e6:
        return f"{value:.1e}"
    if size < 0.1:
        return f"{value:.3f}"
    if size < 10:
        return f"{value:.2f}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.{max(0, 2 - int(log10(size)))}f}"


def with_sign(value: float, places: int) -> str:
    """A difference as a label, with a real minus sign."""
    text = f"{abs(value):,.{places}f}"
    # Rounded to 0, a difference has no sign: "+0.00" would look like a change.
    return text if not float(text.replace(",", "")) else f"+{text}" if value > 0 else f"−{text}"


def lookup(texts: Sequence[str], length: int) -> str:
    """Texts, shortened, as an array in Vega's expression language."""
    quoted = (shorten(" ".join(text.split()), length).replace("\\", "\\\\").replace("'", "\\'") for text in texts)
    return "[" + ", ".join(f"'{text}'" for text in quoted) + "]"
