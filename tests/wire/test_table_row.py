"""What rows of a database say to those who measure a reading."""

from __future__ import annotations

from pantrace.wire.table_row import TableRow, row_values

NAMES = ("id", "data", "more")


def said(*rows: tuple[object, ...]) -> list[object]:
    return [[*each.values()] for each in row_values([TableRow(NAMES, row) for row in rows])]


def test_json_in_texts_and_bytes_is_what_it_says() -> None:
    assert said(("a", '{"n": 1}', b"[2]"), ("b", None, 1.5)) == [["a", {"n": 1}, [2]], ["b", None, 1.5]]


def test_a_text_that_only_begins_like_json_is_a_text() -> None:
    assert said(("[x] done", '{"n": 1}', "{")) == [["[x] done", {"n": 1}, "{"]]


def test_bytes_that_are_no_json_say_nothing() -> None:
    assert said(("a", b"\x89PNG", b"{torn")) == [["a", None, None]]


def test_texts_that_are_json_only_together_are_texts() -> None:
    assert said(("[1", "2]", None), ("[1], [2]", "[3]", None)) == [["[1", "2]", None], ["[1], [2]", [3], None]]


def test_half_a_character_is_kept() -> None:
    assert said(("a", '{"n": "\\ud83d"}', "\ud83d")) == [["a", {"n": "\ud83d"}, "\ud83d"]]
