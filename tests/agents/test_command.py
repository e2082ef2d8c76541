"""Commands: questions go in safely, answers and recordings come out, and nothing gets out of hand."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from shlex import quote

import pytest

from agents.asking import trial
from pantrace.agents import AgentFailed
from pantrace.agents.command import Command, CommandOptions
from pantrace.errors import UsageError
from pantrace.model import final_response, step_text

PYTHON = quote(sys.executable)


def command(code: str, *arguments: str, **options: str) -> Command:
    line = " ".join([PYTHON, "-c", quote(code), *arguments])
    return Command(line, CommandOptions(**options))


def test_a_question_is_one_argument_whatever_it_says(tmp_path: Path) -> None:
    question = "two words; $(touch owned) `ls` {workspace} \"quoted\" 'x' \n next"
    answer = command("import sys; print(sys.argv[1:])", "{question}").ask(question, trial(tmp_path))
    (step,) = answer.steps
    assert step_text(step) == str([question])
    assert not list((tmp_path / "workspace").iterdir())


def test_without_a_place_for_it_the_question_comes_on_standard_input(tmp_path: Path) -> None:
    (step,) = command("import sys; print(sys.stdin.read().upper())").ask("hello", trial(tmp_path)).steps
    assert step_text(step) == "HELLO"


def test_the_case_is_a_file(tmp_path: Path) -> None:
    code = "import json, sys; print(json.load(open(sys.argv[1]))['id'])"
    (step,) = command(code, "{case_file}").ask("hello", trial(tmp_path)).steps
    assert step_text(step) == "c"


STORY = (
    {"pantrace": "2"},
    {
        "id": "s9",
        "trajectory": {
            "id": "s9",
            "steps": [
                {"role": "user", "parts": [{"type": "text", "text": "hello"}]},
                {"role": "agent", "parts": [{"type": "text", "text": "recorded"}], "usage": {"input": 3, "output": 1}},
            ],
        },
    },
)
TELL = f"import sys; lines = {[json.dumps(each) for each in STORY]!r}; sys.stdout.write(chr(10).join(lines))"


def test_a_recording_that_is_printed(tmp_path: Path) -> None:
    asked = trial(tmp_path)
    answer = command(TELL).ask("hello", asked)
    assert answer.recording is not None and final_response(answer.recording) == "recorded"
    assert asked.memory["session"] == "s9"


def test_a_recording_in_a_file_and_the_way_to_go_on(tmp_path: Path) -> None:
    code = TELL.replace("sys.stdout", "open(sys.argv[1], 'w')") + "; print('done')"
    again = command("import sys; print('again', sys.argv[1])", "{session}").line
    agent = command(code, "{workspace}/log.jsonl", recording="{workspace}/*.jsonl", resume=again)
    asked = trial(tmp_path)
    answer = agent.ask("hello", asked)
    assert answer.recording is not None and final_response(answer.recording) == "recorded"
    assert "log.jsonl" in str(list((tmp_path / "workspace").iterdir()))
    (tmp_path / "workspace" / "log.jsonl").unlink()
    later = agent.ask("more", asked)
    assert [step_text(step) for step in later.steps] == ["again s9"]
    assert later.note is not None and "nothing was recorded" in later.note


def test_garbage_is_an_answer_unless_a_format_was_named(tmp_path: Path) -> None:
    garbage = "import sys; sys.stdout.buffer.write(bytes(range(256)))"
    assert command(garbage).ask("x", trial(tmp_path)).steps
    answer = command("print('{\"half\": ')", format="native").ask("x", trial(tmp_path))
    assert answer.note is not None and "is not native" in answer.note


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit(3)", "exit code 3"),
        ("import sys; print('no key', file=sys.stderr); sys.exit(1)", "exit code 1: no key"),
        ("pass", "answered nothing"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "exit code -11"),
    ],
)
def test_agents_that_fail_say_why(tmp_path: Path, code: str, why: str) -> None:
    with pytest.raises(AgentFailed, match=why) as failed:
        command(code).ask("x", trial(tmp_path))
    assert failed.value.status == "error"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentFailed, match=r"could not be started.*on the PATH"):
        Command("no-such-program-here {question}", CommandOptions()).ask("x", trial(tmp_path))
    with pytest.raises(UsageError, match="cannot be split"):
        Command("python 'unclosed", CommandOptions())
    with pytest.raises(UsageError, match="needs a command"):
        Command("", CommandOptions())


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("pids", "w").write(f"{os.getpid()} {child.pid}")
print("so far", flush=True)
time.sleep(600)
"""


def test_one_that_hangs_and_will_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(AgentFailed, match="took longer than 2 s") as failed:
        command(STUBBORN).ask("x", trial(tmp_path, seconds=2))
    assert failed.value.status == "limit"
    assert [step_text(step) for step in failed.value.answer.steps] == ["so far"]
    for pid in map(int, (tmp_path / "workspace" / "pids").read_text().split()):
        assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process is at work; one that has ended may wait for its parent to notice."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        if (status := Path(f"/proc/{pid}/stat")).exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        time.sleep(0.05)
    return True


def test_one_that_never_stops_printing(tmp_path: Path) -> None:
    with pytest.raises(AgentFailed, match="printed more than 10,000 bytes"):
        command("while True: print('x' * 1000)").ask("x", trial(tmp_path, most_output=10_000))
