"""Every command in front of a person: on a real terminal, on the bundled recordings."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pantrace.cli import cli
from pseudo_terminal import PANTRACE, ROOT, environment, pantrace, untroubled, watch

COMMANDS = cli.list_commands(click.Context(cli))

CASES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "aggregate": ("aggregate examples/openadapt/eval.json", 0, ("1 evaluation: 8 episodes, 96 steps", "0.938")),
    "calibrate": (
        "calibrate examples/inspect/basic.eval --labels labels.csv --metric includes",
        0,
        ("not calibrated: 5 labelled samples, of at least 50", "label \\ score"),
    ),
    "check": (
        "check examples --rules examples/rules.toml --ci",
        1,
        ("13 samples, 26 checks: 76.5% of what applied passed", "there is no final response"),
    ),
    "collect": (
        "collect --out collected --port 0 --minutes 0.01",
        0,
        ("listening on http://127.0.0.1:", "0 spans and records in 0 requests"),
    ),
    "compare": (
        "compare examples/inspect/basic.eval examples/inspect/basic.eval --gate",
        3,
        ("difference", "inconclusive", "McNemar exact", "only 5 pairs"),
    ),
    "convert": ("convert examples/opencode --to vertex-seed -o out.json", 0, ("wrote 2 samples as vertex-seed",)),
    "detect": ("detect examples", 0, ("opencode", "inspect", "openadapt-episodes", "no known format")),
    "eval": (
        "eval examples --plan examples/eval.toml --out out --gate",
        1,
        ("demo-profile: 7 passed, 3 failed", "results in out", "gate (at least 100% must pass): failed"),
    ),
    "formats": ("formats", 0, ("Inspect AI logs", "openadapt-episodes", "--option for writing")),
    "gate": ("gate results --profile examples/profile.toml", 1, ("gate (at least 100% must pass): failed",)),
    "init": ("init plan.toml", 0, ("wrote plan.toml; next: pantrace eval",)),
    "judge": (
        "judge examples/explain --rubric HelpfulnessExplain --judge openai:m --replay --cache replies.sqlite",
        3,
        ("3 replies are missing in the cache", "3 unscored: not in the cache"),
    ),
    "measure": (
        "measure examples --metric tool_success_rate --metric token_usage",
        0,
        ("token_usage.total_tokens", "54.3 %", "$0.0054"),
    ),
    "metrics": ("metrics", 0, ("swallowed_errors.failed_tool_calls", "failed calls that nobody mentioned")),
    "migrate": ("migrate examples/openadapt/eval.json -o new", 0, ("openadapt-eval: migrated",)),
    "plot": ("plot examples/openadapt/eval.json -o picture.svg", 0, ("drew 1 evaluation to picture.svg",)),
    "power": ("power --delta 0.05", 0, ("1,438 cases: a difference of 0.05 is found 80% of the time", "Assumed: ")),
    "query": ("query results SELECT", 0, ("ANSWERS 13", "RECOVERS 13")),
    "redact": ("redact examples/opencode -o clean", 0, ("wrote 2 samples as opencode", "no secret was found")),
    "report": ("report results -o report.html", 0, ("wrote report.html: 13 samples of 1 run",)),
    "rubrics": ("rubrics", 0, ("HelpfulnessExplain", "Is the answer free of harm")),
    "run": (
        "run examples/run/questions.csv --agent cmd:rev --out out --no-eval",
        0,
        ("3 trials run, 0 recorded before; recordings in out/recordings/run.trace.jsonl",),
    ),
    "schema": ("schema", 0, ('"title": "one line of a pantrace native file',)),
    "show": (
        "show examples/opencode/bad_tool_calls.json",
        0,
        ("S4: Make bad tool calls.", "Recovered from three bad tool calls.", "total: 9875 in (4937 cached), 70 out"),
    ),
    "validate": ("validate examples/explain", 1, ("1 checked:", "errors", "'walk-3' is not an agent's name")),
    "view": ("view nothing.json --no-open", 2, ("nothing.json: no such file or directory",)),
}
"""Command -> its words, its exit code, and what must stand on the screen, however it is folded."""

SELECT = "select name, count(*) as n from scores where name in ('ANSWERS', 'RECOVERS') group by name order by name"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory of the bundled recordings."""
    folder = tmp_path_factory.mktemp("results")
    words = [*PANTRACE, "eval", ROOT / "examples", "--plan", ROOT / "examples/eval.toml", "--out", folder / "results"]
    subprocess.run(words, env=environment({}), check=True, capture_output=True)
    return folder / "results"


@pytest.fixture
def folder(tmp_path: Path, results: Path) -> Path:
    """The bundled recordings, labels for some of them, and their results."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(results, tmp_path / "results")
    (tmp_path / "labels.csv").write_text("sample,label\n1,pass\n2,pass\n3,fail\n4,pass\n5,fail\n")
    return tmp_path


def test_every_command_has_a_case() -> None:
    assert set(COMMANDS) == set(CASES)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_command(name: str, columns: int, folder: Path) -> None:
    line, code, expected = CASES[name]
    words = [SELECT if word == "SELECT" else word for word in line.split()]
    seen = pantrace(*words, folder=folder, columns=columns)
    untroubled(seen)
    assert seen.code == code, seen.text
    for text in expected:
        assert text in seen.words, seen.text


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str, folder: Path) -> None:
    seen = pantrace(name, "--help", folder=folder)
    untroubled(seen)
    assert seen.code == 0
    assert seen.lines[0].startswith(f"Usage: pantrace {name}")


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage(name: str, folder: Path) -> None:
    seen = pantrace(name, "--no-such-option", folder=folder)
    untroubled(seen)
    assert seen.code == 2
    assert "No such option" in seen.words


def test_the_demo(tmp_path: Path) -> None:
    for part in ("demo", "examples"):
        shutil.copytree(ROOT / part, tmp_path / part)
    seen = watch(sys.executable, "demo/demo.py", folder=tmp_path)
    untroubled(seen)
    assert seen.code == 0, seen.text
    for text in (
        "$ pantrace detect examples",
        "Recovered from three bad tool calls.",
        "demo-profile: 7 passed, 3 failed",
        "What each format keeps, in %",
        "Next: pantrace eval YOUR_RUNS",
    ):
        assert text in seen.words
    assert (tmp_path / "demo-out/results/run.json").exists()
