"""Names in files, samples, tools and scores begin no line of their own: a line of a terminal is ours from its start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pseudo_terminal

BREAKS = ("\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029")
FORGED = "Passed: all of it"


def named(first: str) -> str:
    """A name that says more with each character that a terminal or a log may take for the end of a line."""
    return first + "".join(f"{each}{FORGED}" for each in BREAKS)


def sample(number: int) -> dict[str, object]:
    call = {"type": "call", "id": "c", "name": named("tool"), "arguments": {}}
    result = {
        "type": "result",
        "call_id": "c",
        "name": named("tool"),
        "error": named("why") if number else "why",
        "output": "no",
    }
    steps = [
        {"role": "user", "parts": [{"type": "text", "text": "go"}]},
        *({"role": "agent", "agent": named("who"), "model": named("model"), "parts": [call, result]} for _ in range(4)),
    ]
    return {
        "id": named(f"id {number}"),
        "case": {"id": named(f"case {number}"), "labels": {named("label"): named("value")}},
        "trajectory": {
            "title": named("title"),
            "steps": steps,
            "children": [{"id": named("child"), "steps": steps}],
            "outcome": {"status": "failed"},
        },
        "scores": [{"name": named("quality"), "value": number % 2}],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    lines = [{"pantrace": "2", "run": {"name": named("run")}}, *map(sample, range(4))]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    recordings = folder / named("in")
    recordings.mkdir()
    (recordings / f"{named('a')}.trace.jsonl").write_text(text)
    (recordings / f"{named('broken')}.trace.jsonl").write_text('{"pantrace": "2", "run": {}}\n{"id": 3}\n')
    (recordings / f"{named('other')}.jsonl").write_text("[[]]")
    (folder / "bad").mkdir()
    for number in range(3):
        (folder / "bad" / f"{named(str(number))}.trace.jsonl").write_text('{"pantrace": "2", "run": {}}\n{"id": 3}\n')
    (folder / "one.trace.jsonl").write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[1]) + "\n")
    (folder / "p.toml").write_text('name = "p"\nversion = "1"\n[thresholds]\ntool_success_rate = 0.5\n')
    (folder / "plan.toml").write_text(
        '[measure]\nmetrics = ["tool_success_rate", "repeated_calls"]\n[decide]\nprofiles = ["p.toml"]\n'
    )
    for name in ("results", named("again")):
        done = piped(folder, "eval", named("in"), "--plan", "plan.toml", "--out", name)
        assert (folder / name / "run.json").is_file(), done
    return folder


def piped(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pantrace", *words],
        cwd=folder,
        env=pseudo_terminal.environment({}),
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1, 2, 3), done.stderr
    return (done.stdout + done.stderr).decode()


COMMANDS = {
    "detect": ("detect", named("in")),
    "detect a file": ("detect", os.path.join(named("in"), named("other") + ".jsonl")),  # noqa: PTH118
    "validate": ("validate", named("in")),
    "show a list": ("show", named("in")),
    "show by batch": ("show", named("in"), "--batches"),
    "show": ("show", "one.trace.jsonl"),
    "show, not there": ("show", named("nothing")),
    "show, no such sample": ("show", "one.trace.jsonl", "--sample", named("nobody")),
    "nothing read": ("show", "bad"),
    "measure": ("measure", named("in"), "-v"),
    "measure by sample": ("measure", named("in"), "--metric", "tool_calls"),
    "check": ("check", named("in"), "-v"),
    "convert": ("convert", named("in"), "--to", "openai_messages", "-o", "converted"),
    "eval": ("eval", named("in"), "--plan", "plan.toml", "--out", "results", "-v"),
    "eval elsewhere": ("eval", named("in"), "--plan", "plan.toml", "--out", named("again")),
    "eval without a plan": ("eval", named("in"), "--plan", named("plan"), "--out", "new"),
    "compare": ("compare", "results", named("again"), "-v"),
    "compare, not there": ("compare", "results", named("nothing")),
    "gate": ("gate", named("again"), "--profile", "p.toml", "-v"),
    "gate without a profile": ("gate", "results", "--profile", named("none")),
    "query": ("query", "results", "select sample, run from samples"),
    "query fails": ("query", named("again"), "select nothing from samples"),
    "diagnose": ("diagnose", named("in")),
    "report": ("report", named("again"), "-o", named("page") + ".md"),
    "calibrate": ("calibrate", named("again"), "--labels", named("labels") + ".jsonl"),
    "aggregate": ("aggregate", "results", "--by", named("label")),
    "redact": ("redact", named("in"), "-o", named("clean")),
    "no such option": ("show", f"--{named('option')}"),
    "no such command": (named("shaw"),),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_in_a_pipe_no_name_begins_a_line(name: str, folder: Path) -> None:
    seen = piped(folder, *COMMANDS[name])
    assert "Traceback" not in seen
    assert not [line for line in seen.splitlines() if line.startswith(FORGED)], seen


@pytest.mark.parametrize(
    "name", ["detect", "validate", "show", "show a list", "nothing read", "check", "eval", "query"]
)
def test_on_a_terminal_no_name_begins_a_line(name: str, folder: Path) -> None:
    # So wide that no name is folded: where a long one breaks is the terminal's business.
    seen = pseudo_terminal.pantrace(*COMMANDS[name], folder=folder, columns=1500, variables={"PAGER": "cat"})
    pseudo_terminal.untroubled(seen)
    assert not [line for line in seen.lines if line.startswith(FORGED)], seen.text
