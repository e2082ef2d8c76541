"""Tables fit the terminal: words stay whole, and what is left out is named."""

from __future__ import annotations

import pytest

from pantrace.cli.layout import fit, parted

NAMES = ["metric", "tool_success_rate", "token_usage"]
NUMBERS = ["mean", "0.5429", "0.005377"]
PROSE = ["why not", "the case names no output contract", ""]


def total(widths: dict[int, int], gap: int) -> int:
    return sum(widths.values()) + gap * (len(widths) - 1)


def test_what_fits_stays_whole() -> None:
    layout = fit([NAMES, NUMBERS, PROSE], 80)
    assert layout.widths == {0: 17, 1: 8, 2: 33}
    assert not layout.tight and not layout.left_out


def test_prose_is_folded_before_a_name_is_broken() -> None:
    layout = fit([NAMES, NUMBERS, PROSE], 40)
    assert layout.widths == {0: 17, 1: 8, 2: 11}
    assert layout.tight and not layout.left_out


def test_spare_columns_go_in_the_order_named_and_only_as_far_as_needed() -> None:
    spare = ("mean", "why not")
    assert fit([NAMES, NUMBERS, PROSE], 34, spare).left_out == ("mean",)
    assert fit([NAMES, NUMBERS, PROSE], 20, spare).left_out == ("mean", "why not")
    assert fit([NAMES, NUMBERS, PROSE], 20, spare).widths == {0: 17}


def test_only_long_words_are_broken_when_nothing_can_be_spared() -> None:
    layout = fit([["path", "x" * 70], ["n", "12"], ["format", "opencode"]], 40)
    assert layout.widths == {0: 26, 1: 2, 2: 8}


@pytest.mark.parametrize("room", [1, 3, 7, 12, 40, 80, 500])
def test_a_table_fits_or_is_as_narrow_as_can_be(room: int) -> None:
    layout = fit([NAMES, NUMBERS, PROSE, ["", "東京" * 30, "a b c"]], room, ("mean",))
    narrowest = all(width == 1 for width in layout.widths.values())
    assert narrowest or total(layout.widths, 2 if layout.tight else 3) <= room


def test_two_columns_of_one_name_stay_two() -> None:
    assert list(fit([["n", "1"], ["n", "22"]], 80).widths.values()) == [1, 2]


LONG = ["metric", "latency_metrics.total_seconds", "tool_utilization.total_tool_calls", "exact_match"]
WIDE = ["difference", "+0.0016 s [-0.0076, +0.0093]", "0 [-0.46, +0.46]", "0 points [-39, +39]"]


def test_names_are_parted_at_their_dot_where_that_saves_a_column() -> None:
    pairs = ["pairs", "12", "6", "6"]
    layout = fit([LONG, WIDE, pairs], 60, ("pairs",), firm=True)
    assert (layout.names_parted, layout.left_out, layout.widths) == (True, (), {0: 18, 1: 28, 2: 5})
    assert parted(LONG[1]) == "latency_metrics.\n  total_seconds"


def test_one_number_is_folded_rather_than_many_names() -> None:
    numbers = ["interval", "1 to 2", "1 to 2", "$0.0000044 to $0.000028"]
    layout = fit([[*LONG[:3], LONG[2]], numbers], 50, firm=True)
    assert (layout.names_parted, layout.widths) == (False, {0: 33, 1: 15})


def test_a_name_is_parted_at_its_dot_before_it_is_broken_elsewhere() -> None:
    layout = fit([[*LONG[:2], "mean_coord_distance"], ["mean", "4,075 tokens", "0.1"]], 30, ("samples",), firm=True)
    assert (layout.names_parted, layout.widths) == (True, {0: 19, 1: 9})


def test_a_last_column_goes_where_splitting_names_does_not_help() -> None:
    before, after, pairs = ["a", *["0.0041 s"] * 3], ["b", *["0.0042 s"] * 3], ["pairs", "12", "6", "6"]
    table = [LONG, before, after, WIDE, pairs]
    assert fit(table, 72, ("pairs",), ("a", "b"), firm=True).left_out == ("pairs",)
    narrow = fit(table, 62, ("pairs",), ("a", "b"), firm=True)
    assert (narrow.names_parted, narrow.left_out, narrow.widths) == (True, ("pairs", "a"), {0: 18, 2: 8, 3: 28})
