"""Comparison: several evaluations on several metrics, with a panel of bars for each metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pantrace.model import Record, Scale

from .style import FAINT, LINE, QUIET, decimals, figure, looks, lookup, shared_scale, shorten, words

WIDTH = 150
"""Width of a panel's bars, in pixels."""
ROW = 24
PER_ROW = 4
"""Panels next to each other."""
LABEL = 34
"""Longest label, in letters."""


class Bar(Record, frozen=True, kw_only=True):
    """One metric of one evaluation."""

    label: str
    metric: str
    value: float | None = None
    """None if it does not apply or is not in the file; drawn as a gap with a mark."""
    low: float | None = None
    high: float | None = None
    n: int | None = None


def comparison(
    bars: Sequence[Bar],
    *,
    title: str = "Evaluations compared",
    subtitle: Sequence[str] = (),
    scales: dict[str, Scale] | None = None,
    units: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Bars side by side: a panel per metric, a row per label, both in the order given.

    The number is at the end of the row, an interval is a line with caps, and a missing value is "n/a"."""
    labels = list(dict.fromkeys(bar.label for bar in bars))
    metrics = list(dict.fromkeys(bar.metric for bar in bars))
    scales, units = scales or {}, units or {}
    panels = [
        _panel(
            [bar for bar in bars if bar.metric == metric],
            labels,
            scales.get(metric),
            units.get(metric, ""),
            first=place % PER_ROW == 0,
        )
        for place, metric in enumerate(metrics)
    ]
    body = {"concat": panels, "columns": PER_ROW, "align": "none", "spacing": {"row": 30, "column": 22}}
    return figure(title, list(subtitle), body, offset=18)


def _panel(bars: list[Bar], labels: list[str], scale: Scale | None, unit: str, *, first: bool) -> dict[str, Any]:
    found = {bar.label: bar for bar in bars}
    places = decimals(bar.value for bar in bars if bar.value is not None)
    rows = [_row(found.get(label), label, places) | {"row": place} for place, label in enumerate(labels)]
    metric = bars[0].metric
    better = f"{scale.better} is better" if scale is not None else ""
    domain = _domain(bars, scale)
    y: dict[str, Any] = {
        "field": "row",
        "type": "ordinal",
        "scale": {"domain": list(range(len(labels)))},
        "axis": {
            "title": None,
            "labels": first,
            "ticks": False,
            "domain": True,
            "labelLimit": 260,
            "labelPadding": 8,
            "labelFontSize": 11.5,
            # Rows are numbered, and labels are looked up: two long names can be equal once they are shortened.
            "labelExpr": f"{lookup(labels, LABEL)}[datum.value]",
        },
    }
    x: dict[str, Any] = {"type": "quantitative", "scale": {"domain": domain, "nice": False, "zero": True}}
    axis = {
        "title": unit or None,
        "tickCount": 4,
        "format": ",~f",
        "grid": True,
        "domain": False,
        "ticks": False,
        "labelFlush": False,
        "labelOverlap": True,
    }
    drawn = looks(labels)
    tone = {
        "fill": {**shared_scale(labels, [look.fill for look in drawn]), "legend": None},
        "stroke": {**shared_scale(labels, [look.edge for look in drawn]), "legend": None},
        "strokeDash": {**shared_scale(labels, [look.edge_dash for look in drawn]), "legend": None},
    }
    hint = [
        {"field": "label", "type": "nominal", "title": "evaluation"},
        {"field": "shown", "type": "nominal", "title": words(metric)},
        {"field": "n", "type": "nominal", "title": "n"},
    ]
    base: dict[str, Any] = {"y": y, "tooltip": hint}
    caps: list[dict[str, Any]] = [
        {
            "transform": [{"filter": f"isValid(datum.{end})"}],
            "mark": {"type": "tick", "color": LINE, "thickness": 1.2, "height": 7},
            "encoding": {**base, "x": {"field": end, **x}},
        }
        for end in ("low", "high")
    ]
    return {
        "title": {
            "text": shorten(words(metric), 30),
            # A blank instead of nothing keeps the panels of a row aligned.
            "subtitle": better or " ",
            "anchor": "start",
            "frame": "group",
            "fontSize": 12.5,
            "fontWeight": 600,
            "subtitleFontSize": 10.5,
            "subtitleColor": QUIET,
            "offset": 8,
        },
        "width": WIDTH,
        "height": ROW * len(labels),
        "data": {"values": rows},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.value)"}],
                "mark": {"type": "bar", "height": {"band": 0.66}, "cornerRadiusEnd": 1.5},
                "encoding": {**base, "x": {"field": "value", **x, "axis": axis}, **tone},
            },
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "color": LINE, "strokeWidth": 1.2},
                "encoding": {**base, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            *caps,
            {
                "transform": [{"filter": "isValid(datum.value)"}],
                "mark": {"type": "text", "align": "left", "baseline": "middle", "x": WIDTH + 7, "fontSize": 11},
                "encoding": {**base, "text": {"field": "shown", "type": "nominal"}},
            },
            {
                "transform": [{"filter": "!isValid(datum.value)"}],
                "mark": {"type": "rule", "color": FAINT, "strokeDash": [2, 3], "strokeWidth": 1.2, "x": 0, "x2": WIDTH},
                "encoding": base,
            },
            {
                "transform": [{"filter": "!isValid(datum.value)"}],
                "mark": {
                    "type": "text",
                    "align": "left",
                    "baseline": "middle",
                    "x": WIDTH + 7,
                    "fontStyle": "italic",
                    "color": QUIET,
                },
                "encoding": {**base, "text": {"field": "shown", "type": "nominal"}},
            },
        ],
    }


def _row(bar: Bar | None, label: str, places: int) -> dict[str, Any]:
    value = bar.value if bar is not None else None
    if bar is None or value is None:
        return {"label": label, "value": None, "shown": "n/a"}
    row: dict[str, Any] = {"label": label, "value": value, "shown": f"{value:,.{places}f}", "n": bar.n}
    return row | {"low": bar.low, "high": bar.high} if bar.low is not None and bar.high is not None else row


def _domain(bars: list[Bar], scale: Scale | None) -> list[float]:
    """The declared scale, or from zero to a little beyond the largest bar."""
    seen = [each for bar in bars for each in (bar.value, bar.low, bar.high) if each is not None]
    low, high = min([0.0, *seen]), max([0.0, *seen])
    # A bar starts at 0, so a scale that starts above it (1 to 5) cannot be the axis.
    if scale is not None and scale.low is not None and scale.high is not None and scale.low <= 0:
        return [min(scale.low, low), max(scale.high, high)]
    return [low * 1.08, high * 1.08 if high > 0 else 0.0 if low < 0 else 1.0]
