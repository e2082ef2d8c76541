"""The pass^k curve: how often all k trials of a task succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pantrace.model import Record
from pantrace.stats import Estimate

from .style import INK, figure, looks, number, shared_scale, shorten

WIDTH, HEIGHT = 420, 280


class Curve(Record, frozen=True, kw_only=True):
    """One evaluation: its pass^1, pass^2, ... in order."""

    label: str
    estimates: tuple[Estimate, ...]


def pass_curve(
    curves: Sequence[Curve], *, metric: str, title: str | None = None, subtitle: Sequence[str] = ()
) -> dict[str, Any]:
    """A line per evaluation over k, with intervals: the reliability that one trial per task cannot show."""
    labels = [curve.label for curve in curves]
    drawn = looks(labels)
    longest = max(len(curve.estimates) for curve in curves)
    # Points with the same k are drawn next to each other, so that their intervals do not overlap.
    step = min(0.09, 0.5 / max(1, len(curves)))
    rows = [
        _row(curve.label, k, estimate, (place - (len(curves) - 1) / 2) * step)
        | {"colour": look.colour, "dash": look.dash}
        for place, (curve, look) in enumerate(zip(curves, drawn, strict=True))
        for k, estimate in enumerate(curve.estimates, 1)
    ]
    x = {"type": "quantitative", "scale": {"domain": [0.7, longest + 0.3], "nice": False, "zero": False}}
    x_axis = {
        "title": "k (trials that must all succeed)",
        "values": list(range(1, longest + 1)),
        "format": "d",
        "grid": False,
    }
    y = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    y_axis = {"title": "pass^k, mean over tasks", "format": ".1f", "tickCount": 6, "domain": False, "ticks": False}
    legend: dict[str, Any] | None = None
    if len(curves) > 1:
        legend = {
            "title": None,
            "orient": "right",
            "labelFontSize": 11.5,
            "labelLimit": 260,
            "symbolSize": 80,
            "symbolOpacity": 1,
            "columns": 1 if len(curves) <= 14 else 2,
        }
    # Lines take their look from the rows: Vega merges scales by label, and one without a legend would remove the
    # legend of the points, too.
    tone = {"color": {"field": "colour", "type": "nominal", "scale": None}}
    dash = {"strokeDash": {"field": "dash", "type": "nominal", "scale": None}, "detail": {"field": "label"}}
    # The same legend for all three, so that Vega merges them: a full point has a white edge, a hollow one a coloured.
    inside = ["white" if look.hollow else look.colour for look in drawn]
    edges = [look.colour if look.hollow else "white" for look in drawn]
    point = {
        "fill": {**shared_scale(labels, inside), "legend": legend},
        "stroke": {**shared_scale(labels, edges), "legend": legend},
        "shape": {**shared_scale(labels, [look.shape for look in drawn]), "legend": legend},
    }
    hint = [
        {"field": "label", "type": "nominal", "title": "evaluation"},
        {"field": "k", "type": "quantitative"},
        {"field": "shown", "type": "nominal", "title": "pass^k"},
        {"field": "n", "type": "quantitative", "title": "tasks"},
    ]
    place = {"field": "x", **x, "axis": x_axis}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": place, "y": {"field": "value", **y, "axis": y_axis}, **tone, **dash},
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.3, "opacity": 0.75},
            "encoding": {"x": place, "y": {"field": "low", **y}, "y2": {"field": "high"}, **tone},
        },
        {
            "mark": {"type": "point", "size": 80, "opacity": 1, "strokeWidth": 1.2},
            "encoding": {"x": place, "y": {"field": "value", **y}, **point, "tooltip": hint},
        },
    ]
    if len(curves) == 1:
        mark = {
            "type": "text",
            "align": "left",
            "baseline": "bottom",
            "dx": 7,
            "dy": -4,
            "color": INK,
            "fontSize": 11.5,
        }
        layers.append(
            {
                "mark": mark,
                "encoding": {
                    "x": place,
                    "y": {"field": "value", **y},
                    "text": {"field": "shown", "type": "nominal"},
                },
            }
        )
    heading = title or (
        f"Reliability of {shorten(labels[0], 50)}" if len(curves) == 1 else "Reliability over repeated trials"
    )
    body = {"width": WIDTH, "height": HEIGHT, "data": {"values": rows}, "layer": layers}
    return figure(heading, [f"All of k trials of a task succeed, by {metric}.", *subtitle], body)


def _row(label: str, k: int, estimate: Estimate, beside: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "label": label,
        "k": k,
        "x": k + beside,
        "value": estimate.value,
        "shown": number(estimate.value),
        "n": estimate.n,
    }
    if estimate.low is None or estimate.high is None:
        return row
    # Cut off at the ends of the axis, because a share cannot lie outside of them.
    return row | {"low": max(0.0, estimate.low), "high": min(1.0, estimate.high)}
