"""From a question to a gated report in one command: over ADK's API server, and with `adk run` itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pantrace
from pantrace.model import Trajectory, call_pairs, final_response, turns, usage_total
from peers.adk.test_run_over_api import AGENT, EVALSET, server

__all__ = ["server"]

PLAN = """
[measure]
metrics = ["token_usage", "tool_utilization", "tool_success_rate", "latency_metrics"]

[decide]
profile = "profile.toml"

[gate]
"""
PROFILE = """
name = "shop"
version = "1"

[thresholds]
tool_success_rate = 1.0

[limits]
"token_usage.total_tokens" = 428
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "s.evalset.json").write_text(json.dumps(EVALSET))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "pantrace", "run", "s.evalset.json", "--out", "out", *words]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )


def recorded(folder: Path) -> Trajectory:
    (sample,) = pantrace.read(folder / "out" / "recordings" / "run.trace.jsonl").samples
    assert sample.trajectory is not None
    return sample.trajectory


def right(told: Trajectory) -> None:
    assert len(turns(told)) == 2
    assert [pair.call.name for pair in call_pairs(told)] == ["check_stock", "check_stock"]
    assert final_response(told) == "12 bags are left."
    total = usage_total(told)
    # Two turns of two calls each; the scripted model says what each of them took.
    assert total is not None and (total.input, total.output) == (400, 28)


def test_adk_run_answers_and_its_folder_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("from . import agent\n")
    (tmp_path / "shop" / "agent.py").write_text(AGENT)
    done = run(tmp_path, "--agent", "adk:shop", "--no-eval", "--json")
    (ran,) = json.loads(done.stdout)["agents"]
    assert ran["failed"] == [], done.stderr
    told = recorded(tmp_path)
    right(told)
    assert told.state is not None and told.state["tier"] == "gold"
    left = {each.name for each in (tmp_path / "shop").iterdir()} - {"__pycache__"}
    assert left == {"__init__.py", "agent.py"} and not (tmp_path / ".adk").exists()


def test_the_workshops_three_steps_are_one_command(server: str, tmp_path: Path) -> None:
    """Interact, convert, evaluate: the summary's numbers are those of the model, and the gate decides."""
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "profile.toml").write_text(PROFILE)
    done = run(tmp_path, "--agent", f"adk:{server}", "--plan", "plan.toml", "--workshop", "workshop")
    assert done.returncode == 0, done.stderr + done.stdout
    right(recorded(tmp_path))
    summary: dict[str, Any] = json.loads((tmp_path / "workshop" / "eval_summary.json").read_text())
    numbers = summary["overall_summary"]["deterministic_metrics"]
    assert numbers["token_usage.prompt_tokens"] == 400
    assert numbers["token_usage.completion_tokens"] == 28
    log = (tmp_path / "workshop" / "question_answer_log.md").read_text()
    assert "How much soil is left?" in log and "12 bags are left." in log
    # The converter's own file is one more command away, and holds the same session.
    convert = [sys.executable, "-m", "pantrace", "convert", "out", "--to", "adk-jsonl", "-o", "rows.jsonl"]
    subprocess.run(convert, cwd=tmp_path, capture_output=True, check=True)
    (row,) = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
    assert "How much soil is left?" in json.dumps(row)
    # With another plan nothing is asked again: the recordings are evaluated, and this time the gate is shut.
    (tmp_path / "profile.toml").write_text(PROFILE.replace("428", "427"))
    done = run(tmp_path, "--agent", f"adk:{server}", "--plan", "plan.toml")
    assert done.returncode == 2 and "0 trials run, 1 recorded before" in done.stderr
    assert "pantrace eval out/recordings --plan PLAN --out OTHER" in done.stderr
    again = [sys.executable, "-m", "pantrace", "eval", "out/recordings", "--plan", "plan.toml", "--out", "other"]
    assert subprocess.run(again, cwd=tmp_path, capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize(("spec", "why"), [("adk:", "needs the folder"), ("adk:nosuch", "there is no such folder")])
def test_an_agent_that_is_not_there(spec: str, why: str, tmp_path: Path) -> None:
    done = run(tmp_path, "--agent", spec, "--no-eval", "--timeout", "120")
    assert why in done.stderr and "Traceback" not in done.stderr
