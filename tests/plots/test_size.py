"""A picture is as large as it is wanted, and what is drawn in it stays whole."""

from __future__ import annotations

import re
import struct

import pytest

from pantrace.errors import UsageError
from pantrace.model import Scale
from pantrace.plots import Bar, Values, comparison, distribution, render
from pantrace.plots.style import BETTER, WORSE

BARS = [Bar(label=label, metric=f"metric_{n}", value=n / 7) for n in range(1, 7) for label in ("first", "second")]
FIGURES = {
    "comparison": comparison(BARS),
    "distribution": distribution("score", [Values(label="run", values=(0.1, 0.4, 0.45, 0.9))]),
}


def svg_size(svg: bytes) -> tuple[int, int]:
    match = re.search(rb'<svg[^>]* width="(\d+)" height="(\d+)"', svg)
    assert match is not None
    return int(match[1]), int(match[2])


def png_size(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize("name", FIGURES)
def test_a_picture_has_the_size_that_was_asked_for(name: str) -> None:
    own = svg_size(render(FIGURES[name], "svg"))
    assert svg_size(render(FIGURES[name], "svg", width=1100, height=640)) == (1100, 640)
    assert svg_size(render(FIGURES[name], "svg", width=1203)) == (1203, own[1])
    assert svg_size(render(FIGURES[name], "svg", height=501)) == (own[0], 501)


def test_the_pixels_of_a_png_follow_its_dpi() -> None:
    figure = FIGURES["distribution"]
    assert png_size(render(figure, "png", width=600, height=300, dpi=72)) == (600, 300)
    assert png_size(render(figure, "png", width=600, height=300, dpi=216)) == (1800, 900)
    assert png_size(render(figure, "png", width=600, height=300)) == (1200, 600)


def test_nothing_is_lost_in_a_larger_picture() -> None:
    figure = FIGURES["comparison"]
    plain, large = (re.findall(rb">([^<>]+)</text>", render(figure, "svg", width=width)) for width in (None, 1400))
    for text in (b"Metric 1", b"first", b"second", b"0.14", b"0.86"):
        assert text in plain and text in large


def test_too_small_is_refused_with_what_it_takes() -> None:
    with pytest.raises(UsageError, match=r"that width leaves no room to draw: at least \d+ points more are needed"):
        render(FIGURES["comparison"], "svg", width=200)


@pytest.mark.parametrize(("better", "ones"), [("higher", BETTER), ("lower", WORSE)])
def test_verdicts_have_the_colours_of_good_and_bad(better: str, ones: str) -> None:
    scale = Scale(low=0, high=1, better=better)  # type: ignore[arg-type]
    figure = distribution("passed", [Values(label="run", values=(1.0, 1.0, 0.0))], scale=scale, verdicts=True)
    [panel] = figure["concat"]
    tones = {row["shown"]: row["tone"] for row in panel["data"]["values"]}
    assert tones == {"67%": ones, "33%": WORSE if ones == BETTER else BETTER}
    assert ones.lower().encode() in render(figure, "svg").lower()


def test_one_evaluation_has_one_colour_in_every_figure() -> None:
    drawn = comparison(BARS)
    for panel in drawn["concat"]:
        fill = panel["layer"][0]["encoding"]["fill"]["scale"]
        assert fill["domain"] == ["first", "second"]
        assert fill["range"] == drawn["concat"][0]["layer"][0]["encoding"]["fill"]["scale"]["range"]
    several = distribution("score", [Values(label=label, values=(0.2, 0.7)) for label in ("first", "second")])
    fills = [panel["layer"][0]["mark"]["fill"] for panel in several["concat"]]
    assert fills == drawn["concat"][0]["layer"][0]["encoding"]["fill"]["scale"]["range"]
