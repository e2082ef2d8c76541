"""Conversions as a whole: outputs, collisions, strictness, what rides along."""

from __future__ import annotations

from pathlib import Path

import pytest

import pantrace
from goldens import ROOT
from pantrace.engine.convert import convert, write_run
from pantrace.errors import LossRefused, ReadError, UsageError, WriteError
from pantrace.model import Run, Sample, Step, Text, ToolCall, Trajectory

SESSION = ROOT / "opencode/bad_tool_calls.json"


def test_a_loss_with_strict_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(LossRefused):
        convert(SESSION, tmp_path / "out.json", to="vertex-seed", strict=True)
    assert list(tmp_path.iterdir()) == []


def test_nothing_lost_with_strict_is_written(tmp_path: Path) -> None:
    report = convert(SESSION, tmp_path / "out.trace.jsonl", to="native", strict=True)
    assert report.outputs == [tmp_path / "out.trace.jsonl"]


def test_what_rides_along_is_told_apart_from_what_is_kept(tmp_path: Path) -> None:
    report = convert(SESSION, tmp_path / "out.eval", to="inspect")
    assert not report.losses
    assert report.carried["trajectory.steps[].turn"] == 5


def test_one_sample_per_file(tmp_path: Path) -> None:
    report = convert([SESSION, ROOT / "opencode/api_error_400.json"], tmp_path / "out", to="opencode")
    assert sorted(path.name for path in report.outputs) == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(report.outputs) == 2
    with pytest.raises(UsageError, match="one sample per file: give a directory"):
        convert([SESSION, ROOT / "opencode/api_error_400.json"], tmp_path / "one.json", to="opencode")
    assert not (tmp_path / "one.json").exists()


def test_sub_agents_are_rows_of_their_own_where_the_target_cannot_nest(tmp_path: Path) -> None:
    child = Trajectory(id="child", parent="p", steps=(Step(role="agent", parts=(Text(text="done"),)),))
    parent = Trajectory(id="p", children=(child,), steps=(Step(role="agent", parts=(ToolCall(name="task"),)),))
    run = Run(samples=[Sample(id="p", trajectory=parent)])
    assert write_run(run, tmp_path / "flat.json", to="vertex-seed").samples == 2
    assert write_run(run, tmp_path / "nested.trace.jsonl", to="native").samples == 1


def test_a_read_only_format_cannot_be_written(tmp_path: Path) -> None:
    from pantrace.formats import all_formats

    for format_ in all_formats():
        if not format_.writes:
            with pytest.raises(UsageError, match="can be read, not written"):
                convert(SESSION, tmp_path / "out", to=format_.name)


def test_an_unwritable_target_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"):
        convert(SESSION, tmp_path / "file" / "out.json", to="vertex-seed")


def test_the_public_functions(tmp_path: Path) -> None:
    run = pantrace.read(SESSION)
    report = pantrace.write(run, tmp_path / "out.json", to="vertex-seed")
    assert report.samples == 1
    assert pantrace.validate(tmp_path / "out.json") == []
    broken = pantrace.validate({"session_id": 3}, "vertex-seed")
    assert any(violation.place == "session_id" for violation in broken)
    with pytest.raises(ReadError, match="no such file"):
        pantrace.read(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="needs the name of its format"):
        pantrace.validate({"a": 1})


def test_a_directory_of_mixed_formats_is_one_pile(tmp_path: Path) -> None:
    run = pantrace.read(ROOT.parent.parent / "examples")
    formats = {
        sample.trajectory.source.format for sample in run.samples if sample.trajectory and sample.trajectory.source
    }
    assert formats == {"opencode", "adk-history", "inspect", "openadapt-episodes", "explain"}
