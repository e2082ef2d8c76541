"""`eval` and `judge` with several processes, as a user runs them, and a judge behind real HTTP: one budget and one
cache over all workers, kills, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from engine.run_content import run_content
from loopback import Act, Loopback, loopback, verdict

ROOT = Path(__file__).parents[3]
KEY = "Zq81unheardOfForm77xKk"
PLAN = """
[measure]
metrics = ["tool_success_rate"]

[judge]
models = ["openai:scripted"]
rubrics = ["HelpfulnessExplain", "CoherenceExplain"]
concurrency = 4
"""


def by_content(_: int, body: dict[str, Any]) -> Act:
    """A grade that follows from the prompt alone, so that every run gets the same."""
    prompt = body["messages"][-1]["content"]
    grades = json.loads(re.search(r'"enum": (\[[^\]]*\])', json.dumps(body["response_format"]))[1])  # type: ignore[index]
    return verdict(grades[int(sha256(prompt.encode()).hexdigest(), 16) % len(grades)])


def slowly(number: int, body: dict[str, Any]) -> Act:
    act = by_content(number, body)
    act.delay = 0.02
    return act


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files of 1.2 MB, each handed out by itself; the last repeats the first. Every sample has the key in it."""
    folder = tmp_path_factory.mktemp("workers") / "runs"
    folder.mkdir()
    for name, first in (("a", 0), ("b", 20), ("c", 40), ("d", 0)):
        lines: list[dict[str, Any]] = [{"pantrace": "1"}]
        for number in range(first, first + 20):
            call = {"type": "call", "id": "c", "name": "read", "arguments": {"file": f"{number}.txt"}}
            result = {"type": "result", "call_id": "c", "name": "read", "output": "all of it " * 6_000}
            steps = [
                {"role": "user", "parts": [{"type": "text", "text": f"Question {number}? My key is {KEY}."}]},
                {"role": "agent", "parts": [call, result, {"type": "text", "text": f"Answer {number}."}]},
            ]
            lines.append({"id": f"{name}{number}", "case": {"id": f"{number}"}, "trajectory": {"steps": steps}})
        (folder / f"{name}.trace.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return folder


def environment(tmp_path: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT / "src"), "PATH": os.defpath, "HOME": str(tmp_path), "OPENAI_API_KEY": KEY}


def command(server: Loopback, runs: Path, tmp_path: Path, out: str, *more: object) -> list[str]:
    (tmp_path / "plan.toml").write_text(PLAN)
    words = ["eval", runs, "--plan", tmp_path / "plan.toml", "--out", tmp_path / out]
    words += ["--cache", tmp_path / f"{out}.sqlite", "--base-url", server.url, *more]
    return [sys.executable, "-m", "pantrace", *map(str, words)]


def run(words: list[str], tmp_path: Path, *, code: int = 0) -> tuple[str, str]:
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def prompts(server: Loopback) -> Counter[str]:
    return Counter(request["messages"][-1]["content"] for request in server.requests)


def test_equal_run_directories_and_each_question_once(runs: Path, tmp_path: Path) -> None:
    found = {}
    for jobs in (1, 2):
        with loopback(by_content) as server:
            _, said = run(command(server, runs, tmp_path, str(jobs), "--jobs", jobs), tmp_path)
            asked = prompts(server)
        assert ("by 2 processes" in said) == (jobs == 2)
        assert "120 calls (0 retries), 40 from the cache" in said
        assert (len(asked), set(asked.values())) == (120, {1})
        assert not any(KEY in prompt for prompt in asked)
        found[jobs] = run_content(tmp_path / str(jobs))
    assert found[1] == found[2]
    # Everything is known: a third run, by two, asks nothing, and a replay into a new directory neither.
    with loopback(by_content) as server:
        _, said = run(command(server, runs, tmp_path, "2", "--jobs", 2), tmp_path)
        assert "80 reused" in said
        words = command(server, runs, tmp_path, "replayed", "--jobs", 2, "--replay", "--cache", tmp_path / "1.sqlite")
        run(words, tmp_path)
        assert server.requests == []
    assert run_content(tmp_path / "replayed")["files"] == found[1]["files"]


