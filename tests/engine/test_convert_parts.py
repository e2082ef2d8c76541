"""The same output, to the byte, and the same report whoever converts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.recordings import write
from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.executor import ONE_PROCESS, Engine
from pantrace.errors import LossRefused

TWO = Engine(jobs=2)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pantrace.wire.input_cuts.SPAN_BYTES", 2_000)


def both(source: Path, folder: Path, **options: Any) -> list[tuple[bytes, dict[str, Any], list[str]]]:
    """What one process and what two make of it."""
    found = []
    for engine in (ONE_PROCESS, TWO):
        out = folder / "out.jsonl"
        report = convert(source, out, to="vertex", engine=engine, **options)
        found.append((out.read_bytes(), report.to_dict(), report.by))
        out.unlink()
    assert [*folder.iterdir()] == []
    return found


def test_lines_are_measured_and_written_part_by_part(tmp_path: Path) -> None:
    source = write(tmp_path / "in.trace.jsonl", range(40))
    with source.open("a") as file:
        file.write('{"torn\n')
    (tmp_path / "out").mkdir()
    one, two = both(source, tmp_path / "out")
    assert one[:2] == two[:2]
    assert (one[2], two[2]) == ([], ["2 processes"])
    assert two[1]["written"] == 40 and two[1]["losses"]
    assert [each["place"] for each in two[1]["broken"]] == ["line 42"]


def test_sessions_of_a_database_are_written_part_by_part_where_nothing_is_measured(tmp_path: Path) -> None:
    one, two = both(ROOT / "opencode/database-1.18.33", tmp_path, measure=False)
    assert one[:2] == two[:2]
    assert two[2] == ["2 processes"]
    one, two = both(ROOT / "opencode/todo.db", tmp_path)
    assert one == two  # by one process: each part would also read what belongs to the others


def test_an_id_that_two_parts_have_is_renamed_as_by_one_process(tmp_path: Path) -> None:
    source = write(tmp_path / "in.trace.jsonl", range(20))
    lines = source.read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join([*lines, *lines[1:4]]))
    (tmp_path / "out").mkdir()
    one, two = both(source, tmp_path / "out")
    assert one == two
    assert len(two[1]["renamed"]) == 3


def test_a_refused_loss_leaves_nothing_behind(tmp_path: Path) -> None:
    source = write(tmp_path / "in.trace.jsonl", range(20))
    told = []
    for engine in (ONE_PROCESS, TWO):
        with pytest.raises(LossRefused) as refused:
            convert(source, tmp_path / "out.jsonl", to="vertex", strict=True, engine=engine)
        told.append(str(refused.value))
    assert told[0] == told[1]
    assert [*tmp_path.iterdir()] == [source]
