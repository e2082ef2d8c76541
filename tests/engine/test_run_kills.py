"""Kills at random moments: nothing is lost, and nothing is run twice that was recorded."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pantrace

KILLS = int(os.environ.get("PANTRACE_KILLS", "20"))
JOBS = 2
CASES = 30 * KILLS // 20
# Forked, not started: a run that takes a second to load would leave most of 20 kills before its first question.
RUN = """
import os, sys
from pathlib import Path
from pantrace.engine.run import read_recording, run_cases
from pantrace.engine.run_cases import Asked
from pantrace.engine.run_trial import Conditions
from pantrace.model import Case

cases = [Asked(id=f"q{n}", case=Case(id=f"q{n}", question=f"q{n}"), turns=(f"q{n}",)) for n in range(int(sys.argv[1]))]
agent = {"": f"cmd:/bin/sh -c 'echo $0 >> {sys.argv[2]}; echo done $0' {{question}}"}
given = Conditions(folder=Path("workspaces"), read=read_recording, environment=dict(os.environ))

def run():
    run_cases(cases, agent, Path("out"), given, jobs=int(sys.argv[3]))

for line in sys.stdin:
    if (child := os.fork()) == 0:
        os.setpgid(0, 0)
        run()
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def recorded(folder: Path) -> Counter[str]:
    """Whole lines of the file, whatever else a kill left in it."""
    path = folder / "out" / "recordings" / "run.trace.jsonl"
    lines = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
    return Counter(json.loads(line)["id"] for line in lines)


def asked(log: Path) -> Counter[str]:
    return Counter(log.read_text().split()) if log.exists() else Counter()


def test_kills_lose_nothing_and_run_nothing_twice_that_was_recorded(tmp_path: Path) -> None:
    dice, log = random.Random(20), tmp_path / "log"
    command = [sys.executable, "-c", RUN, str(CASES), str(log), str(JOBS)]
    kills = 0
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def go() -> int:
            process.stdin.write("go\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return int(process.stdout.readline())  # type: ignore[union-attr]

        for _ in range(KILLS):
            before, done = recorded(tmp_path), asked(log)
            child = go()
            # A moment is so many questions further on, and then some time of the dice.
            until = min(sum(done.values()) + dice.randint(0, 2), CASES - 1)
            while sum(asked(log).values()) <= until and _alive(child):
                time.sleep(0.001)
            time.sleep(dice.random() * 0.05)
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
            kills += int(process.stdout.readline()) == -signal.SIGKILL
            after = recorded(tmp_path)
            assert before <= after, "what was recorded is gone"
            # An agent that outlives the kill by a moment had been asked before it.
            twice = {name for name in before if asked(log)[name] > done[name]}
            assert not twice, "recorded, and run again"
        go()
        assert int(process.stdout.readline()) == 0
        process.stdin.close()
    samples = list(pantrace.read(tmp_path / "out" / "recordings" / "run.trace.jsonl").samples)
    assert sorted(each.id for each in samples) == sorted(f"q{n}" for n in range(CASES))
    # Whatever was asked more often than recorded was under way when a kill came: at most one for each job.
    assert sum(asked(log).values()) <= CASES + JOBS * kills
    assert kills >= KILLS // 2


def _alive(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not Path("/proc/self").exists()
