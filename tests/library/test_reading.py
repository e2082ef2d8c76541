"""Reading from Python: samples can be iterated twice, times are datetimes, a notebook shows a transcript."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import msgspec
import pytest

import pantrace
from pantrace.engine.run import Ran
from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Step, Text, ToolResult, Trajectory

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", ["inspect/basic.eval", "opencode", "explain/cases.explain.jsonl", "."])
def test_samples_are_read_again_by_each_iteration(path: str) -> None:
    run = pantrace.read(EXAMPLES / path)
    first, second = list(run.samples), list(run.samples)
    assert len(first) > 1
    assert first == second


def test_a_file_that_changed_is_read_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "cases.explain.jsonl"
    lines = (EXAMPLES / "explain/cases.explain.jsonl").read_text().splitlines(keepends=True)
    path.write_text("".join(lines))
    run = pantrace.read(path)
    assert len(list(run.samples)) == len(lines)
    path.write_text("".join(lines[:1]))
    assert len(list(run.samples)) == 1


def test_a_stream_says_why_it_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReadError, match=r"pipe.*only once.*file"):
        pantrace.read(tmp_path / "pipe")


def test_times_have_a_datetime_view() -> None:
    moment = datetime(2026, 11, 15, 18, 26, 14, 250_000, UTC)
    step = Step(role="user", at=moment.timestamp())
    assert (step.at_datetime, step.ended_datetime) == (moment, None)
    assert Trajectory(created=0).created_datetime == datetime(1970, 1, 1, tzinfo=UTC)
    assert ToolResult(started=1e30).started_datetime is None
    assert Run(created=moment.timestamp()).created_datetime == moment


def test_a_sample_is_a_transcript_in_a_notebook() -> None:
    sample = next(iter(pantrace.read(EXAMPLES / "opencode/bad_tool_calls.json").samples))
    page = sample._repr_html_()
    assert "turn 1" in page
    assert "calls no_such_tool" in page
    assert "no_such_tool failed" in page
    hostile = Sample(id="<b>", trajectory=Trajectory(steps=(Step(role="agent", parts=(Text(text="<img src=x>"),)),)))
    assert "<img" not in hostile._repr_html_()
    assert "&lt;b&gt;" in hostile._repr_html_()


def test_rich_prints_the_same_transcript_and_takes_no_text_for_a_style() -> None:
    from rich.console import Console

    sample = next(iter(pantrace.read(EXAMPLES / "opencode/bad_tool_calls.json").samples))
    hostile = Sample(id="h", trajectory=Trajectory(steps=(Step(role="agent", parts=(Text(text="[red]x[/red]"),)),)))
    console = Console(width=80, record=True, file=StringIO())
    console.print(sample, hostile, pantrace.read(EXAMPLES / "inspect/basic.eval"))
    shown = console.export_text()
    for words in ("turn 1", "calls no_such_tool: ", "no_such_tool failed: ", "[red]x[/red]", "mockllm/model"):
        assert words in shown


def test_every_time_of_the_model_has_a_datetime_view() -> None:
    from pantrace import model

    times = {"at", "created", "started", "ended"}
    structs = [each for each in vars(model).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    found = [(each, name) for each in structs for name in times & {*each.__struct_fields__}]
    assert len(found) > 8
    views = {name for each in structs for kind in each.__mro__ for name in ((kind, view) for view in vars(kind))}
    for each, name in found:
        assert any((kind, f"{name}_datetime") in views for kind in each.__mro__), (each, name)


def test_a_run_shows_what_its_file_says_of_it() -> None:
    page = pantrace.read(EXAMPLES / "inspect/basic.eval")._repr_html_()
    assert "mockllm/model" in page
    assert "match.accuracy" in page


def test_what_people_print_is_one_line() -> None:
    run = pantrace.read(EXAMPLES / "inspect/basic.eval")
    told = "<Run name='basic_qa', task='basic_qa', model='mockllm/model', status='success'; iterate over .samples>"
    assert repr(run) == told
    assert len(repr(Run(name="long\n" * 1000))) < 120 and "\n" not in repr(Run(name="long\n" * 1000))
    assert repr(Ran("old", Path("out"), ran=2, left=1)) == (
        "<Ran 'old': ran=2, reused=0, left=1, failed=0, recordings='out/recordings/run.trace.jsonl'>"
    )
