"""The tests of formats are tested: a reader that forgets and writers that hide or reorder do not get through."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance import VISIBLE, unread, write_and_weigh
from goldens import golden_inputs
from pantrace.engine.convert import parse_options
from pantrace.engine.read import read
from pantrace.formats import Format, by_name
from pantrace.formats.explain import FORMAT as EXPLAIN
from pantrace.model import Sample, Step, Text, ToolCall, ToolResult, Trajectory
from pantrace.wire.json import to_plain

GOLDENS = [(name, path) for name, path in golden_inputs() if by_name(name).dump is not None]
IDS = [f"{name}/{path.name}" for name, path in GOLDENS]


@pytest.mark.parametrize(("name", "path"), GOLDENS, ids=IDS)
def test_a_writer_says_it_in_the_words_of_its_format(name: str, path: Path) -> None:
    """What is read from a format is written in its words; little of it may lie under a key of ours."""
    format_ = by_name(name)
    written = write_and_weigh(format_, list(read(path, format=name).samples), parse_options(format_, {}))
    assert written.kept >= VISIBLE


def _rows_format(**changes: Any) -> Format:
    """An honest little format, one row of JSON for a sample, and what a mutant changes in it."""

    def load(row: Any) -> Sample:
        steps = tuple(_step(each) for each in row["steps"])
        extra = {key: value for key, value in row.items() if key not in ("id", "steps", "pantrace")}
        found = Sample(id=row["id"], trajectory=Trajectory(steps=steps), extra={"rows": extra} if extra else {})
        return read_native(row["pantrace"]) if row.get("pantrace") else found

    def dump(sample: Sample, options: Any) -> Any:
        assert sample.trajectory is not None
        steps = [{"role": step.role, "parts": to_plain(step.parts)} for step in sample.trajectory.steps]
        return {"id": sample.id, "steps": steps, **sample.extra.get("rows", {})}

    honest = replace(EXPLAIN, name="rows", load=load, dump=dump, open=None, save=None, corners=("pantrace",), lost={})
    return replace(honest, reencoded={}, **changes)


def read_native(plain: Any) -> Sample:
    load = by_name("native").load
    assert load is not None
    return load(plain)


def _step(row: Any) -> Step:
    sample = read_native({"id": "x", "trajectory": {"steps": [row]}})
    assert sample.trajectory is not None
    return sample.trajectory.steps[0]


SAMPLE = Sample(
    id="s",
    trajectory=Trajectory(
        steps=(
            Step(role="user", parts=(Text(text="What is in the file?"),)),
            Step(
                role="agent",
                parts=(
                    Text(text="I look into it."),
                    ToolCall(id="1", name="read", arguments={"path": "a.txt"}),
                    ToolResult(call_id="1", output="nothing"),
                ),
            ),
        )
    ),
    extra={"rows": {"rating": 5}},
)


def test_an_honest_writer_passes() -> None:
    written = write_and_weigh(_rows_format(), [SAMPLE], None)
    assert (written.losses, written.kept) == ([], 1.0)


def test_a_writer_that_hides_everything_is_found_out() -> None:
    def hides(sample: Sample, options: Any) -> Any:
        return {"id": sample.id, "steps": [{"role": "user"}], "pantrace": to_plain(sample)}

    written = write_and_weigh(_rows_format(dump=hides), [SAMPLE], None)
    assert written.losses == []  # nothing is lost, and hardly anything is there for others
    assert written.kept < VISIBLE
    assert written.report.carried.total() > 8


def test_a_writer_that_reorders_is_found_out() -> None:
    dump = _rows_format().dump
    assert dump is not None

    def reorders(sample: Sample, options: Any) -> Any:
        row = dump(sample, options)
        row["steps"][1]["parts"] = row["steps"][1]["parts"][1:] + row["steps"][1]["parts"][:1]
        return row

    written = write_and_weigh(_rows_format(dump=reorders), [SAMPLE], None)
    assert [(loss.path, loss.what) for loss in written.losses] == [
        ("trajectory.steps[1].parts[0]", "moved out of its order")
    ]


def test_a_reader_that_forgets_is_found_out(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    honest = _rows_format()
    assert honest.dump is not None and honest.load is not None
    file.write_text(json.dumps(honest.dump(SAMPLE, None)) + "\n")
    assert unread(honest, file).missing == {}
    load = honest.load
    forgets = _rows_format(load=lambda row: load({key: row[key] for key in ("id", "steps")}))
    assert unread(forgets, file).missing == {("rows", "rating"): 1}


def test_a_reader_that_takes_values_out_of_its_row_is_found_out(tmp_path: Path) -> None:
    """What a record says is noted before its reader gets it, and can be named after the reader has changed it."""
    file = tmp_path / "rows.jsonl"
    honest = _rows_format()
    assert honest.dump is not None and honest.load is not None
    file.write_text(json.dumps(honest.dump(SAMPLE, None)) + "\n")
    load = honest.load

    def empties(row: Any) -> Sample:
        row.pop("rating")
        return load(row)

    assert unread(_rows_format(load=empties), file).missing == {("rows", "rating"): 1}
