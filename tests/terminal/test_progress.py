"""Progress: a person sees that it goes on, and nothing of it when it is done, whatever else is on the screen."""

from __future__ import annotations

import json
import random
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import pantrace as library
from pantrace.cli.progress import line_text
from pantrace.engine.executor import Engine
from pantrace.library.measure import measuring
from pantrace.model import Sample, Step, Text
from pantrace.wire.json import encode
from pantrace.wire.progress import Progress, watching
from pseudo_terminal import PANTRACE, ROOT, Seen, pantrace, untroubled, watch
from thorough import quick, thorough

MANY = 800
SOME = 150
CTRL_C = b"\x03"

SLOW = """
import time
from pantrace.metrics import Measurement, metric


@metric()
def patience(sample, settings):
    time.sleep(0.4)
    return Measurement(value=1.0)
"""

PLAN = """
[measure]
plugins = ["slow.py"]
metrics = ["patience"]
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of OpenCode many times, each with words of its own."""
    (first,) = library.read(ROOT / "examples/opencode/multi_turn_reasoning_edit_compaction.json").samples
    dice = random.Random(7)

    def said(number: int) -> Sample:
        assert first.trajectory is not None
        words = Text(text=" ".join(dice.choices(["alpha", "beta", "gamma", "delta"], k=40)))
        steps = (Step(role="system", parts=(words,)), *first.trajectory.steps)
        return replace(first, id=f"s{number}", trajectory=replace(first.trajectory, steps=steps))

    path = tmp_path_factory.mktemp("many") / "many.trace.jsonl"
    lines = [b'{"pantrace": "1", "run": {"name": "many"}}', *(encode(said(number)) for number in range(MANY))]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The bundled cases, and a metric that takes its time for each of the three."""
    shutil.copytree(ROOT / "examples/explain", tmp_path / "explain")
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "slow.toml").write_text(PLAN)
    return tmp_path


LONG = {
    "convert": "convert MANY --to vertex-seed -o out.json",
    "measure": "measure MANY",
    "measure to a file": "measure MANY -o rows.jsonl",
    "check": "check MANY --rules stateless-handoff",
    "eval": f"eval MANY --limit {SOME} --out out",
    "judge": f"judge MANY --limit {SOME} --rubric safety --judge openai:m --replay --cache replies.sqlite",
}
"""What takes its time."""

SLOWLY = "measure explain --plugin slow.py --metric patience"
WRITTEN = "Wrote 3 rows to rows.jsonl."


def words_of(line: str, many: Path) -> list[str]:
    return [str(many) if word == "MANY" else word for word in line.split()]


@pytest.mark.parametrize("name", quick({"measure"}, LONG))
def test_the_count_grows_and_is_gone_at_the_end(name: str, many: Path, tmp_path: Path) -> None:
    seen = pantrace(*words_of(LONG[name], many), folder=tmp_path)
    untroubled(seen)
    assert seen.code == {"judge": 3, "check": 1}.get(name, 0), seen.text
    counted = seen.counted()
    # How often it is drawn depends on the machine's haste; that it grows, the slow metric below shows.
    assert counted, seen.under_way
    assert counted == sorted(counted)
    assert counted[-1] <= MANY


BAR = re.compile(r"\[(#* *)\] (\d+) %(, \d+:\d\d:\d\d left)?$")


@pytest.mark.parametrize(
    "line",
    quick(
        {"measure MANY"},
        (
            "measure MANY",
            "eval MANY --out out",
            "convert MANY --to native -o out.trace.jsonl",
            "report MANY -o out.html --no-plots",
        ),
    ),
)
def test_a_bar_says_how_far_it_is(line: str, many: Path, tmp_path: Path) -> None:
    seen = pantrace(*words_of(line, many), folder=tmp_path)
    untroubled(seen)
    assert seen.code == 0, seen.text
    drawn = [match for text in seen.under_way if (match := BAR.search(text))]
    shares = [int(match[2]) for match in drawn]
    assert shares and shares == sorted(shares) and shares[-1] <= 100
    # How often it is drawn is the machine's haste, that the bytes are followed is ours.
    assert any(share > 0 for share in shares), seen.under_way
    assert all(len(match[1]) == 20 and match[1].count("#") == int(match[2]) // 5 for match in drawn)


@thorough
def test_trials_are_counted_of_how_many_there_will_be(tmp_path: Path) -> None:
    agent = tmp_path / "slow.sh"
    agent.write_text("sleep 0.4; rev\n")
    words = ["run", ROOT / "examples/run/questions.csv", "--agent", f"cmd:bash {agent}", "--out", "out", "--no-eval"]
    seen = pantrace(*words, "--jobs", 1, folder=tmp_path)
    untroubled(seen)
    assert any(re.match(r"1 trial, .* 33 %, .* left$", line) for line in seen.under_way), seen.under_way


@pytest.mark.parametrize(
    ("done", "share", "seconds", "text"),
    [
        (0, None, 1.2, "0 samples, 0:00:01"),
        (1, None, 2.0, "1 sample, 0.5/s, 0:00:02"),
        (1234, 0.42, 4.0, "1,234 samples, 308/s, 0:00:04 [########            ] 42 %, 0:00:05 left"),
        (3, 0.001, 9.0, "3 samples, 0.3/s, 0:00:09 [                    ] 0 %"),
        (9, 1.0, 60.0, "9 samples, 0.1/s, 0:01:00 [####################] 100 %"),
    ],
)
def test_the_words_of_the_line(done: int, share: float | None, seconds: float, text: str) -> None:
    assert line_text("sample", done, share, seconds) == text


def test_what_other_processes_have_done_counts(tmp_path: Path) -> None:
    inputs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for number, path in enumerate(inputs, 1):
        path.write_bytes(b"x" * 100 * number)
    pace = Progress()
    pace.expect([*inputs, tmp_path / "gone.jsonl"])
    assert (pace.expected, pace.done()) == (300, 0)
    pace.begin(inputs[0])
    pace.at(lambda: 0.5)
    assert pace.done() == 50
    pace.end()
    pace.add(samples=7, size=150)
    assert (pace.samples, pace.done()) == (7, 250)


def test_what_waits_for_judges_is_not_done() -> None:
    pace = Progress()
    pace.expected = 1000
    pace.add(size=800)
    pace.taken, pace.samples = 40, 10
    assert pace.done() == 200
    pace.add(size=200)
    pace.samples = 40
    assert pace.done() == 1000


def test_judge_and_other_processes_tell_how_far_they_are(tmp_path: Path) -> None:
    for number in (1, 2):
        shutil.copy(ROOT / "examples/explain/cases.explain.jsonl", tmp_path / f"{number}.explain.jsonl")
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    shares: list[tuple[int, float]] = []

    def count(_: Sample) -> None:
        pace.samples += 1
        shares.append((pace.expected, pace.done()))

    with watching(Progress()) as pace:
        library.judge(tmp_path, rubrics="safety", on_sample=count)
    # All six were read before the first was judged.
    assert [(expected, round(done * 6 / size, 6)) for expected, done in shares] == [(size, n) for n in range(1, 7)]
    two = Engine(jobs=2)
    for work in (
        lambda: [*measuring([tmp_path], metrics=["contains"], engine=two).rows(count)],
        lambda: library.check(tmp_path, rules="stateless-handoff", engine=two, on_sample=count),
    ):
        shares.clear()
        with watching(Progress()) as pace:
            work()
        assert [pace.samples, pace.expected, pace.done()] == [6, size, size]
        assert shares[0] == (size, 0) and shares[-1] == (size, size / 2)  # the second part is done when it is counted


def test_the_first_drawings_may_come_before_the_first_sample(folder: Path) -> None:
    seen = pantrace(*SLOWLY.split(), folder=folder)
    untroubled(seen)
    assert seen.code == 0, seen.text
    assert seen.counted()[0] == 0
    assert set(seen.counted()) >= {0, 1, 2}


def test_the_table_of_measure_stands_whole_below_its_sentence(folder: Path) -> None:
    seen = pantrace(*SLOWLY.split(), folder=folder)
    assert seen.lines[:2] == ["3 samples measured.", ""]
    assert seen.lines[2].startswith("metric ")
    assert set(seen.lines[3]) == {"─"}
    assert seen.lines[4].startswith("patience ")
    assert seen.lines[5:] == []


@thorough
@pytest.mark.parametrize("line", ["check explain --plugin slow.py", "eval explain --plan slow.toml --out out"])
def test_other_commands_wait_alike(line: str, folder: Path) -> None:
    seen = pantrace(*line.split(), folder=folder)
    untroubled(seen)
    assert seen.code == (3 if line.startswith("check") else 0), seen.text  # a number is no check: it could not be run
    assert len(seen.counted()) >= 3
    assert "patience" in seen.words


def when_counting(screen: Any) -> bytes | None:
    """Ctrl-C as soon as something was counted."""
    return CTRL_C if any(Seen(under_way=screen.under_way).counted()) else None


def when_waiting(screen: Any) -> bytes | None:
    """Ctrl-C as soon as there is a line, before anything was counted."""
    return CTRL_C if screen.under_way else None


KEPT = "stopped; what was committed is in out; run the same command to continue"
"""What `eval` says; the others leave nothing behind and say nothing."""


@pytest.mark.parametrize("name", quick({"eval"}, LONG))
def test_ctrl_c_in_the_middle(name: str, many: Path, tmp_path: Path) -> None:
    seen = pantrace(*words_of(LONG[name], many), folder=tmp_path, keys=when_counting)
    assert seen.code == 130, seen.text
    untroubled(seen)
    assert seen.words == (KEPT if name == "eval" else "")
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith("replies.sqlite")}
    assert left <= {"out"}, "half an output stays behind"


@thorough
@pytest.mark.parametrize("line", [SLOWLY, "check explain --plugin slow.py", "eval explain --plan slow.toml --out out"])
def test_ctrl_c_before_the_first_sample(line: str, folder: Path) -> None:
    seen = pantrace(*line.split(), folder=folder, keys=when_waiting)
    assert seen.code == 130, seen.text
    untroubled(seen)
    assert seen.words == (KEPT if line.startswith("eval") else "")


@thorough
def test_eval_goes_on_after_ctrl_c(many: Path, tmp_path: Path) -> None:
    def when_some_are_kept(screen: Any) -> bytes | None:
        return CTRL_C if any(count > 100 for count in Seen(under_way=screen.under_way).counted()) else None

    words = words_of("eval MANY --limit 400 --out out", many)
    assert pantrace(*words, folder=tmp_path, keys=when_some_are_kept).code == 130
    seen = pantrace(*words, folder=tmp_path)
    untroubled(seen)
    assert seen.code == 0
    told = re.search(r"(\d+) samples measured, (\d+) reused", seen.words)
    assert told is not None and int(told[1]) + int(told[2]) == 400
    assert int(told[1]) < 400, "what was kept is not measured again"


@pytest.mark.parametrize("columns", quick({20}, (20, 40, 120)))
def test_the_line_fits_any_terminal(columns: int, folder: Path) -> None:
    seen = pantrace(*SLOWLY.split(), "-o", "rows.jsonl", folder=folder, columns=columns)
    assert seen.code == 0
    assert seen.column == 0
    assert [line for line in seen.under_way if line.startswith("1 sample,")]
    assert "".join(seen.text.splitlines()).replace("  ", " ") == WRITTEN or seen.words == WRITTEN


def test_keys_pressed_meanwhile_do_not_stay(folder: Path) -> None:
    pressed = "abc"
    words = [*SLOWLY.split(), "-o", "rows.jsonl"]
    seen = pantrace(*words, folder=folder, keys=lambda screen: pressed.encode() if screen.under_way else None)
    assert any(pressed in line for line in seen.under_way)
    assert seen.text == WRITTEN


@pytest.mark.parametrize("term", quick({"dumb"}, ("dumb", "unknown")))
def test_a_dumb_terminal_gets_no_line(term: str, folder: Path) -> None:
    seen = pantrace(*SLOWLY.split(), "-o", "rows.jsonl", folder=folder, variables={"TERM": term})
    assert seen.code == 0
    assert seen.under_way == [WRITTEN]


@thorough
@pytest.mark.parametrize(
    "variables", [{"TERM": None}, {"NO_COLOR": "1"}, {"COLUMNS": "40"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_other_surroundings(variables: dict[str, str | None], folder: Path) -> None:
    seen = pantrace(*SLOWLY.split(), "-o", "rows.jsonl", folder=folder, variables=variables)
    untroubled(seen)
    assert seen.counted()
    assert seen.text == WRITTEN


def test_no_colour_where_none_is_wanted(tmp_path: Path) -> None:
    source = ROOT / "examples/opencode/bad_tool_calls.json"
    assert pantrace("show", source, "--no-pager", folder=tmp_path).colours
    plain = pantrace("show", source, "--no-pager", folder=tmp_path, variables={"NO_COLOR": "1"})
    untroubled(plain)
    assert not plain.colours
    assert "Recovered from three bad tool calls." in plain.text


def test_rows_that_go_to_a_file_do_not_meet_the_line(folder: Path) -> None:
    out = folder / "rows.json"
    seen = pantrace(*SLOWLY.split(), "--json", folder=folder, stdout=out)
    untroubled(seen)
    assert seen.counted()
    assert seen.text == ""
    assert [row["value"] for row in json.loads(out.read_bytes())] == [1.0, 1.0, 1.0]


def rows_in(kind: str, seen: Seen) -> int:
    if kind == "json":
        return len(json.loads(seen.text))
    return len(seen.lines) - 1 if kind == "csv" else len([json.loads(line) for line in seen.lines])


@pytest.mark.parametrize("kind", quick({"json"}, ("json", "jsonl", "csv")))
def test_rows_on_the_screen_do_not_meet_the_line(kind: str, folder: Path) -> None:
    seen = pantrace(*SLOWLY.split(), "--format", kind, folder=folder, columns=1_000)
    untroubled(seen)
    assert not seen.counted()
    assert rows_in(kind, seen) == 3


@thorough
def test_a_document_on_the_screen_comes_when_the_line_is_gone(many: Path, tmp_path: Path) -> None:
    seen = pantrace("convert", many, "--limit", 60, "--to", "explain", folder=tmp_path, columns=10_000)
    untroubled(seen)
    found = [json.loads(line)["case_id"] for line in seen.lines if line.startswith("{")]
    assert found == [f"s{number}" for number in range(60)]


def test_what_is_not_text_stays_off_the_screen(tmp_path: Path) -> None:
    words = ["convert", ROOT / "examples/inspect/basic.eval", "--to", "inspect"]
    seen = pantrace(*words, folder=tmp_path)
    untroubled(seen)
    assert seen.code == 2
    assert seen.words == "error: inspect is binary and cannot be shown in a terminal: name a file with -o"
    assert pantrace(*words, folder=tmp_path, stdout=tmp_path / "out.eval").code == 0
    assert (tmp_path / "out.eval").read_bytes().startswith(b"PK")


@thorough
@pytest.mark.parametrize("line", ["convert - --to native --no-loss", "eval - --out out"])
def test_what_is_typed_is_not_drawn_over(line: str, tmp_path: Path) -> None:
    typed = '{"pantrace": "1", "run": {}}\n{"id": "typed"}\n\x04'
    begun = time.monotonic()

    def keys(screen: Any) -> bytes | None:
        return typed.encode() if time.monotonic() - begun > 2 else None

    seen = pantrace(*line.split(), folder=tmp_path, keys=keys)
    untroubled(seen)
    assert seen.code == 0, seen.text
    assert seen.lines[:2] == typed.splitlines()[:2]


def test_stderr_that_is_a_file_gets_words_only(folder: Path) -> None:
    log = folder / "log.txt"
    seen = pantrace(*SLOWLY.split(), "-o", "rows.jsonl", folder=folder, stderr=log)
    untroubled(seen)
    assert seen.text == ""
    assert log.read_text() == f"{WRITTEN}\n"


@pytest.mark.parametrize(
    "line",
    quick(
        {"show MANY --json"},
        (f"{SLOWLY} --format jsonl", f"{SLOWLY} --json", "show MANY --json", "convert MANY --to native --no-loss"),
    ),
)
def test_head_in_a_pipe(line: str, many: Path, folder: Path) -> None:
    words = " ".join(words_of(line, many))
    script = f'"{PANTRACE[0]}" -m pantrace {words} | head -n 1; echo "ended with ${{PIPESTATUS[0]}}"'
    seen = watch("bash", "-c", script, folder=folder, columns=1_000)
    untroubled(seen)
    assert seen.lines[0][0] in "[{"
    assert seen.lines[-1] in ("ended with 141", "ended with 0")  # 0: all was printed before the reader had gone
    assert len(seen.lines) == 2


def test_a_gate_that_nobody_hears_does_not_pass(folder: Path) -> None:
    script = f'"{PANTRACE[0]}" -m pantrace check MANY --rules stateless-handoff -v --ci | true; exit ${{PIPESTATUS[0]}}'
    script = script.replace("MANY", str(ROOT / "examples"))
    assert watch("bash", "-c", script, folder=folder).code in (1, 3, 141)


@pytest.mark.parametrize("closed", quick({"<&- >&- 2>&-"}, ("2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-")))
def test_closed_streams_are_no_trouble(closed: str, tmp_path: Path) -> None:
    source = ROOT / "examples/opencode"
    script = f'"{PANTRACE[0]}" -m pantrace convert "{source}" --to vertex-seed -o out.json {closed}'
    seen = watch("bash", "-c", script, folder=tmp_path)
    untroubled(seen)
    assert seen.code == 0, seen.text
    assert len(json.loads((tmp_path / "out.json").read_bytes())) == 2


@thorough
def test_ctrl_c_in_the_demo(tmp_path: Path) -> None:
    for part in ("demo", "examples"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shown = "# 1. Recordings of five systems"
    seen = watch(
        PANTRACE[0], "demo/demo.py", folder=tmp_path, keys=lambda screen: CTRL_C if shown in screen.text() else None
    )
    untroubled(seen)
    assert seen.code == 130, seen.text


def test_ctrl_c_while_pantrace_is_being_loaded(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt  # pressed just now\n")
    seen = pantrace("formats", folder=tmp_path, variables={"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"})
    untroubled(seen)
    assert seen.code == 130
    assert seen.text == ""
