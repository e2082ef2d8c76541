"""The figures of `bench/all.py` in the docs: a table in docs/benchmarks.md and a chart beside it.

docs/benchmarks.json keeps the rows without their single runs, so that `bench/all.py --update docs/benchmarks.json` can
measure some scripts anew after build/ is gone.

    python bench/page.py [build/bench.json]

A page is written from one JSON only, so that all of its figures come from one machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from all import number
from measuring import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "images" / "bench.svg"
KEPT = ROOT / "docs" / "benchmarks.json"
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"


def table(told: dict[str, Any]) -> str:
    """All rows that have an aim, then those without."""
    lines = ["| what | against | measured | least to most | wanted |", "|---|---|---|---|---|"]
    for row in sorted(told["rows"], key=lambda each: each["reached"] is None):
        bound = "at most" if row["better"] == "less" else "at least"
        wanted = f"{bound} {row['wanted']:g}" if row["wanted"] is not None else ""
        verdict = {True: ": reached", False: ": **missed**", None: ""}[row["reached"]]
        spread = f"{number(row['low'])} to {number(row['high'])}"
        figure = f"{number(row['value'])} {row['unit']}".replace("x the", "times the")
        lines.append(f"| {row['what']} | {row['against']} | {figure} | {spread} | {wanted}{verdict} |")
    return "\n".join(lines)


def conditions(told: dict[str, Any]) -> str:
    """On what, when and how often it was measured."""
    listed = {f"{name} {version}" for each in told["versions"].values() for name, version in each.items()}
    *others, last = told["measured"]
    when = [f"{_when(each)} ({', '.join(f'`{name}`' for name in each['scripts'])})" for each in others]
    when.append(f"{_when(last)} ({', '.join(f'`{name}`' for name in last['scripts'])})" if others else _when(last))
    return (
        f"Measured on {told['machine']['cores']} cores, {told['repeats']} runs of each script; the figure is their "
        f"median. {'; '.join(when)}. {', '.join(sorted(listed))}."
    )


def _when(each: dict[str, Any]) -> str:
    (begin, *_), (end, *_) = each["load"]
    day, _, time = each["made"].partition("T")
    return f"{day} {time[:5]} UTC, load {begin:.1f} at the beginning and {end:.1f} at the end"


def chart(told: dict[str, Any]) -> dict[str, Any]:
    """How far each row is from what is wanted, on a scale of ratios: left of the line it is reached."""
    from pantrace.plots.style import BETTER, INK, LINE, WORSE, figure

    points = []
    for row in told["rows"]:
        if row["distance"] is not None:
            ends = [row[end] / row["wanted"] for end in ("low", "high")]
            low, high = ends if row["better"] == "less" else [1 / max(each, 1e-9) for each in reversed(ends)]
            name = f"{row['what']} / {row['against']}" if row["against"] else row["what"]
            unit = "" if row["unit"] == "x the time" else f" ({row['unit'].removeprefix('x the ')})"
            points.append({"name": name + unit, "at": row["distance"], "low": low, "high": high})
    points.sort(key=lambda each: each["at"])
    y = {"field": "name", "type": "nominal", "sort": [each["name"] for each in points], "title": None}
    y["axis"] = {"labelLimit": 420, "grid": True, "ticks": False, "domain": False}
    x = {"field": "at", "type": "quantitative", "scale": {"type": "log"}, "title": "measured, against what is wanted"}
    colour = {"condition": {"test": "datum.at <= 1", "value": BETTER}, "value": WORSE}
    shape = {"condition": {"test": "datum.at <= 1", "value": "circle"}, "value": "triangle-right"}
    layers = [
        {"mark": {"type": "rule", "color": LINE, "strokeDash": [4, 3]}, "encoding": {"x": {"datum": 1}}},
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"y": y, "x": x, "color": colour, "shape": shape},
        },
    ]
    body = {"data": {"values": points}, "width": 380, "height": {"step": 19}, "layer": layers}
    subtitle = [
        "Left of the line: reached (circles). Right of it: missed (triangles).",
        f"Points are medians of {told['repeats']} runs, lines reach from the least to the most.",
    ]
    drawn = figure("Benchmarks against what is wanted", subtitle, body)
    drawn["title"]["color"] = INK
    return drawn


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", nargs="?", type=Path, default=ROOT / "build" / "bench.json")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--keep", type=Path, default=KEPT)
    given = parser.parse_args()
    if not given.source.exists():
        parser.error(f"{given.source} is not there: make bench")
    told = json.loads(given.source.read_bytes())
    if told["quick"] or told["repeats"] < 3:
        parser.error("these figures are no measurement: run bench/all.py without --quick, at least three times each")
    start, begin, rest = given.page.read_text().partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not begin or not end:
        parser.error(f"{given.page} has no place for it ({BEGIN} … {END})")
    from pantrace.plots.render import render

    given.picture.write_bytes(render(chart(told), "svg"))
    words = f"{conditions(told)}\n\n![How far each row is from what is wanted](images/{given.picture.name})"
    given.page.write_text(f"{start}{begin}\n{words}\n\n{table(told)}\n{end}{behind}")
    given.keep.write_text(json.dumps({**told, "runs": {}}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
