"""Qwen Code: what is peculiar to its sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.errors import ReadError, SampleRefused
from pantrace.formats import by_name
from pantrace.model import (
    Sample,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    call_pairs,
    final_response,
    turns,
    usage_total,
)

GOLDEN = ROOT / "qwen-code"
FORMAT = by_name("qwen-code")
REAL = "fc82f104-05ba-432b-b4e1-2475262504d2.jsonl"


def golden(name: str) -> Trajectory:
    (sample,) = read(GOLDEN / name).samples
    assert sample.trajectory is not None
    return sample.trajectory


def test_thoughts_are_counted_once_whatever_the_provider_counts() -> None:
    """A total tells whether thoughts lie inside the answer: 20014 + 36 = 20050, and 200 + 20 + 7 = 227."""
    total = usage_total(golden(REAL))
    assert total is not None
    assert (total.input, total.output, total.reasoning, total.cache_read) == (60400, 96, 24, 30200)
    usages = {step.id: step.usage for step in golden("every_line.jsonl").steps if step.usage is not None}
    assert {name: usage.output for name, usage in usages.items()} == {"b": 10, "d": 27, "h": 30, "j": 40, "o": 9}


def test_the_real_session_is_one_turn_with_a_command_that_failed() -> None:
    trajectory = golden(REAL)
    assert [turn.number for turn in turns(trajectory)] == [1]
    assert [pair.result.exit_code for pair in call_pairs(trajectory) if pair.result] == [0, 1]
    assert (final_response(trajectory) or "").startswith("The note says 41 + 1 = 42.")
    assert trajectory.leaf is None


def test_a_rewind_gives_a_branch_up_and_copies_of_a_fork_are_not_counted() -> None:
    trajectory = golden("every_line.jsonl")
    assert [turn.steps[0].id for turn in turns(trajectory) if turn.number] == ["c", "n"]
    assert trajectory.origin is not None
    assert (trajectory.origin.kind, trajectory.origin.trajectory) == ("forked", "9a9a9a9a-0000-4000-8000-000000000000")
    total = usage_total(trajectory)
    assert total is not None and (total.input, total.output) == (590, 66)
    assert trajectory.title == "Waters"


def test_what_the_program_writes_is_no_prompt() -> None:
    kinds = {step.id: step.kind for step in golden("every_line.jsonl").steps}
    assert {name: kinds[name] for name in "glmn"} == {
        "g": "note",
        "l": "compaction",
        "m": "synthetic",
        "n": "message",
    }


def test_how_calls_and_requests_fail() -> None:
    trajectory = golden("every_line.jsonl")
    failures = [pair.result.failure for pair in call_pairs(trajectory) if pair.result]
    assert failures == ["invalid_tool", "denied"]
    assert [step.error.message for step in trajectory.steps if step.error] == ["slow down"]


def test_a_session_comes_back_line_by_line(tmp_path: Path) -> None:
    for name in (REAL, "every_line.jsonl"):
        target = tmp_path / name
        assert convert(GOLDEN / name, target, to="qwen-code").losses == {}
        assert len(target.read_bytes().splitlines()) == len((GOLDEN / name).read_bytes().splitlines())


def test_a_sample_of_another_format_becomes_a_chain_of_lines() -> None:
    assert FORMAT.dump is not None
    steps = (
        Step(role="user", parts=(Text(text="go"),)),
        Step(role="agent", usage=Usage(input=9, output=7, reasoning=5), parts=(ToolCall(id="a", name="ls"),)),
        Step(role="tool", parts=(ToolResult(call_id="a", name="ls", output="x"),)),
    )
    lines = FORMAT.dump(Sample(id="s", trajectory=Trajectory(steps=steps)), None)
    assert [(each["uuid"], each["parentUuid"], each["type"]) for each in lines[:3]] == [
        ("1", None, "user"),
        ("2", "1", "assistant"),
        ("3", "2", "tool_result"),
    ]
    assert lines[1]["usageMetadata"] == {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}
    assert lines[2]["message"]["parts"][0]["functionResponse"]["response"] == {"output": "x"}
    with pytest.raises(SampleRefused):
        FORMAT.dump(Sample(id="s"), None)


def test_lines_of_another_tool_are_refused() -> None:
    assert FORMAT.load is not None
    with pytest.raises(ReadError, match="parentUuid"):
        FORMAT.load([{"uuid": "a", "parentUuid": None, "sessionId": "s", "type": "user", "message": {"content": "x"}}])


def test_two_lines_without_a_break_between_them_are_both_read(tmp_path: Path) -> None:
    """Qwen Code 0.21 may leave a file that is one such line."""
    lines = [line for line in (GOLDEN / REAL).read_text().splitlines() if line]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(lines[:2]))
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    path.write_text("\n".join([lines[0], lines[1] + lines[2], *lines[3:]]) + "\n")
    (glued,) = read(path).samples
    assert glued.trajectory is not None and glued.trajectory.steps == golden(REAL).steps
    assert sample.trajectory.steps == golden(REAL).steps[:2]
