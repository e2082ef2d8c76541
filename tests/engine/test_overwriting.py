"""No command writes over what it reads, however the file is named, nor where its next run would read it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import pantrace
from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.migrate import migrate
from pantrace.engine.overwriting import Output, refuse_overwriting
from pantrace.errors import UsageError

SOURCE = Path(pantrace.__file__).parent.parent
SESSION = ROOT / "opencode/bad_tool_calls.json"
EVALUATION = ROOT / "openadapt-eval/legacy_flat.json"


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder, by inode and bytes: a file that was replaced by an equal one differs, too."""
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(SESSION, folder / "s.json")
    shutil.copy(EVALUATION, folder / "eval.json")
    (folder / "notes.txt").write_text("by hand")
    return folder


def same(runs: Path) -> Path:
    return runs / "s.json"


def roundabout(runs: Path) -> Path:
    return runs / ".." / "runs" / "s.json"


def symbolic(runs: Path) -> Path:
    link = runs.parent / "link.json"
    link.symlink_to(runs / "s.json")
    return link


def hard(runs: Path) -> Path:
    link = runs.parent / "hard.json"
    os.link(runs / "s.json", link)
    return link


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("named", [same, roundabout, symbolic, hard])
@pytest.mark.parametrize("to", ["native", "vertex-seed", "opencode", "inspect"])
def test_an_input_is_not_the_output(runs: Path, named: Callable[[Path], Path], to: str, strict: bool) -> None:
    target = named(runs)
    before = contents(runs.parent)
    with pytest.raises(UsageError, match="is an input and would be overwritten"):
        convert(runs / "s.json", target, to=to, strict=strict)
    assert contents(runs.parent) == before


@pytest.mark.parametrize("name", ["s.json", "out.eval", "new/out.eval", ".", "new", "notes.txt"])
@pytest.mark.parametrize("to", ["inspect", "opencode"])
def test_no_recording_is_written_where_recordings_are_searched(runs: Path, name: str, to: str) -> None:
    before = contents(runs.parent)
    with pytest.raises(UsageError, match=r"would be overwritten|the next run would read it"):
        convert(runs, runs / name, to=to)
    assert contents(runs.parent) == before


def test_links_do_not_hide_that_a_folder_is_read(runs: Path) -> None:
    outside = runs.parent / "outside"
    outside.mkdir()
    shutil.copy(SESSION, outside / "other.json")
    (runs / "more").symlink_to(outside)
    (runs.parent / "alias").symlink_to(runs)
    (runs / "loop").symlink_to(runs)
    for target in (outside / "out.eval", outside / "other.json", runs.parent / "alias" / "out.eval"):
        with pytest.raises(UsageError, match=r"would be overwritten|the next run would read it"):
            convert(runs, target, to="inspect")
    assert not (outside / "out.eval").exists()


def test_a_file_that_a_link_inside_leads_to_is_an_input(runs: Path) -> None:
    outside = runs.parent / "outside.json"
    shutil.copy(SESSION, outside)
    (runs / "link.json").symlink_to(outside)
    for output in (Output(outside, recording=True), Output(outside)):
        with pytest.raises(UsageError, match="is read as a part of"):
            refuse_overwriting([runs], [output])


def test_one_file_per_sample_does_not_replace_an_input(runs: Path) -> None:
    """The name of the file is known only when its sample is read."""
    out = runs.parent / "out"
    (named,) = convert(runs / "s.json", out, to="opencode").outputs
    before = contents(out)
    with pytest.raises(UsageError, match="is an input and would be overwritten"):
        convert(named, out, to="opencode")
    assert contents(out) == before


PARTS = [
    ("claude-code/subagent", "*.jsonl", "*/subagents/agent-*.jsonl"),
    ("claude-code/subagent", "*.jsonl", "*/subagents/agent-*.meta.json"),
    ("codex/agents", "*b992448.jsonl", "*5fa6.jsonl"),
    ("gemini-cli/agents", "session-*.jsonl", "*/78b67427*.jsonl"),
    ("atif/by_reference", "trajectory.json", "trajectory.summary.json"),
    ("otlp/spans_and_logs", "otel_openai_v2.otlp.json", "otel_openai_v2.logs.otlp.json"),
]


