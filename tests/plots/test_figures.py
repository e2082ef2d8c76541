"""Figures: what the dicts say. Gaps, values, labels; no figure invents a number."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from pantrace.model import Scale
from pantrace.plots import Bar, CasePair, Curve, Values, comparison, distribution, paired, pass_curve
from pantrace.plots.style import OKABE_ITO, decimals, looks, number, shorten, with_sign, words
from pantrace.stats import Estimate, paired_difference, pass_hat_k, pass_k

SHARE = Scale(low=0.0, high=1.0)


def rows(panel: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = panel["data"]["values"]
    return found


def marks(panel: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]


BARS = [
    Bar(label="base", metric="click_hit_rate"),
    Bar(label="tuned", metric="click_hit_rate", value=0.0, low=0.0, high=0.49, n=4),
    Bar(label="base", metric="mean_coord_error", value=0.19),
    Bar(label="tuned", metric="mean_coord_error", value=0.038),
]


def test_null_is_a_marked_gap_and_never_a_bar_of_zero() -> None:
    gap, zero = rows(comparison(BARS)["concat"][0])
    assert (gap["value"], gap["shown"]) == (None, "n/a")
    assert "low" not in gap
    assert (zero["value"], zero["shown"]) == (0.0, "0.00")


def test_a_label_without_the_metric_is_a_gap_too() -> None:
    panels = comparison([*BARS, Bar(label="third", metric="mean_coord_error", value=0.5)])["concat"]
    assert [row["shown"] for row in rows(panels[0])] == ["n/a", "0.00", "n/a"]


def test_bars_are_filtered_to_what_has_a_value_and_gaps_to_what_has_none() -> None:
    panel = comparison(BARS)["concat"][0]
    (bar,) = marks(panel, "bar")
    assert bar["transform"] == [{"filter": "isValid(datum.value)"}]
    gaps = [layer for layer in panel["layer"] if layer["transform"] == [{"filter": "!isValid(datum.value)"}]]
    assert {layer["mark"]["type"] for layer in gaps} == {"text", "rule"}


def test_a_panel_for_each_metric_with_its_values_in_order() -> None:
    figure = comparison(BARS, title="T", subtitle=["S"], scales={"click_hit_rate": SHARE}, units={"x": "y"})
    first, second = figure["concat"]
    assert (figure["title"]["text"], figure["title"]["subtitle"]) == ("T", ["S"])
    assert [panel["title"]["text"] for panel in (first, second)] == ["Click hit rate", "Mean coord error"]
    assert [row["value"] for row in rows(second)] == [0.19, 0.038]
    assert [row["shown"] for row in rows(second)] == ["0.190", "0.038"]
    (bar,) = marks(first, "bar")
    assert bar["encoding"]["x"]["scale"]["domain"] == [0.0, 1.0]


def test_intervals_are_drawn_where_they_exist() -> None:
    first, second = comparison(BARS)["concat"]
    assert [(row.get("low"), row.get("high")) for row in rows(first)] == [(None, None), (0.0, 0.49)]
    assert all("low" not in row for row in rows(second))


def test_lower_is_better_is_said() -> None:
    panel = comparison(BARS, scales={"mean_coord_error": Scale(better="lower")})["concat"][1]
    assert panel["title"]["subtitle"] == "lower is better"


def test_an_axis_reaches_as_far_as_what_is_drawn() -> None:
    (panel,) = comparison([Bar(label="a", metric="m", value=3.0, low=-1.0, high=7.0)])["concat"]
    low, high = marks(panel, "bar")[0]["encoding"]["x"]["scale"]["domain"]
    assert low <= -1.0
    assert high >= 7.0


def test_colours_are_those_of_okabe_and_ito_and_beyond_eight_something_else_differs() -> None:
    drawn = looks([str(number) for number in range(40)])
    assert tuple(look.colour for look in drawn[:8]) == OKABE_ITO
    assert {look.colour for look in drawn} == set(OKABE_ITO)
    lines = {(look.colour, tuple(look.dash)) for look in drawn}
    points = {(look.colour, look.hollow, look.shape) for look in drawn}
    bars = {(look.fill, look.edge, tuple(look.edge_dash)) for look in drawn}
    assert (len(lines), len(points), len(bars)) == (32, 40, 40)


def test_neighbours_differ_in_more_than_colour_on_lines() -> None:
    drawn = looks([str(number) for number in range(16)])
    assert all(one.shape != other.shape for one, other in pairwise(drawn))
    assert {tuple(look.dash) for look in drawn[:8]} == {(1, 0)}
    assert {tuple(look.dash) for look in drawn[8:]} == {(7, 3)}


def test_ten_curves_have_two_kinds_of_lines_and_points_in_one_legend() -> None:
    one = (Estimate(value=0.5, n=9, method="t"),)
    figure = pass_curve([Curve(label=f"m{place}", estimates=one) for place in range(10)], metric="reward")
    (line,), (point,) = marks(figure, "line"), marks(figure, "point")
    assert [row["dash"] for row in rows(figure)] == [[1, 0]] * 8 + [[7, 3]] * 2
    assert [row["colour"] for row in rows(figure)] == [*OKABE_ITO, *OKABE_ITO[:2]]
    assert line["encoding"]["strokeDash"]["scale"] is None
    assert point["encoding"]["fill"]["scale"]["range"] == [*OKABE_ITO, "white", "white"]
    assert point["encoding"]["stroke"]["scale"]["range"] == ["white"] * 8 + list(OKABE_ITO[:2])
    legends = [point["encoding"][name]["legend"] for name in ("fill", "stroke", "shape")]
    assert legends[0] == legends[1] == legends[2]


def test_hostile_labels_stay_texts() -> None:
    label = 'it\'s \\ "x" ] + evil[\n'
    (panel,) = comparison([Bar(label=label, metric="m", value=1.0)])["concat"]
    axis = marks(panel, "bar")[0]["encoding"]["y"]["axis"]
    assert axis["labelExpr"] == "['it\\'s \\\\ \"x\" ] + evil['][datum.value]"


def test_a_distribution_of_few_values_has_a_bar_for_each_that_occurs() -> None:
    figure = distribution("reward", [Values(label="a", values=(0.0, 0.0, 0.0, 1.0), left_out=2)], scale=SHARE)
    (panel,) = figure["concat"]
    assert [(row["count"], row["shown"]) for row in rows(panel)] == [(3, "75%"), (1, "25%")]
    assert panel["title"]["subtitle"] == "n = 4 · mean 0.25 · 2 n/a"


def test_a_few_values_far_apart_are_binned_so_that_their_bars_can_be_seen() -> None:
    (panel,) = distribution("tokens", [Values(label="a", values=(1.0, 2.0, 90000.0))])["concat"]
    assert [row["count"] for row in rows(panel)] == [2, 1]


def test_a_distribution_without_numbers_is_marked() -> None:
    figure = distribution("m", [Values(label="a", values=(0.5,)), Values(label="b", values=(), left_out=3)])
    empty = figure["concat"][1]
    assert rows(empty) == []
    assert {"value": "n/a"} in [layer["encoding"].get("text") for layer in empty["layer"]]


def test_every_value_of_a_distribution_falls_into_a_bar() -> None:
    values = tuple(place / 97 for place in range(98))
    (panel,) = distribution("m", [Values(label="a", values=values)], scale=SHARE)["concat"]
    assert sum(row["count"] for row in rows(panel)) == 98
    assert sum(row["share"] for row in rows(panel)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("better", "changes"), [("higher", ["worse", "same", "better"]), ("lower", ["better", "same", "worse"])]
)
def test_paired_differences_are_sorted_and_coloured_by_what_is_good(better: str, changes: list[str]) -> None:
    pairs = [
        CasePair(case="up", before=0.0, after=1.0),
        CasePair(case="down", before=1.0, after=0.5),
        CasePair(case="tie", before=1.0, after=1.0),
    ]
    found = paired_difference([pair.before for pair in pairs], [pair.after for pair in pairs])
    figure = paired("reward", pairs, found, labels=("A", "B"), better=better)
    data = next(layer["data"]["values"] for layer in figure["layer"] if layer["mark"]["type"] == "point")
    assert [row["case"] for row in data] == ["down", "tie", "up"]
    assert [row["change"] for row in data] == changes
    assert figure["title"]["text"] == "Reward: B against A"
    assert figure["title"]["subtitle"][0].startswith("Mean difference +0.17 [−1.73, +2.06], 95 % paired t interval")
    (band,) = [layer for layer in figure["layer"] if layer["mark"]["type"] == "rect"]
    assert band["data"]["values"][0]["mean"] == pytest.approx(1 / 6)


def test_paired_without_a_good_end_is_higher_or_lower() -> None:
    pairs = [CasePair(case="up", before=0, after=1), CasePair(case="down", before=1, after=0)]
    figure = paired("handoffs", pairs, paired_difference([0, 1], [1, 0]), labels=("A", "B"), better=None)
    assert figure["title"]["subtitle"][1] == "2 cases: 1 higher, 1 lower, 0 the same."


def test_one_pair_has_no_interval_and_says_so() -> None:
    figure = paired("m", [CasePair(case="a", before=0, after=1)], paired_difference([0], [1]), labels=("A", "B"))
    assert "one value has no interval" in figure["title"]["subtitle"][0]
    assert not [layer for layer in figure["layer"] if layer["mark"]["type"] == "rect"]


def test_a_pass_curve_has_its_numbers_and_keeps_intervals_inside_the_scale() -> None:
    tasks = [(4, 4), (4, 0), (4, 1)]
    curve = Curve(label="a", estimates=tuple(pass_k(tasks, k, pass_hat_k) for k in (1, 2)))
    figure = pass_curve([curve], metric="reward")
    first, second = figure["data"]["values"]
    assert (first["value"], second["value"]) == pytest.approx((5 / 12, 1 / 3))
    assert 0 <= first["low"] < 5 / 12 < first["high"] <= 1
    assert first["shown"] == "0.42"


def test_a_point_without_an_interval_has_no_line() -> None:
    figure = pass_curve([Curve(label="a", estimates=(Estimate(value=1.0, n=1, method="t"),))], metric="m")
    assert "low" not in figure["data"]["values"][0]


def test_points_of_several_curves_stand_beside_each_other() -> None:
    one = (Estimate(value=0.5, n=9, method="t"),)
    figure = pass_curve([Curve(label="a", estimates=one), Curve(label="b", estimates=one)], metric="m")
    first, second = figure["data"]["values"]
    assert first["x"] < 1 < second["x"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.42, "0.42"),
        (0.038, "0.038"),
        (3.4, "3.40"),
        (52.61, "52.6"),
        (982.3, "982"),
        (12345, "12,345"),
        (2e-5, "2.0e-05"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_words_for_labels() -> None:
    assert words("click_hit_rate") == "Click hit rate"
    assert shorten("a" * 30, 11) == "aaaaaa…aaaa"
    assert (with_sign(0.05, 2), with_sign(-0.05, 2), with_sign(-0.001, 2)) == ("+0.05", "−0.05", "0.00")
    assert [decimals(each) for each in ([], [0.0], [0.5, 1.0], [0.02, 0.2], [4.2], [982.0], [5000.0])] == [
        2,
        2,
        2,
        3,
        2,
        1,
        0,
    ]
