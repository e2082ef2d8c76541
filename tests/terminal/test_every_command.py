"""Every command in front of a person: on a real terminal, on the bundled recordings."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pantrace.cli import cli, main
from pseudo_terminal import PANTRACE, ROOT, environment, pantrace, untroubled, watch
from thorough import quick, thorough

COMMANDS = cli.list_commands(click.Context(cli))

CASES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "aggregate": ("aggregate examples/openadapt/eval.json", 0, ("1 evaluation: 8 episodes, 96 steps", "0.938")),
    "calibrate": (
        "calibrate examples/inspect/basic.eval --labels labels.csv --metric includes",
        0,
        ("not calibrated: 5 labelled samples; 50 are required", "label \\ score"),
    ),
    "check": (
        "check examples --rules examples/rules.toml",
        1,
        ("Failed: 13 of 17 checks passed (76.5 %) in 13 samples, 4 failed", "there is no final response"),
    ),
    "collect": (
        "collect --out collected --port 0 --minutes 0.01",
        0,
        ("listening on http://127.0.0.1:", "0 spans and records in 0 requests"),
    ),
    "compare": (
        "compare examples/inspect/basic.eval examples/inspect/basic.eval --gate",
        3,
        ("difference", "no change", "McNemar exact", "only 5 pairs"),
    ),
    "convert": (
        "convert examples/opencode --to vertex-seed -o out.json",
        0,
        ("Wrote 2 samples as vertex-seed", "Not kept: "),
    ),
    "detect": ("detect examples", 0, ("opencode", "inspect", "openadapt-episodes", "no known format")),
    "diagnose": ("diagnose results", 0, ("failed, most often", "the rule ANSWERS is broken", "pantrace show results")),
    "eval": (
        "eval examples --plan examples/eval.toml --out out --gate",
        1,
        ("Failed: 7 of 13 samples passed, 3 failed", "results are in out"),
    ),
    "formats": ("formats", 0, ("Inspect AI logs", "openadapt-episodes", "--option for writing")),
    "gate": (
        "gate results --profile examples/profile.toml",
        1,
        ("Failed: 7 of 13 samples passed demo-profile", "4 samples failed:"),
    ),
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
    "metrics": ("metrics", 0, ("swallowed_errors.failed_tool_calls", "failed calls that the answer does not mention")),
    "migrate": ("migrate examples/openadapt/eval.json -o new", 0, ("openadapt-eval: migrated",)),
    "plot": ("plot examples/openadapt/eval.json -o picture.svg", 0, ("drew 1 evaluation to picture.svg",)),
    "power": ("power --delta 0.05", 0, ("1,438 cases: a difference of 0.05 is found 80% of the time", "Assumed: ")),
    "profiles": ("profiles prep_default", 0, ("weighted mean of at least: 3.65", "TaskAdherenceExplain 3.7 0.2")),
    "query": ("query results SELECT", 0, ("ANSWERS 13", "RECOVERS 13")),
    "redact": ("redact examples/opencode -o clean", 0, ("Wrote 2 samples as opencode", "no secret was found")),
    "report": ("report results -o report.html", 0, ("wrote report.html: 13 samples of 1 run",)),
    "rubrics": ("rubrics", 0, ("HelpfulnessExplain", "Is the answer free of harm")),
    "run": (
        "run examples/run/questions.csv --agent cmd:rev --out out --no-eval",
        0,
        ("3 trials run, 0 recorded before; recordings in out/recordings/run.trace.jsonl",),
    ),
    "schema": ("schema", 0, ('"title": "one line of a pantrace native file',)),
    "show": (
        "show examples/opencode/bad_tool_calls.json --no-pager",
        0,
        ("S4: Make bad tool calls.", "Recovered from three bad tool calls.", "total: 9875 in (4937 cached), 70 out"),
    ),
    "validate": (
        "validate examples/explain",
        1,
        ("Not valid: 2 errors, 12 warnings", "'walk-3' is not an agent's name"),
    ),
    "view": ("view nothing.json --no-open", 2, ("nothing.json: no such file or directory",)),
}
"""Command -> its words, its exit code, and what must stand on the screen, however it is folded."""

SELECT = "select name, count(*) as n from scores where name in ('ANSWERS', 'RECOVERS') group by name order by name"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory of the bundled recordings."""
    folder = tmp_path_factory.mktemp("results")
    shutil.copytree(ROOT / "examples", folder / "examples")
    # Paths as they are given decide the order of samples: nothing may depend on where this checkout lies.
    words = [*PANTRACE, "eval", "examples", "--plan", "examples/eval.toml", "--out", "results"]
    subprocess.run(words, cwd=folder, env=environment({}), check=True, capture_output=True)
    return folder / "results"


