"""A run directory whose evaluation has not ended does not pass a gate, and every command that reads it says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import pantrace
from pantrace.cli import cli
from pantrace.errors import UsageError
from pantrace.model import RunHeader, Sample
from pantrace.store import RunDirectory, unfinished

INTERRUPTED = "this evaluation was interrupted (2 samples so far); run the same eval command again to finish it"


class Stopped(BaseException):
    """Ends an evaluation as a kill does: nothing is tidied up but what closes by itself."""


def recordings(folder: Path, *tones: float) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, tone in enumerate(tones):
        score = {"name": "tone", "value": tone, "scale": {"low": 0, "high": 1}}
        lines = [{"pantrace": "1"}, {"id": f"s{number}", "scores": [score]}]
        (folder / f"{number}.trace.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def plan(folder: Path, more: str = "") -> Path:
    (folder / "ours.toml").write_text('name = "ours"\nversion = "1"\n[thresholds]\ntone = 0.5\n')
    path = folder / "plan.toml"
    path.write_text(f'[measure]\nmetrics = []\n[decide]\nprofile = "ours.toml"\n{more}')
    return path


def stop_after(samples: int) -> object:
    seen: list[Sample] = []

    def on_sample(sample: Sample) -> None:
        seen.append(sample)
        if len(seen) > samples:
            raise Stopped

    return on_sample


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [*map(str, words)])


@pytest.fixture
def broken_off(tmp_path: Path) -> Path:
    """The first two of four recordings."""
    with pytest.raises(Stopped):
        pantrace.evaluate(
            recordings(tmp_path / "runs", 0.9, 0.9, 0.1, 0.1),
            plan=plan(tmp_path),
            out=tmp_path / "out",
            on_sample=stop_after(2),  # type: ignore[arg-type]
        )
    return tmp_path / "out"


@pytest.mark.parametrize("options", [[], ["--complete"], ["--min-pass-rate", "0"], ["--profile", "ours.toml"]])
def test_a_gate_does_not_pass_what_was_interrupted(
    broken_off: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken_off.parent)
    told = call("gate", broken_off, *options)
    assert told.exit_code == 3
    assert f"Could not decide, which is not a pass: {INTERRUPTED}" in " ".join(told.output.split())
    assert "2 cases: 2 run, not finished" in told.output


def test_python_does_not_pass_it_either(broken_off: Path) -> None:
    gate = pantrace.open_results(broken_off).gate()
    assert gate.passed is None
    assert INTERRUPTED in gate.sentence


def test_a_failed_sample_does_not_decide_an_interrupted_run(broken_off: Path, tmp_path: Path) -> None:
    (tmp_path / "strict.toml").write_text('name = "strict"\nversion = "1"\n[thresholds]\ntone = 0.95\n')
    assert pantrace.open_results(broken_off).gate(tmp_path / "strict.toml", min_pass_rate=0.3).passed is None


def test_the_same_command_finishes_it(broken_off: Path, tmp_path: Path) -> None:
    results = pantrace.evaluate(tmp_path / "runs", plan=tmp_path / "plan.toml", out=broken_off)
    assert results.done is not None
    assert (results.done.measured, results.done.reused) == (2, 2)
    assert unfinished(broken_off) is None
    assert call("gate", broken_off).exit_code == 1
    assert call("gate", broken_off, "--min-pass-rate", "0.5").exit_code == 0


def test_no_comparison_passes_that_rests_on_it(broken_off: Path, tmp_path: Path) -> None:
    recordings(tmp_path / "whole", 0.9, 0.9)
    pantrace.evaluate(tmp_path / "whole", plan=tmp_path / "plan.toml", out=tmp_path / "base")
    margin = ["--metric", "tone", "--margin", "0.9"]
    whole = call("compare", tmp_path / "base", tmp_path / "base", *margin, "--gate")
    assert whole.exit_code == 0, whole.output
    for sides in ((tmp_path / "base", broken_off), (broken_off, tmp_path / "base")):
        told = call("compare", *sides, *margin, "--gate")
        assert told.exit_code == 3
        assert f"warning: {broken_off}: {INTERRUPTED}" in told.output
    told = call("gate", broken_off, "--baseline", tmp_path / "base", *margin)
    assert told.exit_code == 3
    assert INTERRUPTED in told.output
    assert (
        pantrace.open_results(tmp_path / "base").gate(baseline=broken_off, metrics="tone", margins=0.9).passed is None
    )


@pytest.mark.parametrize("words", [["show"], ["validate"], ["diagnose"], ["report", "-o", "page.html"]])
def test_other_commands_say_it_in_one_line(broken_off: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(broken_off.parent)
    told = call(words[0], broken_off, *words[1:])
    assert told.exit_code == 0
    assert told.output.count(f"warning: {broken_off}: {INTERRUPTED}") == 1


def test_a_later_evaluation_that_was_interrupted(tmp_path: Path) -> None:
    runs, out = recordings(tmp_path / "runs", 0.9, 0.9), tmp_path / "out"
    pantrace.evaluate(runs, plan=plan(tmp_path), out=out)
    assert call("gate", out).exit_code == 0
    recordings(runs, 0.1, 0.1, 0.1)
    with pytest.raises(Stopped):
        pantrace.evaluate(runs, plan=tmp_path / "plan.toml", out=out, on_sample=stop_after(1))  # type: ignore[arg-type]
    told = call("gate", out)
    assert told.exit_code == 3
    assert "the last evaluation was interrupted (the results are those of the one before)" in " ".join(
        told.output.split()
    )
    pantrace.evaluate(runs, plan=tmp_path / "plan.toml", out=out)
    assert call("gate", out).exit_code == 1


def test_a_wrong_command_leaves_the_results_as_they_are(tmp_path: Path) -> None:
    runs, out = recordings(tmp_path / "runs", 0.9, 0.9), tmp_path / "out"
    pantrace.evaluate(runs, plan=plan(tmp_path), out=out)
    with (
        pytest.raises(UsageError, match="a wrong name"),
        RunDirectory.open_for_writing(
            out, RunHeader(), plan(tmp_path).read_text(), RunDirectory.open(out).content.plan_hash
        ) as directory,
    ):
        directory.begin("something else")
        assert unfinished(out) is not None
        raise UsageError("a wrong name")
    assert unfinished(out) is None


def test_a_run_that_is_being_written(tmp_path: Path) -> None:
    with RunDirectory.open_for_writing(tmp_path / "out", RunHeader(), "", "hash") as directory:
        directory.begin("all")
        found = unfinished(tmp_path / "out")
        assert found is not None
        assert f"is still running (pid {os.getpid()} on " in found.words
        assert "0 samples so far" in found.words
    found = unfinished(tmp_path / "out")
    assert found is not None
    assert "was interrupted" in found.words


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_a_process_that_was_killed(tmp_path: Path) -> None:
    runs, out = recordings(tmp_path / "runs", *[0.9] * 400), tmp_path / "out"
    words = ["eval", runs, "--plan", plan(tmp_path), "--out", out]
    process = subprocess.Popen([sys.executable, "-m", "pantrace", *map(str, words)], stderr=subprocess.DEVNULL)
    while process.poll() is None and len([*out.glob("parts/*.parquet")]) < 20:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it had ended before it could be killed"
    for options in ([], ["--complete"]):
        told = call("gate", out, *options)
        assert told.exit_code == 3
        assert "this evaluation was interrupted (" in told.output
