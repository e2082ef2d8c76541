"""The Explain dataset from question to gated report in one command: the agent is asked, judged and decided."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from goldens import ROOT as GOLDEN
from loopback import Act, Loopback, loopback, verdict
from pantrace.engine.read import read
from pantrace.store import RunDirectory

ROOT = Path(__file__).parents[3]
AGENT = """
def good(question):
    return '{"stops": ["Harbour"], "minutes": 115}'


def poor(question):
    return '{"stops": ["Car park"], "minutes": 3}'
"""
PLAN = """
[run]
dataset = ["cases.explain.jsonl"]
agent = "python:guide:AGENT"
trials = 2

[judge]
models = ["openai:scripted"]
base_url = "URL"

[gate]
"""


def by_answer(_: int, body: dict[str, Any]) -> Act:
    """The highest grade for the good guide's answer, the lowest for any other."""
    told = json.dumps(body["messages"])
    grades = body["response_format"]["json_schema"]["schema"]["properties"]["score"]["enum"]
    return verdict(max(grades) if "Harbour" in told else min(grades))


def run(folder: Path, server: Loopback, agent: str) -> tuple[int, str]:
    folder.mkdir()
    first, *_ = (GOLDEN / "explain" / "cases.explain.jsonl").read_text("utf-8-sig").splitlines()
    (folder / "cases.explain.jsonl").write_text(first + "\n")
    (folder / "guide.py").write_text(AGENT)
    (folder / "plan.toml").write_text(PLAN.replace("AGENT", agent).replace("URL", server.url))
    command = [
        sys.executable,
        "-m",
        "pantrace",
        "run",
        "--plan",
        "plan.toml",
        "--out",
        "out",
        "--report",
        "report.json",
    ]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.defpath, "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_good_agent_passes_and_a_poor_one_does_not(tmp_path: Path) -> None:
    for agent, code in (("good", 0), ("poor", 1)):
        folder = tmp_path / agent
        with loopback(by_answer) as server:
            found, told = run(folder, server, agent)
            asked = [json.dumps(each["messages"]) for each in server.requests]
        assert found == code, told
        assert "2 trials run" in told
        # The dataset holds the answer of another agent; what is judged is what this one said.
        assert asked and not any("Mill gate" in each and "Bell tower" not in each for each in asked)
        assert all(("Harbour" if agent == "good" else "Car park") in each for each in asked)
        results = list(RunDirectory.open(folder / "out").results())
        assert [result.decisions[0].passed for result in results] == [agent == "good"] * 2
        (case,) = {sample.id for sample in read(folder / "report.json").samples}
        assert case == "tour-planner-001"
