"""SWE-agent and mini-swe-agent: what is true of their recordings."""

from __future__ import annotations

from pathlib import Path

import pantrace
from corpus import needs_corpus
from goldens import ROOT as GOLDEN
from pantrace.formats.swe_agent import FORMAT
from pantrace.model import Sample, call_pairs, final_response, turns, usage_total
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
    # What submitting gave stands in the trajectory alone.
    assert [pair.result and pair.result.output for pair in call_pairs(old)][1] == "diff --git a/pump.py b/pump.py"
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


def test_what_the_history_of_swe_agent_lacks_is_told_by_its_trajectory() -> None:
    """An action that was tried and taken back stands in the middle of it, the last one at its end."""

    def acted(action: str, observation: str) -> dict[str, str]:
        words = f"I {action}."
        return {"action": action, "observation": observation, "response": words, "thought": words, "state": "{}"}

    def said(role: str, content: str, **more: str) -> dict[str, str]:
        return {"role": role, "content": content, "agent": "main", **more}

    history = [
        said("user", "Mend it."),
        said("assistant", "I open a.", action="open a", thought="I open a."),
        said("user", "a is open"),
        said("assistant", "I run it.", action="run it", thought="I run it."),
        said("user", "it runs"),
    ]
    trajectory = [acted("open a", "a is open"), acted("edit 1", "Usage: edit"), acted("run it", "it runs")]
    trajectory += [acted("submit", "diff"), acted("exit_cost", "")]
    assert FORMAT.load is not None
    told = FORMAT.load({"environment": "e", "history": history, "trajectory": trajectory, "info": {}}).trajectory
    assert told is not None
    assert [(pair.call.name, pair.result and pair.result.output) for pair in call_pairs(told)] == [
        ("open", "a is open"),
        ("run", "it runs"),
        ("submit", "diff"),
    ]
    beside = [step.extra["swe-agent"]["trajectory"]["action"] for step in told.steps if step.role == "agent"]
    assert beside == ["open a", "run it", "submit"]
    assert [each["action"] for each in told.extra["swe-agent"]["trajectory"]] == ["edit 1", "exit_cost"]
