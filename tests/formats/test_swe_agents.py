"""SWE-agent and mini-swe-agent: what is true of their recordings."""

from __future__ import annotations

from pathlib import Path

import pantrace
from corpus import needs_corpus
from goldens import ROOT as GOLDEN
from pantrace.model import Sample, ToolResult, call_pairs, final_response, turns, usage_total
from session_truth import FOLDER


def only(path: Path) -> Sample:
    (sample,) = pantrace.read(path).samples
    return sample


@needs_corpus
def test_a_run_that_reached_its_limit_says_so() -> None:
    """It ended before it could submit; its last words are no answer to the question."""
    trajectory = only(FOLDER / "mini_swe_agent" / "limit" / "run.traj.json").trajectory
    assert trajectory is not None and trajectory.outcome is not None
    assert trajectory.outcome.status == "limit"


def test_a_reply_without_a_command_counts_and_is_no_turn() -> None:
    trajectory = only(GOLDEN / "mini-swe-agent" / "steps.traj.json").trajectory
    assert trajectory is not None
    assert len([step for step in trajectory.steps if step.usage is not None]) == 7
    assert len(turns(trajectory)) == 2  # the instructions, and the one prompt
    (synthetic,) = [step for step in trajectory.steps if step.kind == "synthetic"]
    assert synthetic.role == "user"
    failures = [pair.result.failure for pair in call_pairs(trajectory) if pair.result is not None]
    assert failures.count("timeout") == 1 and failures.count("exit_code") == 2


def test_commands_in_words_are_calls() -> None:
    sample = only(GOLDEN / "mini-swe-agent" / "words.traj.json")
    assert sample.id == "words" and sample.trajectory is not None
    first, second = call_pairs(sample.trajectory)
    assert first.call.arguments == {"command": "cat pump.txt"}
    assert first.result is not None and first.result.exit_code == 1
    assert second.result is not None and second.result.failure is None


def test_swe_agent_in_two_dialects() -> None:
    old = only(GOLDEN / "swe-agent" / "pump.traj").trajectory
    assert old is not None
    assert [pair.call.name for pair in call_pairs(old)] == ["open", "submit"]
    assert [isinstance(pair.result, ToolResult) for pair in call_pairs(old)] == [True, False]
    assert final_response(old) == "diff --git a/pump.py b/pump.py"
    usage = usage_total(old)
    assert usage is not None and (usage.input, usage.output, usage.cost_usd) == (900, 80, 0.25)
    assert old.outcome is None and [step.kind for step in old.steps].count("synthetic") == 1
    new = only(GOLDEN / "swe-agent" / "calls.traj").trajectory
    assert new is not None
    ((pair),) = call_pairs(new)
    assert (pair.call.name, pair.result and pair.result.name) == ("find_file", "find_file")
    assert new.outcome is not None and new.outcome.status == "limit"
    assert usage_total(new) is None
