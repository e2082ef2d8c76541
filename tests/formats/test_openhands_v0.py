"""OpenHands V0: trajectories, and what its evaluations wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pantrace
from goldens import ROOT as GOLDEN
from pantrace.model import call_pairs, final_response, turns, usage_total

FOLDER = GOLDEN / "openhands-v0"


def test_a_trajectory() -> None:
    (sample,) = pantrace.read(FOLDER / "pump.json").samples
    told = sample.trajectory
    assert told is not None and [turn.number for turn in turns(told)] == [0, 1]
    pairs = call_pairs(told)
    assert [(pair.call.name, pair.result and pair.result.failure) for pair in pairs] == [
        ("execute_bash", "exit_code"),
        ("execute_bash", "denied"),
    ]
    assert pairs[0].result is not None and pairs[0].result.exit_code == 1
    # Two calls of one response repeat its tokens: they count once, and agree with OpenHands' own sums.
    usage = usage_total(told)
    assert usage is not None and (usage.input, usage.output) == (3486 + 4646, 60 + 25)
    assert told.usage is not None
    own = told.usage[""]
    assert (own.input, own.output, own.cache_read, own.cache_write) == (8132, 85, 3482, 4640)
    (summary,) = (step for step in told.steps if step.kind == "compaction")
    assert summary.replaces == ("3", "4")
    assert final_response(told) == "The pump test fails."


def test_an_evaluation_with_pairs_of_events() -> None:
    first, second = pantrace.read(FOLDER / "output.jsonl").samples
    assert (first.id, first.scores[0].value) == ("pump__pump-1", True)
    assert first.trajectory is not None and [pair.call.name for pair in call_pairs(first.trajectory)] == ["run"]
    assert second.scores == () and second.trajectory is not None
    assert second.trajectory.outcome is not None and second.trajectory.outcome.status == "error"


def test_the_issue_resolver_stores_events_without_ids_times_and_sources(tmp_path: Path) -> None:
    history = [
        {"action": "message", "content": "Fix the pump.", "wait_for_response": False},
        {"action": "run", "command": "ls", "thought": "Let me look."},
        {"observation": "run", "content": "pump.py", "command": "ls", "exit_code": 0},
        {"action": "run", "command": "pump", "thought": ""},
        {"observation": "run", "content": "no pump", "command": "pump", "exit_code": 127},
        {"action": "finish", "thought": "The pump runs.", "outputs": {}},
    ]
    row = {
        "issue": {"owner": "garden", "repo": "pump", "number": 5, "title": "It stands still"},
        "issue_type": "issue",
        "git_patch": "diff",
        "history": history,
        "metrics": {"accumulated_cost": 0.07, "costs": [0.03, 0.04]},
        "success": True,
        "result_explanation": "The pump runs.",
        "error": None,
    }
    path = tmp_path / "output.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (sample,) = pantrace.read(path).samples
    told = sample.trajectory
    assert told is not None and sample.id == "garden/pump#5"
    assert [step.role for step in told.steps] == ["user", "agent", "tool", "agent", "tool", "agent"]
    results = [pair.result for pair in call_pairs(told)]
    assert [each and (each.output, each.exit_code, each.failure) for each in results] == [
        ("pump.py", 0, None),
        ("no pump", 127, "exit_code"),
    ]
    total = usage_total(told)
    assert total is not None and total.cost_usd == 0.07
    assert final_response(told) == "The pump runs."
    assert [(each.name, each.value, each.explanation) for each in sample.scores] == [
        ("success", True, "The pump runs.")
    ]
