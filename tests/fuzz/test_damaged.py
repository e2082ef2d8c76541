"""Damaged recordings of every format: each is read, or refused in words. `make fuzz` tries many more."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fuzz.attempt import attempt
from fuzz.mutations import mutated
from fuzz.seeded import one
from fuzz.whole import Whole
from goldens import ROOT, golden_inputs
from pantrace.engine.convert import convert
from pantrace.engine.read import Notes, open_run, read_pile
from pantrace.engine.validate import validate
from pantrace.errors import ReadError
from pantrace.formats import Format, by_name
from pantrace.model import Run, Sample, usage_total
from wrong_values import replaced, units

TRIES = 10
"""For each format; the seed is fixed, so that a failure can be seen again."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(tmp_path_factory.mktemp("fuzz") / "whole")


def _names(whole: Whole, golden: Path) -> dict[str, str]:
    return {**whole.names, "whole": str(golden)}


FORMATS = sorted({name for name, _ in golden_inputs()})


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_recording_is_read_or_refused_in_words(name: str, whole: Whole, tmp_path: Path) -> None:
    goldens = [each for each in golden_inputs() if each[0] == name]
    for number in range(TRIES):
        one(1, number, goldens, whole, tmp_path / "work", only=("recording",))


FOUND: tuple[tuple[str, str, tuple[Any, ...], Any], ...] = (
    ("qwen-code/fc82f104-05ba-432b-b4e1-2475262504d2.jsonl", ".:1", ("type",), [{"type": "unknown"}]),
    ("atif/every_field.trajectory.json", ".", ("steps", 2, "tool_calls"), -1),
    ("atif/every_field.trajectory.json", ".", ("steps", 2, "metrics"), {"completion_tokens": 10**399}),
    ("codex/exec_stdout.jsonl", ".:6", ("item", "id"), {"a": 1}),
    ("claude-code/stream_json_subagent_stdout.jsonl", ".:10", ("type",), {"type": "text"}),
    ("openai-responses/raw_responses.json", ".", (2, "output", 0, "summary", 0), 48),
    ("mini-swe-agent/steps.traj.json", ".", ("messages", 6, "extra", "timestamp"), "\ud83d"),
    ("inspect/crafted_minimal.eval", ".:summaries.json", (0, "id"), [1]),
    ("inspect/crafted_minimal.eval", ".:summaries.json", (0, "epoch"), {"a": 1}),
    ("openadapt-eval/v1_full.json", ".", ("metrics", "episode_success_rate"), 10**399),
    ("adk-session/api_run_response.events.json", ".", (0, "timestamp"), float("inf")),
    ("adk-session/api_run_response.events.json", ".", (0, "author"), "\ud800"),
    ("opencode/subagent_child.json", ".", ("info", "time", "created"), 10**399),
    ("codex/exec_stdout.jsonl", ".:4", ("item", "type"), []),
    ("claude-code/trouble.jsonl", ".:11", ("parentUuid",), {"a": 1}),
    ("claude-code/trouble.jsonl", ".:22", ("uuid",), [{}]),
    ("mini-swe-agent/steps.traj.json", ".", ("messages", 8, "extra", "response", "usage", "prompt_tokens"), 10**399),
    (
        "mini-swe-agent/note.traj.json",
        ".",
        ("messages", 4, "extra", "response", "usage", "completion_tokens_details"),
        [{"type": "unknown"}],
    ),
    ("mini-swe-agent/note.traj.json", ".", ("messages", 2, "extra", "response", "model"), "x" * 100_000),
    ("atif/every_field.trajectory.json", ".", ("agent", "tool_definitions"), 10**30),
    ("openadapt-eval/v1_without_dsl_mode.json", ".", ("metrics", "num_steps"), 0.25),
    ("gemini-cli/old_document.json", ".", ("sessionId",), "x" * 300),
    (
        "otlp/strands.otlp.json",
        ".",
        ("resourceSpans", 0, "scopeSpans", 0, "spans", 0, "attributes", 5, "value", "intValue"),
        "1" * 5_000,
    ),
)
"""What once ended in a traceback: the golden, where in it, and what was put there."""


@pytest.mark.parametrize(("golden", "unit", "place", "value"), FOUND, ids=[f"{each[0]} {each[2]}" for each in FOUND])
def test_what_was_found_stays_mended(
    golden: str, unit: str, place: tuple[Any, ...], value: Any, whole: Whole, tmp_path: Path
) -> None:
    path = ROOT / golden
    out, copy = tmp_path / "out", tmp_path / path.name
    out.mkdir()
    shutil.copy(path, copy)
    found = next(each for each in units(path) if each.name == unit)
    found.write(replaced(found.value, place, value), copy)
    list(validate(copy, path.parent.name))
    for seed in range(6):
        attempt(copy, path.parent.name if seed % 2 else None, out, random.Random(seed), _names(whole, path))


def _stumbling(path: Path, on_broken: Any) -> Run:
    if path.name == "at once":
        return {}["nothing"]  # type: ignore[no-any-return]

    def samples() -> Any:
        yield Sample(id="first")
        yield Sample(id=json.loads("{}")["second"])

    return Run(samples=samples())


