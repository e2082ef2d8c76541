"""One record is held whole, so it may not be larger than the limit; the others of its file are still read."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pantrace.engine.convert import convert
from pantrace.engine.read import Notes, read_pile
from pantrace.errors import ReadError
from pantrace.wire import files, sqlite
from pantrace.wire.input_cuts import by_lines
from pantrace.wire.limits import allow_record, limits, set_limits
from pantrace.wire.rows import read_log, read_rows

SMALL, LARGE = b'{"a": 1}\n', b'{"a": "' + b"x" * 9_000_000 + b'"}\n'


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    before = limits()
    allow_record(8_500_000)
    yield
    set_limits(before)


@pytest.mark.parametrize("packing", ["plain", "gzip"])
@pytest.mark.parametrize("spans", [False, True])
def test_a_line_that_is_too_large_is_passed_over(packing: str, spans: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    fitting = b'{"a": "' + b"y" * 8_499_980 + b'"}\n'
    # Not all of one letter: that would be a bomb.
    noise = random.Random(1).randbytes(4_500_000).hex().encode()
    content = SMALL + fitting + LARGE.replace(b"x" * 9_000_000, noise) + SMALL
    path.write_bytes(content if packing == "plain" else gzip.compress(content, 1))
    broken: list[ReadError] = []
    cuts = list(by_lines(path, 5_000_000)) if spans else [None]
    rows = [row for span in cuts for row in read_rows(path, broken.append, span)]
    if spans and packing == "gzip":
        assert not cuts
        return
    assert [place for place, _ in rows] == ["line 1", "line 2", "line 4"]
    assert len(rows[1][1]["a"]) == 8_499_980
    assert [str(each).partition("; ")[0] for each in broken] == [f"{path}: line 3: the record is larger than 8.5 MB"]


def test_where_nobody_is_told_it_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(SMALL + LARGE)
    with pytest.raises(ReadError, match=r"line 2: the record is larger than 8.5 MB; .*--max-record SIZE"):
        list(files.lines(path))
    with pytest.raises(ReadError, match=r"the file is larger than 8.5 MB; .*--max-record SIZE"):
        files.read_all(path)
    allow_record(10_000_000)
    assert len(list(files.lines(path))) == 2


def test_lines_that_are_one_recording_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps({"a": "x" * 1_000_000}).encode() + b"\n")
    assert len(read_log(path, lambda _: None)) == 1
    path.write_bytes(path.read_bytes() * 9)
    with pytest.raises(ReadError, match=r"the recording is larger than 8.5 MB"):
        read_log(path, lambda _: None)
    assert sum(1 for _ in read_rows(path, lambda _: None)) == 9


def test_an_item_of_an_array_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"[" + SMALL + b"," + LARGE + b"," + SMALL + b"]")
    broken: list[ReadError] = []
    assert [place for place, _ in read_rows(path, broken.append)] == ["item 1", "item 3"]
    assert [each.place for each in broken] == ["item 2"]


def test_a_row_of_a_database_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table t (a)")
        database.execute("insert into t values (?)", ("x" * 9_000_000,))
    with pytest.raises(ReadError, match=r"a row is larger than 8.5 MB"), sqlite.reading(path) as reading:
        list(sqlite.rows(reading, "select a from t"))


def test_what_grows_beyond_the_limit_when_it_is_written_is_read_back(tmp_path: Path) -> None:
    path, target = tmp_path / "x.trace.jsonl", tmp_path / "out.jsonl"
    steps = [{"role": role, "parts": [{"type": "text", "text": role * 700_000}]} for role in ("user", "agent")]
    path.write_text('{"pantrace": "2"}\n' + json.dumps({"id": "a", "trajectory": {"steps": steps}}) + "\n")
    assert path.stat().st_size < limits().record
    assert convert(path, target, to="adk-jsonl").samples == 1
    assert target.stat().st_size > limits().record


def test_the_other_samples_of_a_pile_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl"
    large = json.dumps({"id": "b", "extra": {"x": "y" * 9_000_000}})
    path.write_text('{"pantrace": "2"}\n{"id": "a"}\n' + large + '\n{"id": "c"}\n')
    notes = Notes.keeping()
    assert [each.id for each in read_pile([path], notes=notes).samples] == ["a", "c"]
    assert [each.place for each in notes.broken] == ["line 3"]
