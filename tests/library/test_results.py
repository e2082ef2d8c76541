"""Evaluations from Python: the numbers and the gate of the command, and a directory that can be opened again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import pantrace
from pantrace.cli import cli
from pantrace.errors import UsageError
from pantrace.library.results import Results

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return pantrace.evaluate(EXAMPLES, plan=EXAMPLES / "eval.toml", out=tmp_path_factory.mktemp("results") / "run")


def test_evaluate_finds_what_the_command_finds(results: Results, tmp_path: Path) -> None:
    words = ["eval", EXAMPLES, "--plan", EXAMPLES / "eval.toml", "--out", tmp_path / "r", "--gate"]
    assert CliRunner().invoke(cli, [*map(str, words)]).exit_code == 1
    command, python = pantrace.open_results(tmp_path / "r").to_dict(), results.to_dict()
    assert {name: value for name, value in python.items() if name in command and name != "out"} == {
        name: value for name, value in command.items() if name != "out"
    }
    assert {*python} - {*command} >= {"measured", "reused", "broken", "judging"}  # known only where it was done
    gate = results.gate()
    assert gate.passed is False
    assert not gate
    assert "tool_success_rate=0.00" in str(gate)


def test_a_gate_is_open_about_what_it_could_not_decide(results: Results) -> None:
    assert results.gate(min_pass_rate=0.5).passed is True
    decided = results.decisions.to_arrow().to_pylist()
    undecided = [row["sample"] for row in decided if row["passed"] is None]
    # 7 of 13 pass, and 3 could not be decided: whether 60 % pass is not known.
    assert (len(undecided), results.gate(min_pass_rate=0.6).passed) == (3, None)


def test_scores_decisions_and_questions_are_tables(results: Results) -> None:
    (row,) = results.query("select count(*) as n, max(value) as most, min(sample) as first from scores").to_dict()
    assert row["n"] == len(results.scores)
    assert results.to_arrow().num_rows >= len(results.scores)
    assert len([*results]) == len([*results]) == 13
    assert "demo-profile: 7 passed, 3 failed" in repr(results)
    assert "<table>" in results._repr_html_()


def test_results_stand_where_paths_stand(results: Results, tmp_path: Path) -> None:
    found = pantrace.compare(results, results, metrics=["ANSWERS"])
    assert [each.metric for each in found.comparisons] == ["ANSWERS"]
    assert found.verdicts == {"ANSWERS": "no change"}
    assert found.to_arrow().num_rows == 1
    written = pantrace.report(results, out=tmp_path / "report.html")
    assert written.samples == 13
    assert (tmp_path / "report.html").read_bytes().startswith(b"<!")
    picture = pantrace.plot(results, results, metrics="ANSWERS", labels=["a", "b"])
    assert picture._repr_svg_().startswith("<svg")
    assert picture.save(tmp_path / "plot.vl.json").exists()


def test_results_are_not_written_over_inputs(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        pantrace.evaluate(EXAMPLES, out=EXAMPLES)
    with pytest.raises(UsageError, match="name what to evaluate"):
        pantrace.evaluate(out=tmp_path / "r")


def test_a_selection_in_the_words_of_the_commands(tmp_path: Path) -> None:
    chosen = pantrace.select(where="agent=build", limit=1)
    assert len({row.sample for row in pantrace.measure(EXAMPLES / "opencode", selection=chosen)}) == 1
    with pytest.raises(UsageError, match="since"):
        pantrace.select(since="whenever")


def test_a_misspelt_word_is_refused_and_does_not_mean_another() -> None:
    with pytest.raises(UsageError, match="did you mean 'turn'"):
        pantrace.measure(EXAMPLES / "opencode", per="trun")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="did you mean 'paired'"):
        pantrace.plot(EXAMPLES / "inspect", kind="pared")  # type: ignore[arg-type]


def run_pytest(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pantrace.library.pytest_plugin"]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [*command, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_example_of_the_pytest_fixture_runs(tmp_path: Path) -> None:
    done = run_pytest(str(ROOT / "docs/examples/test_agent.py"), "--rootdir", str(tmp_path), folder=tmp_path)
    assert "2 passed" in done.stdout, done.stdout


def test_a_test_fails_with_the_reasons_and_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        f"def test_it(pantrace_eval):\n    pantrace_eval({str(EXAMPLES)!r}, plan={str(EXAMPLES / 'eval.toml')!r})\n"
        "def test_typo(pantrace_eval):\n    pantrace_eval('no-such-folder')\n"
    )
    done = run_pytest(folder=tmp_path)
    assert done.returncode == 1
    assert "gate (at least 100% must pass): failed" in done.stdout
    assert "blocked: failed: Below threshold: ANSWERS=0.00" in done.stdout
    assert "pantrace: no-such-folder: no such file or directory" in done.stdout
    assert "Traceback" not in done.stdout


def test_the_plugin_is_registered_and_loads_nothing_heavy() -> None:
    from importlib.metadata import entry_points

    (entry,) = [each for each in entry_points(group="pytest11") if each.name == "pantrace"]
    assert entry.value == "pantrace.library.pytest_plugin"
    program = (
        f"import sys, pytest; before = {{*sys.modules}}; import {entry.value}; print(*({{*sys.modules}} - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {name for name in done.stdout.split() if not name.startswith("pantrace")} <= set()


def test_the_documented_question_about_costs_counts_estimates(tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs/store.md").read_text()
    reported, estimated = re.findall(r"```sql\n(.*?)```", page[page.index("What do runs cost?") :], re.DOTALL)[:2]
    found = pantrace.evaluate(EXAMPLES / "adk", out=tmp_path / "run")
    # These recordings report no cost; prices are known for their models.
    assert found.query(reported).to_dict()[0]["usd"] is None
    (row,) = found.query(estimated).to_dict()
    assert (row["priced_samples"], row["usd"] > 0) == (2, True)
