"""Paired difference: what changed between two evaluations, case by case and on average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pantrace.model import Record
from pantrace.stats import PairedDifference

from .style import BETTER, INK, QUIET, SAME, WORSE, decimals, figure, lookup, shorten, with_sign, words

HEIGHT = 260
NAMED = 40
"""Up to this many cases are named on the axis."""


class CasePair(Record, frozen=True, kw_only=True):
    """One case under both conditions."""

    case: str
    before: float
    after: float
    cluster: str | None = None
    """The cluster of the case, if the comparison uses clusters."""


def paired(
    metric: str,
    pairs: Sequence[CasePair],
    found: PairedDifference,
    *,
    labels: tuple[str, str],
    better: str | None = "higher",
    title: str | None = None,
    subtitle: Sequence[str] = (),
) -> dict[str, Any]:
    """A line per case, sorted by its difference (second - first), with the mean and its interval across.

    If it is not known which end is good (`better` is None), cases are higher or lower, not better or worse."""
    rows = [_row(pair, better) for pair in pairs]
    rows.sort(key=lambda row: (row["difference"], row["case"]))
    for place, row in enumerate(rows):
        row["place"] = place
    estimate = found.estimate
    good, bad = ("better", "worse") if better else ("higher", "lower")
    up, down = (found.losses, found.wins) if better == "lower" else (found.wins, found.losses)
    # "paired t, sign-flip permutation": only the first part is about the interval, the rest about p.
    method = estimate.method.partition(",")[0]
    ends = [each for each in (estimate.low, estimate.high) if each is not None]
    places = decimals([estimate.value, *ends])
    of = f" over {estimate.note}" if method.endswith("clustered t") and estimate.note else ""
    span = f" [{', '.join(with_sign(each, places) for each in ends)}], 95 % {method} interval{of}" if ends else ""
    mean = f"Mean difference {with_sign(estimate.value, places)}{span or f' ({estimate.note})'}."
    text = [mean, f"{len(rows)} cases: {up} {good}, {down} {bad}, {found.ties} the same.", *subtitle]
    heading = title or f"{words(metric)}: {shorten(labels[1], 40)} against {shorten(labels[0], 40)}"
    return figure(heading, text, _body(rows, found, metric, labels, places, (good, bad)))


def _row(pair: CasePair, better: str | None) -> dict[str, Any]:
    difference = pair.after - pair.before
    good, bad = ("better", "worse") if better else ("higher", "lower")
    change = "same" if difference == 0 else good if (difference > 0) == (better != "lower") else bad
    return {
        "case": pair.case,
        **({"cluster": pair.cluster} if pair.cluster is not None else {}),
        "before": pair.before,
        "after": pair.after,
        "difference": difference,
        "change": change,
        "zero": 0,
    }


def _body(
    rows: list[dict[str, Any]],
    found: PairedDifference,
    metric: str,
    labels: tuple[str, str],
    places: int,
    directions: tuple[str, str],
) -> dict[str, Any]:
    count = len(rows)
    width = max(320, min(900, count * 15))
    estimate = found.estimate
    seen = [row["difference"] for row in rows] + [each for each in (estimate.low, estimate.high) if each is not None]
    low, high = min([0.0, *seen]), max([0.0, *seen])
    margin = (high - low or 1.0) * 0.06
    named = count <= NAMED
    x: dict[str, Any] = {"field": "place", "type": "ordinal", "scale": {"paddingOuter": 0.5}}
    x_axis: dict[str, Any] = {
        "title": f"{count} cases, sorted by difference",
        "labels": named,
        "ticks": False,
        "labelAngle": -60 if max((len(row["case"]) for row in rows), default=0) > 3 else 0,
        "labelLimit": 130,
        "labelFontSize": 10,
        "domain": False,
    }
    if named:
        # Looked up by place: Vega would merge two cases whose shortened names are equal.
        names = [row["case"] for row in rows]
        x_axis["labelExpr"] = f"{lookup(names, 20)}[datum.value]"
    y = {"type": "quantitative", "scale": {"domain": [low - margin, high + margin], "nice": False}}
    y_axis = {
        "title": f"{words(metric)}, difference",
        # Without this the axis would say "+0", or "+1e-17" for a tick that misses 0 by rounding.
        "labelExpr": "abs(datum.value) < 1e-9 ? '0' : format(datum.value, '+~g')",
        "tickCount": 7,
        "domain": False,
        "ticks": False,
    }
    tone = {
        "field": "change",
        "type": "nominal",
        "scale": {"domain": [*directions, "same"], "range": [BETTER, WORSE, SAME]},
        "legend": {"title": None, "orient": "top", "symbolType": "circle", "labelFontSize": 11, "offset": 4},
    }
    hint = [
        {"field": "case", "type": "nominal"},
        *([{"field": "cluster", "type": "nominal"}] if any("cluster" in row for row in rows) else []),
        {"field": "before", "type": "quantitative", "title": labels[0]},
        {"field": "after", "type": "quantitative", "title": labels[1]},
        {"field": "difference", "type": "quantitative", "format": "+.3f"},
    ]
    summary = {"mean": estimate.value, "shown": f"mean {with_sign(estimate.value, places)}"}
    band: list[dict[str, Any]] = []
    if estimate.low is not None and estimate.high is not None:
        summary |= {"low": estimate.low, "high": estimate.high}
        band.append(
            {
                "data": {"values": [summary]},
                "mark": {"type": "rect", "color": INK, "opacity": 0.09, "x": 0, "x2": width},
                "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
            }
        )
    return {
        "width": width,
        "height": HEIGHT,
        "layer": [
            *band,
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": "#B0B0B0"},
                "encoding": {"y": {"field": "zero", **y, "axis": y_axis}},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {
                    "x": {**x, "axis": x_axis},
                    "y": {"field": "zero", **y},
                    "y2": {"field": "difference"},
                    "color": tone,
                    "tooltip": hint,
                },
            },
            {
                "data": {"values": rows},
                "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
                "encoding": {"x": x, "y": {"field": "difference", **y}, "color": tone, "tooltip": hint},
            },
            {
                "data": {"values": [summary]},
                "mark": {"type": "rule", "color": INK, "strokeWidth": 1.5, "strokeDash": [6, 3]},
                "encoding": {"y": {"field": "mean", **y}},
            },
            {
                "data": {"values": [summary]},
                "mark": {"type": "text", "align": "left", "baseline": "middle", "x": width + 8, "color": QUIET},
                "encoding": {"y": {"field": "mean", **y}, "text": {"field": "shown", "type": "nominal"}},
            },
        ],
    }