def test_a_budget_holds_over_all_workers(runs: Path, tmp_path: Path) -> None:
    with loopback(slowly) as server:
        _, said = run(command(server, runs, tmp_path, "out", "--jobs", 2, "--budget-calls", 31), tmp_path)
        assert len(server.requests) == 31
    assert "31 calls" in said
    assert "unscored: budget exhausted: 31 of 31 calls are made" in said


def test_no_more_questions_at_once_than_the_plan_says(runs: Path, tmp_path: Path) -> None:
    waiting, most = set[int](), []

    def count(number: int, body: dict[str, Any]) -> Act:
        waiting.add(number)
        most.append(len(waiting))
        time.sleep(0.01)
        waiting.discard(number)
        return by_content(number, body)

    with loopback(count) as server:
        run(command(server, runs, tmp_path, "out", "--jobs", 3), tmp_path)
    assert max(most) == 4


def test_a_worker_killed_in_mid_run_changes_nothing(runs: Path, tmp_path: Path) -> None:
    with loopback(by_content) as server:
        run(command(server, runs, tmp_path, "whole", "--jobs", 1), tmp_path)
    with loopback(slowly) as server:
        words = command(server, runs, tmp_path, "out", "--jobs", 2)
        process = subprocess.Popen(words, env=environment(tmp_path), stderr=subprocess.PIPE, text=True)
        for wanted in (15, 50):
            while len(server.requests) < wanted:
                assert process.poll() is None, "it ended before a worker could be killed"
                time.sleep(0.002)
            os.kill(workers_of(process.pid)[0], signal.SIGKILL)
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        # What was out when a worker died was answered into the cache.
        assert (len(prompts(server)), len(server.requests)) == (120, 120)
    assert run_content(tmp_path / "out") == run_content(tmp_path / "whole")


def test_ctrl_c_ends_everybody_and_says_so_in_a_line(runs: Path, tmp_path: Path) -> None:
    with loopback(slowly) as server:
        words = command(server, runs, tmp_path, "out", "--jobs", 2)
        process = subprocess.Popen(
            words, env=environment(tmp_path), stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        while len(server.requests) < 20:
            assert process.poll() is None
            time.sleep(0.002)
        workers = workers_of(process.pid)
        assert len(workers) == 2
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
        _, said = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Traceback" not in said and "never retrieved" not in said and "Task was destroyed" not in said
        deadline = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in workers):
            assert time.monotonic() < deadline, "a worker has outlived it"
            time.sleep(0.01)
        run(words, tmp_path)
        # At most what was out when it ended was asked twice.
        assert 120 <= len(server.requests) <= 124
        run(command(server, runs, tmp_path, "whole", "--jobs", 1), tmp_path)
    assert run_content(tmp_path / "out")["files"] == run_content(tmp_path / "whole")["files"]


@pytest.mark.parametrize("name", ["scores.json", "scores.jsonl", "scores.csv", "scored.trace.jsonl"])
def test_judge_writes_the_same_bytes(name: str, runs: Path, tmp_path: Path) -> None:
    written, said = [], []
    with loopback(by_content) as server:
        for jobs in (1, 2):
            (tmp_path / str(jobs)).mkdir()
            out, cache = tmp_path / str(jobs) / name, tmp_path / f"{jobs}.sqlite"
            words = ["judge", runs, "--rubric", "HelpfulnessExplain", "--judge", "openai:scripted", "--cache", cache]
            words += ["--base-url", server.url, "--repeats", 2, "-o", out, "--jobs", jobs]
            told, more = run([sys.executable, "-m", "pantrace", *map(str, words)], tmp_path)
            written.append(out.read_bytes())
            said.append((told, more.replace(str(out), "").replace("done by 2 processes\n", "")))
            assert ("done by 2 processes" in more) == (jobs == 2)
    assert written[0] == written[1]
    assert said[0] == said[1]
    assert len(prompts(server)) == 60 and written[0].count(b"HelpfulnessExplain") >= 80


def workers_of(pid: int) -> list[int]:
    """The processes of its pool: children of the server that they are forked from."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    servers = {each for each, parent in parents.items() if parent == pid and b"forkserver" in _command(each)}
    return [each for each, parent in parents.items() if parent in servers]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