@pytest.mark.parametrize(("golden", "source", "part"), PARTS, ids=[part for *_, part in PARTS])
def test_what_is_read_with_an_input_is_not_overwritten(golden: str, source: str, part: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / golden, tmp_path / "in")
    (whole,), (other,) = (list((tmp_path / "in").glob(each)) for each in (source, part))
    before = contents(tmp_path)
    for output in (Output(other, recording=True), Output(other)):
        with pytest.raises(UsageError, match="is read together with"):
            refuse_overwriting([whole], [output])
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["todo.db-wal", "todo.db-shm", "todo.db-journal"])
def test_the_log_of_a_database_is_not_overwritten_nor_made(name: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "opencode/todo.db", tmp_path / "todo.db")
    (tmp_path / "link.db").symlink_to("todo.db")
    for source in ("todo.db", "link.db"):
        with pytest.raises(UsageError, match="is read together with"):
            convert(tmp_path / source, tmp_path / name, to="native")
    assert [*contents(tmp_path)] == ["link.db", "todo.db"]


def test_an_earlier_output_beside_its_input_may_be_replaced(tmp_path: Path) -> None:
    shutil.copy(ROOT / "claude-code/trouble.jsonl", tmp_path / "in.jsonl")
    for to, name in (("claude-code", "out.jsonl"), ("native", "out.trace.jsonl"), ("codex", "agent-x.jsonl")):
        for _ in range(2):
            convert(tmp_path / "in.jsonl", tmp_path / name, to=to)
    refuse_overwriting([tmp_path / "in.jsonl"], [Output(tmp_path / "in.jsonl.csv")])


def test_a_table_may_lie_beside_recordings_but_not_replace_one(runs: Path) -> None:
    refuse_overwriting([runs], [Output(runs / "losses.jsonl"), Output(runs / "notes.txt")])
    shutil.copy(runs / "s.json", runs / "torn.json")
    for name in ("s.json", "eval.json", "torn.json"):
        with pytest.raises(UsageError, match="is read as a part of"):
            refuse_overwriting([runs], [Output(runs / name)])


@pytest.mark.parametrize("name", ["run.json", "manifest.sqlite", "manifest.sqlite-wal", "PARTS/a.xml", "parts"])
def test_a_table_does_not_replace_a_file_of_the_run_directory_that_is_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is the name of a file of .*out, which is written, too"):
        refuse_overwriting([], [Output(tmp_path / "out", recording=True), Output(tmp_path / "out" / name)])
    refuse_overwriting([], [Output(tmp_path / "out", recording=True), Output(tmp_path / "out/junit.xml")])


def test_two_outputs_are_two_files(runs: Path) -> None:
    (runs.parent / "link").symlink_to("lost.jsonl")
    for other in ("lost.jsonl", "link", "runs/../lost.jsonl"):
        with pytest.raises(UsageError, match="two outputs"):
            refuse_overwriting([], [Output(runs.parent / "lost.jsonl"), Output(runs.parent / other)])