@pytest.fixture
def folder(tmp_path: Path, results: Path) -> Path:
    """The bundled recordings, labels for some of them, and their results."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(results, tmp_path / "results")
    torn = (ROOT / "examples/opencode/bad_tool_calls.json").read_bytes()[:3000]
    (tmp_path / "torn.json").write_bytes(torn)
    (tmp_path / "labels.csv").write_text("sample,label\n1,pass\n2,pass\n3,fail\n4,pass\n5,fail\n")
    return tmp_path


def test_every_command_has_a_case() -> None:
    assert set(COMMANDS) == set(CASES)


OTHERS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "help": ("--help", 0, ("Look", "Exit codes")),
    "measure-one": ("measure examples/opencode", 0, ("2 samples measured.",)),
    "measure-per-sample": ("measure examples/opencode --per sample", 0, ()),
    "show-list": ("show examples --sort cost", 0, ("total",)),
    "show-one": ("show examples --sample ses_e1f8 --no-pager", 0, ()),
    "compare-runs": (
        "compare results results",
        0,
        ("The other 18 comparisons: without any change", "-v shows all metrics"),
    ),
    "gate-alone": ("gate results", 1, ("demo-profile", "--profile NAME uses another")),
    "error": ("convert examples/opencode --to vertx -o out.json", 2, ("did you mean vertex",)),
    "torn": ("show torn.json", 2, ("the JSON is cut off after 3,000 bytes",)),
}
"""What else is looked at."""

SCREENS = {**CASES, **OTHERS}
FOLDER = Path(__file__).parent / "screens"
BEGINNING = {"formats": 14, "metrics": 14, "rubrics": 14, "schema": 14}
"""Long lists, and how many of their lines are held: the rest is in the docs, which are held as well."""
CHANGING = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\d+(\.\d+)? (kB|MB)"), r"N \2"),
    (re.compile(r" +$", re.MULTILINE), ""),
)
"""What is another each time."""


def held(name: str, columns: int, text: str) -> None:
    """The whole screen is as it was. PANTRACE_ACCEPT=1 writes it anew; read the diff."""
    for pattern, words in CHANGING:
        text = pattern.sub(words, text)
    text = "\n".join(text.split("\n")[: BEGINNING.get(name)]) + "\n"
    golden = FOLDER / f"{name}.{columns}.txt"
    if os.environ.get("PANTRACE_ACCEPT"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


def words_of(name: str) -> list[str]:
    return [SELECT if word == "SELECT" else word for word in SCREENS[name][0].split()]


@pytest.mark.parametrize("name", quick({"eval", "show", "error"}, SCREENS))
def test_screen(name: str, folder: Path) -> None:
    _, code, expected = SCREENS[name]
    seen = pantrace(*words_of(name), folder=folder)
    untroubled(seen)
    assert seen.code == code, seen.text
    for text in expected:
        assert text in seen.words, seen.text
    if name in ("eval", "error"):
        assert "red" in seen.colours
    held(name, 80, seen.text)


IN_A_ROW = """
import json, shutil, sys
from pantrace.cli import main
for name, words in json.load(open("commands.json")).items():
    shutil.rmtree("out", ignore_errors=True)
    shutil.rmtree("results")
    shutil.copytree("kept", "results")
    try:
        main(words)
        code = 0
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    print("==== the end of", name, code, flush=True)
"""
"""All commands in one process: another hundred processes would take minutes."""
END = re.compile(r"==== the end of (\S+) (\S+)")


@pytest.mark.parametrize(
    ("columns", "plain"),
    [(80, True), pytest.param(120, True, marks=thorough), pytest.param(120, False, marks=thorough)],
)
def test_screens_of_other_terminals(columns: int, plain: bool, folder: Path) -> None:
    """Without colour, and on a wide screen with and without: the letters are the same as in the files."""
    (folder / "commands.json").write_text(json.dumps({name: words_of(name) for name in SCREENS}))
    shutil.copytree(folder / "results", folder / "kept")
    variables = {"NO_COLOR": "1"} if plain else None
    seen = watch(sys.executable, "-c", IN_A_ROW, folder=folder, columns=columns, variables=variables)
    untroubled(seen)
    ended, lines = [], []
    for line in seen.lines:
        if (end := END.fullmatch(line)) is None:
            lines.append(line)
            continue
        name = end[1]
        assert int(end[2]) == SCREENS[name][1], name
        held(name, columns, "\n".join(lines))
        ended.append(name)
        lines.clear()
    assert ended == list(SCREENS)
    assert (not seen.colours) if plain else ("red" in seen.colours)


def test_no_screen_is_left_behind() -> None:
    wanted = {f"{name}.{columns}.txt" for name in SCREENS for columns in (80, 120)}
    wanted |= {"demo.80.txt", "demo.120.txt"}
    assert {path.name for path in FOLDER.iterdir()} == wanted


def test_a_comparison_of_few_cases_fits_a_screen() -> None:
    assert len((FOLDER / "compare-runs.80.txt").read_text().splitlines()) <= 40


@pytest.mark.parametrize("name", COMMANDS)
def test_help_and_wrong_usage(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    told = capsys.readouterr().out
    assert end.value.code == 0
    assert told.startswith(f"Usage: pantrace {name}")
    assert max(map(len, told.split("\n"))) <= 80
    with pytest.raises(SystemExit) as end:
        main([name, "--no-such-option"])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("error: No such option")


@thorough
@pytest.mark.parametrize("columns", [80, 120])
def test_the_demo(columns: int, tmp_path: Path) -> None:
    for part in ("demo", "examples"):
        shutil.copytree(ROOT / part, tmp_path / part)
    variables = {"NO_COLOR": "1"} if columns == 120 else None
    seen = watch(sys.executable, "demo/demo.py", folder=tmp_path, columns=columns, variables=variables)
    untroubled(seen)
    assert seen.code == 0, seen.text
    for text in (
        "$ pantrace show examples --sort cost",
        "Recovered from three bad tool calls.",
        "Failed: 7 of 13 samples passed, 3 failed",
        "Wrote 2 samples as vertex-agent to demo-out/sessions.vertex.jsonl",
        "Open demo-out/report.html to see it.",
    ):
        assert text in seen.words
    assert ("red" in seen.colours) == (columns == 80)
    held("demo", columns, seen.text)
    assert (tmp_path / "demo-out/report.html").stat().st_size > 100_000
    assert (tmp_path / "demo-out/results/run.json").exists()
