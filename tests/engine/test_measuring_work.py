"""How much work measuring a loss is, as counts: what is made twice of a sample would show here, on any machine."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pantrace.engine.convert import convert
from pantrace.engine.loss_report import Report
from pantrace.engine.weigh import Scales
from pantrace.errors import WriteError
from pantrace.formats import by_name
from pantrace.model import Sample, Step, Text, Trajectory
from pantrace.wire.output_row import Row
from pantrace.wire.rows import Layout, write_rows

GOLDEN = Path(__file__).parents[1] / "golden"


@contextmanager
def calls() -> Iterator[Counter[Any]]:
    """How often each function of Python is called inside, by its code."""
    found: Counter[Any] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield found
    finally:
        sys.setprofile(before)


def converted(source: Path, to: str, folder: Path) -> tuple[Report, Counter[Any]]:
    by_name(to)  # imported before anything is counted
    with calls() as found:
        report = convert(source, folder / f"out{by_name(to).suffix}", to=to)
    return report, found


def named(found: Counter[Any], module: str, function: str) -> int:
    path = f"pantrace/{module}.py"
    return sum(count for code, count in found.items() if code.co_name == function and code.co_filename.endswith(path))


@pytest.mark.parametrize(
    ("source", "to"),
    [
        ("opencode/multi_turn_reasoning_edit_compaction.json", "vertex-seed"),
        ("tau-bench/library.json", "vertex-seed"),
        ("adk-jsonl/reference_converter.jsonl", "vertex-agent"),
        ("adk-jsonl/reference_converter.jsonl", "vertex-seed"),
    ],
)
def test_a_row_is_made_encoded_and_read_back_once(source: str, to: str, tmp_path: Path) -> None:
    report, found = converted(GOLDEN / source, to, tmp_path)
    target = by_name(to)
    assert target.dump is not None and target.load is not None
    assert report.samples and report.losses
    assert found[target.dump.__code__] == report.samples
    assert found[target.load.__code__] == report.samples
    assert named(found, "wire/output_row", "data") == report.samples
    # The sample, and what came back; who measured the reading shares the first where nothing is split off.
    assert named(found, "wire/json", "as_builtins") <= 3 * report.samples


def test_lines_are_decoded_by_their_reader_alone(tmp_path: Path) -> None:
    rows = [{"task_id": n, "reward": 1.0, "trial": 0, "traj": [{"role": "user", "content": "hi"}]} for n in range(5)]
    source = tmp_path / "tau.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    by_name("vertex-seed")
    with calls() as found:
        report = convert(source, tmp_path / "out.jsonl", to="vertex-seed", format="tau-bench")
    assert report.samples == len(rows)
    assert named(found, "wire/unread", "hear") >= len(rows)
    assert named(found, "wire/json", "decode") == len(rows) + _looks_at_the_start(found)


def _looks_at_the_start(found: Counter[Any]) -> int:
    """Whoever finds out how rows lie in a file decodes the first one: of the source, and of what was written."""
    return named(found, "wire/rows", "layout_of")


SAMPLES = [
    Sample(id=f"s{n}", trajectory=Trajectory(steps=(Step(role="user", parts=(Text(text="hi"),)),))) for n in (1, 2)
]


@pytest.mark.parametrize("name", ["out.jsonl", "out.json", "out.jsonl.gz"])
@pytest.mark.parametrize("damage", ["a letter", "a row", None])
def test_a_file_that_is_not_what_was_written_is_noticed(name: str, damage: str | None, tmp_path: Path) -> None:
    format_ = by_name("vertex-seed")
    assert format_.dump is not None
    file, layout = tmp_path / name, format_.layout
    rows = [Row(sample, format_.dump(sample, format_.options())) for sample in SAMPLES]
    with closing(Scales(format_, Report(to=format_.name), lambda _: None, on_loss=None)) as scales:
        for row in rows:
            scales.add(row)
        scales.seals[file] = write_rows(rows, file, default=layout)
        if damage is None:
            scales.add_files([file], None)
            return
        _write_damaged(rows, file, layout, damage)
        with pytest.raises(WriteError, match="not what was written"):
            scales.add_files([file], None)


def _write_damaged(rows: list[Row], file: Path, layout: Layout, damage: str) -> None:
    """The same file as a bad disk might give it back: readable JSON that says something else."""
    if damage == "a row":
        write_rows(rows[:1], file, default=layout)
    else:
        values = [json.loads(row.data.replace(b'"hi"', b'"ho"')) for row in rows]
        write_rows(values, file, default=layout)
