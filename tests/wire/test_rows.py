from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pantrace.errors import ReadError, WriteError
from pantrace.wire.head import Head, decode_beginning
from pantrace.wire.json import UNFINISHED
from pantrace.wire.output import writing
from pantrace.wire.rows import raise_broken, read_rows, rows_in, write_rows


def rows(path: Path) -> tuple[list[Any], list[str]]:
    broken: list[ReadError] = []
    found = [row for _, row in read_rows(path, broken.append)]
    return found, [str(error).replace(str(path), "FILE") for error in broken]


@pytest.mark.parametrize(
    ("text", "layout", "found"),
    [
        (b'{"a": 1}\n{"a": 2}\n', "lines", [{"a": 1}, {"a": 2}]),
        (b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}', "lines", [{"a": 1}, {"a": 2}]),
        (b'[{"a": 1},\n {"a": 2}]', "array", [{"a": 1}, {"a": 2}]),
        (b"[]", "array", []),
        (b'{\n "a": 1\n}\n', "document", [{"a": 1}]),
        (b'{"a": 1}\n', "document", [{"a": 1}]),
        (b'"a string"', "document", ["a string"]),
    ],
)
@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_records_in_each_layout_and_packing(
    text: bytes, layout: str, found: list[Any], packed: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[packed]
    path.write_bytes(pack(text))
    assert Head(path).layout == layout
    assert rows(path) == (found, [])


def test_a_torn_line_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \n\n{"a": 3}\n{"a"')
    assert rows(path) == (
        [{"a": 1}, {"a": 3}],
        [
            f"FILE: line 2, column 1: the JSON is cut off after 7 bytes ({UNFINISHED})",
            f"FILE: line 5, column 5: the JSON is cut off after 4 bytes ({UNFINISHED})",
        ],
    )


def test_a_torn_first_line_does_not_hide_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": [1, \n{"a": 3}\n')
    found, broken = rows(path)
    assert found == [{"a": 3}]
    assert broken[0].startswith("FILE: line 1")


def test_a_torn_array_gives_its_whole_items(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'[{"a": "x,]"},\n {"a": [2, 3]},\n {"a": ')
    cut = "the JSON is cut off at byte 38 of 38: the item that starts here does not end"
    assert rows(path) == ([{"a": "x,]"}, {"a": [2, 3]}], [f"FILE: item 3, line 2: {cut} ({UNFINISHED})"])


def test_a_bad_item_in_an_array_does_not_sink_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'[{"a": 1}, {"a": oops}, {"a": NaN}]')
    found, broken = rows(path)
    assert [str(row) for row in found] == ["{'a': 1}", "{'a': NaN}"]
    assert len(broken) == 1
    assert "item 2" in broken[0]


def test_reading_an_array_can_be_left_at_any_item(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'[{"a": 1}, {"a": 2}, {"a": oops}]')
    reading = read_rows(path, raise_broken)
    assert next(reading) == ("item 1", {"a": 1})
    reading.close()
    with pytest.raises(ReadError, match="item 3"):
        list(read_rows(path, raise_broken))


def test_a_long_first_line_is_still_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": "' + b"x" * 200_000 + b'"}\n{"a": 2}\n')
    found, broken = rows(path)
    assert (len(found), broken) == (2, [])
    assert Head(path).record.keys() == {"a"} or Head(path).record == {}


@pytest.mark.parametrize(
    ("name", "start"), [("x.jsonl", b'{"a":1}\n'), ("x.json", b'[\n{\n  "a": 1\n}'), ("x", b'{"a":1}\n')]
)
def test_the_name_says_how_rows_are_written(name: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    assert write_rows([{"a": 1}, {"a": 2}], path, default="lines").rows == 2
    assert path.read_bytes().startswith(start)
    assert rows(path) == ([{"a": 1}, {"a": 2}], [])


def test_nothing_is_left_when_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), writing(tmp_path / "x") as file:
        file.write(b"half")
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"), writing(tmp_path / "file" / "x"):
        pass


def test_a_torn_archive_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:-20])
    with pytest.raises(ReadError, match="the compressed data is cut off at byte 46 of 46"):
        list(read_rows(path, raise_broken))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'{"a": [1, {"b": "x', {"a": [1, {}]}),
        (b'{"a": 1, "b": tru', {"a": 1}),
        (b'{"a": {"b": 1}, "c"', {"a": {"b": 1}}),
        (b'{"a": "esc\\', {}),
        (b"[1, 2, 3", [1, 2]),
        (b"hello", None),
        (b"}", None),
    ],
)
def test_the_beginning_of_a_text_says_what_it_can(text: bytes, found: Any) -> None:
    assert decode_beginning(text) == found


def test_values_one_after_another_are_the_records_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{\n  "a": "}"\n}\n{\n  "b": [\n    {}\n  ]\n}\n\n{\n  "c": 1')
    broken: list[ReadError] = []
    ((place, rows),) = rows_in(path, "log", broken.append)
    assert (place, rows) == (None, [{"a": "}"}, {"b": [{}]}])
    assert [(each.place, each.path) for each in broken] == [("value 3, line 10", str(path))]


def test_a_document_of_which_nothing_is_whole_says_where_it_breaks(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{\n  "a": [1,\n')
    broken: list[ReadError] = []
    assert list(rows_in(path, "log", broken.append)) == []
    assert len(broken) == 1 and "cut off" in broken[0].message


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": "}{"}{"a": 2}',
        b'{"a": "}{"} {"a": 2}\n',
        b'{"a": "}{"}\n{"a": 2}{"a": {"b": [1]}}\n{"a": "\\"}{"}\n',
        b'{"a": 0}{"a": 1}\n{"a": 2}\n',
    ],
)
def test_objects_that_are_glued_on_one_line_are_all_read(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(text)
    found, broken = rows(path)
    assert broken == []
    assert len(found) == text.count(b'{"a"')
    assert Head(path).records == found


def test_a_torn_object_behind_a_whole_one_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 2}{"a": [3, \n{"a": 4}\n')
    found, broken = rows(path)
    assert found == [{"a": 1}, {"a": 2}, {"a": 4}]
    assert len(broken) == 1
    assert "line 2, object 2" in broken[0]


@pytest.mark.parametrize("line", [b'{"a": 1} and {"a": 2}', b'{"a": 1}}{"a": 2}', b'{"a": 1}{"a": 2} and', b'"}{"'])
def test_what_is_not_only_objects_is_not_taken_apart(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line + b"\n")
    found, broken = rows(path)
    assert found[:1] == [{"a": 1}]
    assert len(found) - 1 + len(broken) == 1
