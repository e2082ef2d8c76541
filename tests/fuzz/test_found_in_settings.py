"""Settings and words of the command line that once ended in a traceback or never: one sentence each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click import BadParameter

from fuzz.attempt import quiet
from fuzz.whole import Whole
from goldens import ROOT
from pantrace.errors import PantraceError, UsageError
from pantrace.wire.text_file import bytes_of


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(tmp_path_factory.mktemp("fuzz") / "whole")


LONG = "a" * 5_000
FOUND = {
    "a rule file that no file can be called": (("check", "{recording}", "--rules", LONG), "no rule file and no pack"),
    "a profile": (("profiles", LONG), "no profile"),
    "a rubric": (("rubrics", LONG), "unknown rubric"),
    "labels of two lines": (("plot", "{recording}", "-o", "x.vl.json", "--labels", "a\nb"), "separated by commas"),
    "half a letter in a question": (("query", "{run}", "select '\udcff'"), "half a letter"),
    "a repetition that no engine counts": (
        ("redact", "{recording}", "-o", "x", "--pattern", "house=a{{99999999999999999999}}"),
        "not a regular expression: the repetition number is too large",
    ),
    "the same in a condition": (("show", "{recording}", "--where", "id~a{{99999999999999999999}}"), "not a regular"),
    "a device as price table": (("measure", "{recording}", "--prices", "/dev/zero"), "larger than 64 MB"),
    "a device as calibration": (("gate", "{judged}", "--calibration", "/dev/zero"), "larger than 64 MB"),
    "a device as rules": (("check", "{recording}", "--rules", "/dev/zero"), "larger than 64 MB"),
    "a device as labels": (("calibrate", "{judged}", "--labels", "/dev/zero"), "larger than 64 MB"),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_is_one_sentence(name: str, whole: Whole) -> None:
    words, said = FOUND[name]
    with pytest.raises(PantraceError, match=said):
        quiet([word.format(**whole.names) for word in words])


@pytest.mark.parametrize("size", ["9" * 30 + "GB", "9" * 400])
def test_a_size_beyond_all_machines(size: str, whole: Whole) -> None:
    with pytest.raises(BadParameter, match="more than any machine has"):
        quiet(["query", whole.names["run"], "select 1", "--max-memory", size])


@pytest.mark.parametrize("trials", ["1" * 400, "999999999999999999999999999999", "10001"])
def test_more_trials_than_anybody_wants(trials: str, whole: Whole, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f"[run]\ntrials = {trials}\n")
    words = ["run", whole.names["cases"], "--agent", "cmd:cat", "--budget-trials", "1", "--plan", str(plan)]
    with pytest.raises(PantraceError, match="trials"):
        quiet([*words, "--out", str(tmp_path / "out")])


def test_criteria_with_half_a_letter_are_refused(whole: Whole, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text('criteria:\n  - id: a\n    scoring: "\\ud83d"\n')
    with pytest.raises(UsageError, match="line 3 has half a letter"):
        quiet(["judge", whole.names["recording"], "--rubric", str(path), "--dry-run"])


def test_definitions_with_half_a_letter_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    entry = '{"metric_type": "llm", "template": "{x}", "dataset_mapping": {"x": "\\ud83d"}}'
    path.write_text(f'{{"metrics": {{"a": {entry}}}}}')
    with pytest.raises(UsageError, match=r"[Hh]alf a"):
        quiet(["rubrics", str(path)])


def test_a_title_with_half_a_letter_is_drawn(whole: Whole, tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    quiet(["plot", whole.names["recording"], "-o", str(out), "--title", "How\ud800 it went"])
    assert "How\ufffd it went" in out.read_text()


def test_a_rubric_does_not_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        'name = "x"\nversion = "1"\ntitle = "x"\ndescription = "\\u001b[2J"\ntemplate = "\\u001b]0;{{ answer }}"\n'
        '[inputs]\nanswer = "required"\n[grades]\n0 = "\\u009b31m"\n1 = "good"\n'
    )
    done = subprocess.run([sys.executable, "-m", "pantrace", "rubrics", str(path)], capture_output=True, text=True)
    assert done.returncode == 0 and "good" in done.stdout
    assert not {"\x1b", "\x9b"} & {*done.stdout}


def test_nothing_to_aggregate_says_what_could_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.jsonl"
    path.write_text('{"pantrace":"2"}\n{"id":')
    for words in (("aggregate", str(path)), ("plot", str(path), "-o", str(tmp_path / "a.svg"))):
        with pytest.raises(UsageError, match=r"not read: .*line 2: the JSON is cut off"):
            quiet(words)


def test_a_pipe_is_read_once(tmp_path: Path, whole: Whole) -> None:
    """`--plan <(make-plan)`: a shell gives a pipe, and it has been read twice."""
    read, write = os.pipe()
    os.write(write, b'name = "piped"\n[measure]\nmetrics = ["token_usage"]\n')
    os.close(write)
    try:
        quiet(["eval", whole.names["recording"], "--plan", f"/dev/fd/{read}", "--out", str(tmp_path / "out")])
    finally:
        os.close(read)
    assert "piped" in (tmp_path / "out/run.json").read_text()


def test_a_name_with_a_zero_byte_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        bytes_of(Path("a\0b"))


def test_a_label_that_no_float_holds_is_refused(tmp_path: Path, whole: Whole) -> None:
    path = tmp_path / "labels.json"
    path.write_text(f'[{{"sample": "a", "general_quality": {"1" * 400}}}]')
    with pytest.raises(UsageError, match="the label 111111111111111111111111 is not a grade"):
        quiet(["calibrate", whole.names["judged"], "--labels", str(path)])


def test_a_threshold_that_no_float_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "test_config.json"
    path.write_text(f'{{"criteria": {{"response_match_score": {{"threshold": {"1" * 400}}}}}}}')
    with pytest.raises(UsageError, match="too large a number"):
        quiet(["profiles", str(path)])


def test_a_heading_of_half_a_letter_is_printed_as_a_sign(tmp_path: Path) -> None:
    golden = ROOT / "openadapt-eval" / "v1_without_dsl_mode.json"
    words = [sys.executable, "-m", "pantrace", "aggregate", str(golden), "--by", b"config.mod\xed\xa0\x80e"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "config.mod\N{REPLACEMENT CHARACTER}" in done.stdout
