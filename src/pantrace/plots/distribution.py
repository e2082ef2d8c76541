"""Distribution: a histogram of the samples' scores for each evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import fsum
from typing import Any

from pantrace.model import Record, Scale

from .style import BETTER, INK, LINE, QUIET, WORSE, Look, figure, looks, number, shorten, words

WIDTH, HEIGHT = 380, 92
BINS = 20
FEW = 12
"""Up to this many different values each get a bar of their own."""


class Values(Record, frozen=True, kw_only=True):
    """The scores of one evaluation."""

    label: str
    values: tuple[float, ...]
    left_out: int = 0
    """Scores that are not numbers: unscored, failed, not applicable."""


def distribution(
    metric: str,
    series: Sequence[Values],
    *,
    scale: Scale | None = None,
    verdicts: bool = False,
    title: str | None = None,
    subtitle: Sequence[str] = (),
) -> dict[str, Any]:
    """Histograms on one axis, with the mean of each; heights are shares of the samples that have a number. Verdicts (0
    and 1) are drawn in the colours of good and bad, other numbers in the colour of their evaluation."""
    good = (scale.better if scale is not None else "higher") if verdicts else None
    edges, ticks = _edges([value for each in series for value in each.values], scale)
    shares = [_shares(each.values, edges) for each in series]
    # One height for all panels, so that they can be compared by eye.
    highest = max((share for each in shares for share in each), default=1.0) or 1.0
    drawn = looks([each.label for each in series])
    panels = [
        _panel(each, share, edges, ticks, highest, look, metric, good)
        for each, share, look in zip(series, shares, drawn, strict=True)
    ]
    body = {"concat": panels, "columns": 1 if len(series) <= 3 else 2, "spacing": {"row": 24, "column": 34}}
    return figure(
        title or f"{words(metric)}: distribution over samples", ["Dashed line: mean.", *subtitle], body, offset=16
    )


Edges = list[tuple[float, float]]


def _edges(values: list[float], scale: Scale | None) -> tuple[Edges, list[float] | None]:
    """The bars as (from, to), and the ticks of the axis (None: the default)."""
    distinct = sorted(set(values))
    gap = min((b - a for a, b in pairwise(distinct)), default=1.0)
    # Grades and verdicts are not continuous: bins of a histogram would put 4 and 5 into unequal bars.
    whole = 0 < len(distinct) <= FEW and all(value == int(value) for value in distinct)
    # Values like 0, 1 and 1000 would give bars too thin to see.
    if whole and distinct[-1] - distinct[0] <= 2 * BINS * gap:
        half = gap * 0.32
        return [(value - half, value + half) for value in distinct], distinct
    low, high = min(distinct, default=0.0), max(distinct, default=1.0)
    if scale is not None and scale.low is not None and scale.high is not None:
        low, high = min(low, scale.low), max(high, scale.high)
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = (high - low) / BINS
    return [(low + step * place, low + step * (place + 1)) for place in range(BINS)], None


def _shares(values: tuple[float, ...], edges: Edges) -> list[float]:
    counts = [0] * len(edges)
    for value in values:
        # The largest value is the end of the last bin, which no `<` finds.
        place = next((at for at, (_, end) in enumerate(edges) if value < end), len(edges) - 1)
        counts[place] += 1
    return [count / len(values) if values else 0.0 for count in counts]


def _panel(
    each: Values,
    shares: list[float],
    edges: Edges,
    ticks: list[float] | None,
    highest: float,
    look: Look,
    metric: str,
    verdicts: str | None,
) -> dict[str, Any]:
    average = fsum(each.values) / len(each.values) if each.values else None
    facts = [f"n = {len(each.values)}"]
    facts += [f"mean {number(average)}"] if average is not None else []
    facts += [f"{each.left_out} n/a"] if each.left_out else []
    rows: list[dict[str, Any]] = [
        {
            "from": start,
            "to": end,
            "share": share,
            "base": 0,
            "count": round(share * len(each.values)),
            "shown": f"{share:.0%}" if share >= 0.005 else "<1%",
        }
        for (start, end), share in zip(edges, shares, strict=True)
        if share
    ]
    if verdicts is not None:
        for row in rows:
            row["tone"] = BETTER if (row["to"] > 1) == (verdicts == "higher") else WORSE
    margin = (edges[0][1] - edges[0][0]) / 3 if ticks else 0.0
    domain = [edges[0][0] - margin, edges[-1][1] + margin]
    x = {"type": "quantitative", "scale": {"domain": domain, "nice": False, "zero": False}}
    axis = {"title": words(metric), "grid": False, "format": ",~f", "labelFlush": False, "tickCount": 6}
    y = {"type": "quantitative", "scale": {"domain": [0, highest * 1.16]}}
    y_axis = {"title": "share of samples", "format": ".0%", "tickCount": 3, "domain": False, "ticks": False}
    layers: list[dict[str, Any]] = [
        {
            "mark": {
                "type": "rect",
                "fill": look.fill,
                "stroke": look.edge,
                "strokeWidth": 0.8,
                "strokeDash": look.edge_dash,
            },
            "encoding": {
                "x": {"field": "from", **x, "axis": axis | ({"values": ticks} if ticks else {})},
                "x2": {"field": "to"},
                "y": {"field": "base", **y, "axis": y_axis},
                "y2": {"field": "share"},
                **({"fill": {"field": "tone", "type": "nominal", "scale": None}} if verdicts is not None else {}),
                "tooltip": [
                    {"field": "from", "type": "quantitative"},
                    {"field": "to", "type": "quantitative"},
                    {"field": "count", "type": "quantitative", "title": "samples"},
                ],
            },
        }
    ]
    if average is not None:
        mark = {"type": "rule", "color": LINE, "strokeWidth": 1.4, "strokeDash": [5, 3]}
        layers.append(
            {"data": {"values": [{"mean": average}]}, "mark": mark, "encoding": {"x": {"field": "mean", **x}}}
        )
    else:
        gap = {"type": "text", "x": WIDTH / 2, "y": HEIGHT / 2, "fontStyle": "italic", "fontSize": 13, "color": QUIET}
        layers.append({"data": {"values": [{}]}, "mark": gap, "encoding": {"text": {"value": "n/a"}}})
    # Drawn twice: the white outline underneath keeps a number readable on the line of the mean.
    for edge in ({"stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}, {}) if ticks and each.values else ():
        layers.append(
            {
                "transform": [{"calculate": "(datum.from + datum.to) / 2", "as": "middle"}],
                "mark": {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 10.5, "color": INK, **edge},
                "encoding": {
                    "x": {"field": "middle", **x},
                    "y": {"field": "share", **y},
                    "text": {"field": "shown", "type": "nominal"},
                },
            }
        )
    return {
        "title": {
            "text": shorten(each.label, 48),
            "subtitle": " · ".join(facts),
            "anchor": "start",
            "frame": "group",
            "fontSize": 12.5,
            "fontWeight": 600,
            "subtitleFontSize": 11,
            "subtitleColor": QUIET,
            "offset": 6,
        },
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        "layer": layers,
    }