def test_devices_and_pipes_cannot_be_overwritten(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refuse_overwriting([tmp_path / "pipe"], [Output(tmp_path / "pipe"), Output(tmp_path / "pipe", recording=True)])


def test_a_run_read_from_a_file_is_not_written_over_it(runs: Path) -> None:
    before = contents(runs)
    with pytest.raises(UsageError, match="is an input"):
        pantrace.write(pantrace.read(runs / "s.json"), runs / "s.json", to="native")
    assert contents(runs) == before


def test_migrating_into_what_is_read_is_refused(runs: Path) -> None:
    before = contents(runs)
    for folder in (runs, runs / "new"):
        with pytest.raises(UsageError, match=r"the next run would read it|is an input"):
            migrate([runs], folder)
    assert contents(runs) == before


PLAN = 'name = "x"\n'
LABELS = "sample,label\na,1\n"
COMMANDS = [
    "convert runs/s.json --to vertex-seed -o runs/s.json",
    "convert runs/s.json --to vertex-seed -o runs/s.json --strict",
    "convert runs/*.json --to native -o runs/s.json",
    "convert 'runs/*.json' --to native -o runs/s.json",
    "convert runs --to native -o runs/new.trace.jsonl",
    "convert runs/s.json --to native -o out.trace.jsonl --loss runs/s.json",
    "convert runs --to native -o out.trace.jsonl --loss runs/s.json",
    "convert runs --to native -o out.trace.jsonl --loss out.trace.jsonl",
    "convert runs/s.json --to opencode -o ''",
    "convert - --to native -o runs/s.json < runs/s.json",
    "convert /dev/stdin --to native -o runs/s.json < runs/s.json",
    "convert runs/s.json --to native >> runs/s.json",
    "redact runs/s.json -o runs/s.json",
    "redact runs/s.json -o clean.json --list runs/s.json",
    "redact runs -o runs/clean.trace.jsonl --to native",
    "measure runs/s.json -o runs/s.json",
    "measure runs/s.json --reference runs/eval.json -o runs/eval.json",
    "measure runs --format openadapt-eval -o runs/new.json",
    "judge runs/s.json --rubric tool_use_quality -o runs/s.json",
    "judge runs --rubric tool_use_quality -o runs/new.trace.jsonl",
    "judge runs/s.json --rubric tool_use_quality --cache runs/s.json",
    "plot runs/eval.json -o link.png",
    "plot runs -o runs/eval.json",
    "check runs/s.json --rules stateless-handoff -o runs/s.json",
    "check runs/s.json --rules stateless-handoff --junit runs/s.json",
    "compare runs/eval.json runs/eval.json --markdown runs/eval.json",
    "calibrate runs/s.json --labels labels.csv -o labels.csv",
    "migrate runs/eval.json -o runs",
    "eval runs --out runs/results",
    "eval runs --out runs",
    "eval runs --out results --report runs/report.json",
    "eval runs --out results --junit runs/s.json",
    "eval runs --plan plan.toml --out results --markdown plan.toml",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses(runs: Path, command: str) -> None:
    folder = runs.parent
    (folder / "plan.toml").write_text(PLAN)
    (folder / "labels.csv").write_text(LABELS)
    (folder / "link.png").symlink_to("runs/eval.json")
    before = contents(folder)
    ran = subprocess.run(
        ["bash", "-c", f'"$0" -m pantrace {command}', sys.executable],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(SOURCE), "HOME": str(folder), "PATH": os.defpath},
    )
    assert ran.returncode == 2, ran.stderr
    reasons = ("would be overwritten", "next run would read", "two outputs", "name of an output is empty")
    assert any(reason in ran.stderr for reason in reasons), ran.stderr
    assert ran.stderr.count("\n") == 1
    assert contents(folder) == before


def test_a_run_directory_keeps_its_own_files(runs: Path) -> None:
    folder, results = runs.parent, runs.parent / "results"
    environment = {"PYTHONPATH": str(SOURCE), "HOME": str(folder), "PATH": os.defpath}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "pantrace", *words]
        return subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False, env=environment)

    assert run("eval", "runs/s.json", "--out", "results").returncode == 0
    for _ in range(2):
        told = run("measure", "results", "-o", "results/measured.csv")
        assert told.returncode == 0, told.stderr
    before = contents(results)
    part = next((results / "parts").iterdir()).relative_to(folder)
    for target in ("results/run.json", "results/manifest.sqlite", str(part)):
        told = run("measure", "results", "-o", target, "--format", "csv")
        assert (told.returncode, "would be overwritten" in told.stderr) == (2, True), told.stderr
    assert "is an input" in run("eval", "results", "--out", "results").stderr
    assert contents(results) == before