STUMBLING = Format(name="stumbling", title="", spec="", detect=lambda _: None, open=_stumbling)


def test_a_reader_that_stumbles_is_an_error_of_the_input_in_words() -> None:
    with pytest.raises(ReadError, match=r"at once: not a record of stumbling: key 'nothing' is missing .*--from"):
        open_run(Path("at once"), STUMBLING, "", lambda _: None)
    broken: list[ReadError] = []
    run = open_run(Path("later"), STUMBLING, "", broken.append)
    assert [each.id for each in run.samples] == ["first"]
    (error,) = broken
    assert error.path == "later" and "key 'second' is missing; the rest is not read" in error.message
    assert isinstance(error.__cause__, KeyError)


def test_a_writer_that_stumbles_leaves_one_sample_out(tmp_path: Path) -> None:
    # No calendar has the moment at which the first was asked.
    path, target = tmp_path / "x.trace.jsonl", tmp_path / "out"
    far, near = ({"id": at, "trajectory": {"steps": [{"role": "user", "at": float(at)}]}} for at in ("inf", "1e9"))
    path.write_text("".join(json.dumps(line) + "\n" for line in ({"pantrace": "2"}, far, near)))
    report = convert(path, target, to="opencode")
    assert report.samples == 1
    ((name, why),) = report.refused
    assert name == "inf" and why.startswith("a value is not what the writer expects: OverflowError")


def test_a_cost_that_nobody_can_reckon_with_is_kept_and_not_reckoned_with(tmp_path: Path) -> None:
    # Added to any other, it ended the writers that sum costs up.
    path = tmp_path / "recorded.json"
    exported = json.loads((ROOT / "opencode" / "subagent_child.json").read_bytes())
    next(each["info"] for each in exported["messages"] if "cost" in each["info"])["cost"] = 10**399
    path.write_text(json.dumps(exported))
    (sample,) = read_pile([path], format="opencode", notes=Notes()).samples
    assert sample.trajectory is not None
    total = usage_total(sample.trajectory)
    assert total is not None and total.partial == ("cost_usd",)
    assert convert(path, tmp_path / "again.json", to="opencode").samples == 1
    assert str(10**399) in (tmp_path / "again.json").read_text()
    assert convert(path, tmp_path / "out.atif.json", to="atif").samples == 1


def test_numbers_that_json_has_no_word_for_come_back(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl"
    path.write_text('{"pantrace":"2"}\n{"id":"a","trajectory":{"steps":[{"role":"user","at":NaN,"ended":-1e999}]}}\n')
    (sample,) = read_pile([path], notes=Notes()).samples
    assert sample.trajectory is not None
    assert (repr(sample.trajectory.steps[0].at), repr(sample.trajectory.steps[0].ended)) == ("NaN", "-1e999")
    convert(path, tmp_path / "again.trace.jsonl", to="native")
    assert "NaN" in (tmp_path / "again.trace.jsonl").read_text()


def test_the_command_line_ends_with_a_code_of_its_own(tmp_path: Path) -> None:
    goldens = golden_inputs()
    for number in range(6):
        dice = random.Random(number)
        name, golden = dice.choice(goldens)
        (tmp_path / str(number)).mkdir()
        copy, deed = mutated(golden, tmp_path / str(number), dice)
        words = ["convert", copy.name, "--to", "native", "-o", "out.trace.jsonl", "--from", name]
        done = subprocess.run([sys.executable, "-m", "pantrace", *words], cwd=copy.parent, capture_output=True)
        assert done.returncode in (0, 1, 2, 3) and b"Traceback" not in done.stderr, (deed, done.stderr)
        assert (copy.parent / "out.trace.jsonl").exists() == (done.returncode == 0), deed
        assert {each.name for each in copy.parent.iterdir()} <= {copy.name, "out.trace.jsonl"}


def test_the_formats_that_are_tried_are_all_that_there_are() -> None:
    assert {each for each in FORMATS if by_name(each).reads} == set(FORMATS)


def test_a_database_that_lost_pages_is_told_in_words(whole: Whole, tmp_path: Path) -> None:
    """Its index still names a session of which the table has no row."""
    copy, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(ROOT / "opencode/database-1.18.33", copy)
    out.mkdir()
    os.truncate(copy / "opencode.db", 161_036)
    for seed in range(6):
        attempt(copy, "opencode", out, random.Random(seed), _names(whole, ROOT / "opencode/database-1.18.33"))


def test_a_name_that_no_file_can_have_is_a_reference_to_nothing(whole: Whole, tmp_path: Path) -> None:
    copy, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(ROOT / "atif/by_reference", copy)
    out.mkdir()
    path = copy / "trajectory.json"
    path.write_text(path.read_text().replace("trajectory.summ", "x" * 300))
    assert "x" * 300 in path.read_text()
    for seed in range(6):
        attempt(copy, "atif", out, random.Random(seed), _names(whole, ROOT / "atif/by_reference"))
