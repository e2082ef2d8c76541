"""Gemini CLI: what is peculiar to its sessions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import Notes, read, read_pile
from pantrace.errors import ReadError, SampleRefused, UsageError
from pantrace.formats import by_name
from pantrace.model import (
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    call_pairs,
    final_response,
    has_failed,
    turns,
    usage_total,
)
from pantrace.wire.gemini_tools import with_failure

GOLDEN = ROOT / "gemini-cli"
FORMAT = by_name("gemini-cli")
HEAD = {
    "sessionId": "5e551011-0000-4000-8000-000000000009",
    "projectHash": "p",
    "startTime": "2026-03-01T10:00:00.000Z",
}


def test_sessions_under_other_names_are_read(tmp_path: Path) -> None:
    """A file whose name does not end like its session's id is a session all the same."""
    source = GOLDEN / "session-2026-11-16T05-13-07382c29.jsonl"
    shutil.copy(source, tmp_path / "session-renamed.jsonl")
    (sample,) = read_pile([tmp_path], notes=Notes()).samples
    assert sample.trajectory is not None
    assert sample.trajectory.steps == golden(source.name).steps


def load(*records: Any) -> Trajectory:
    assert FORMAT.load is not None
    trajectory = FORMAT.load([HEAD, *records]).trajectory
    assert trajectory is not None
    return trajectory


def message(name: str, kind: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": "2026-03-01T10:00:01.000Z", "type": kind, "content": text, **more}


def golden(name: str) -> Trajectory:
    (sample,) = read(GOLDEN / name).samples
    assert sample.trajectory is not None
    return sample.trajectory


def test_the_last_line_of_a_message_wins_and_is_counted_once() -> None:
    tokens = {"input": 10, "output": 2, "cached": 0, "thoughts": 5, "tool": 0, "total": 17}
    call = {"id": "c", "name": "ls", "args": {}, "result": None, "status": "executing", "timestamp": "x"}
    first = message("a", "gemini", "", tokens=tokens)
    trajectory = load(message("u", "user", "go"), first, {**first, "toolCalls": [call]})
    assert len(trajectory.steps) == 2
    assert [pair.call.name for pair in call_pairs(trajectory)] == ["ls"]
    total = usage_total(trajectory)
    assert total is not None and (total.input, total.output, total.reasoning, total.total) == (10, 7, 5, 17)


def test_a_resume_repeats_everything_and_adds_nothing() -> None:
    tokens = {"input": 10, "output": 2, "cached": 0, "thoughts": 0, "tool": 0, "total": 12}
    lines = [message("u", "user", "go"), message("a", "gemini", "done", tokens=tokens)]
    bare = [{key: value for key, value in line.items() if key != "tokens"} | {"timestamp": "2027"} for line in lines]
    resumed = load(*lines, HEAD, {"$set": {"messages": bare}}, message("v", "user", "more"))
    plain = load(*lines, message("v", "user", "more"))
    assert resumed.steps == plain.steps
    assert usage_total(resumed) == usage_total(plain)


def test_results_that_stand_beside_their_calls_are_not_told_twice() -> None:
    trajectory = golden("session-2026-11-16T05-13-07382c29.jsonl")
    assert [step.role for step in trajectory.steps] == ["user", "user", "agent", "agent", "agent"]
    results = [part for step in trajectory.steps for part in step.parts if isinstance(part, ToolResult)]
    assert [(each.exit_code, each.failure) for each in results] == [(None, None), (1, "exit_code")]


def test_a_prompt_that_was_taken_back_is_a_turn_that_failed() -> None:
    trajectory = golden("session-2026-11-16T05-50-89e6e23f.jsonl")
    second = [turn for turn in turns(trajectory) if turn.number == 2]
    assert [step.error.kind if step.error else None for step in second[0].steps] == [None, "unanswered"]
    assert len([turn for turn in turns(trajectory) if turn.number]) == 3
    assert trajectory.outcome is None
    ends = load(message("u", "user", "go"), {"$set": {"messages": []}})
    assert ends.outcome is not None and ends.outcome.status == "error"


def test_a_rewind_gives_a_branch_up_and_a_compaction_does_not() -> None:
    trajectory = golden("every_line.jsonl")
    assert [turn.steps[0].id for turn in turns(trajectory)] == ["u1", "u3"]
    (summary,) = [step for step in trajectory.steps if step.kind == "compaction"]
    assert summary.id == "s1" and set(summary.replaces) == {"u1", "i1", "g1", "g2", "w1"}
    assert final_response(trajectory) == "Siskins."
    total = usage_total(trajectory)
    assert total is not None and total.input == 206  # g3 was given up, what the summary replaced was not


def test_a_rewind_to_an_unknown_message_gives_all_up() -> None:
    trajectory = load(
        message("u", "user", "go"), message("a", "gemini", "x"), {"$rewindTo": "?"}, message("v", "user", "new")
    )
    assert [turn.steps[0].id for turn in turns(trajectory)] == ["v"]


def test_how_calls_fail() -> None:
    failures = {pair.call.id: pair.result.failure for pair in call_pairs(golden("every_line.jsonl")) if pair.result}
    assert failures == {"c1": None, "c2": "denied", "c3": "error", "c5": None, "c6": None, "c7": None}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Output: x\nExit Code: 3\nProcess Group PGID: 7", 3),
        ("Output: x\nError: (none)\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 7", 0),
        ("<untrusted_context>\nOutput: x\nExit Code: 127\n</untrusted_context>", 127),
        ("Output: Exit Code: 1\nmore of the output\nProcess Group PGID: 7", None),
        ("Output: the log says\nExit Code: 1\nand goes on", None),
    ],
)
def test_an_exit_code_is_what_the_tool_says_and_not_what_the_command_prints(text: str, code: int | None) -> None:
    result = with_failure(ToolResult(name="run_shell_command", output={"output": text}), "success")
    assert (result.exit_code, has_failed(result)) == (code, bool(code))
    other = with_failure(ToolResult(name="read_file", output={"output": text}), "success")
    assert other.exit_code is None


def test_the_program_speaks_first() -> None:
    trajectory = golden("session-2026-11-16T05-13-07382c29.jsonl")
    assert trajectory.steps[0].kind == "synthetic"
    assert [turn.number for turn in turns(trajectory)] == [0, 1]


def test_sub_agents_are_children_of_their_calls() -> None:
    (sample,) = read(GOLDEN / "agents").samples
    assert sample.trajectory is not None
    called = [pair.call.id for pair in call_pairs(sample.trajectory) if pair.call.name == "invoke_agent"]
    assert [child.caller for child in sample.trajectory.children] == called
    assert [child.response for child in sample.trajectory.children] == [
        '{\n  "response": "There are 12 kg of rye flour."\n}',
        '{\n  "response": "There is no price list."\n}',
    ]


def test_sub_agents_are_written_beside_and_read_back(tmp_path: Path) -> None:
    report = convert(GOLDEN / "agents", tmp_path / "out", to="gemini-cli")
    assert (report.samples, report.losses) == (3, {})
    (sample,) = read(tmp_path / "out").samples
    (before,) = read(GOLDEN / "agents").samples
    assert sample.trajectory is not None and before.trajectory is not None
    assert [(each.id, each.caller) for each in sample.trajectory.children] == [
        (each.id, each.caller) for each in before.trajectory.children
    ]
    with pytest.raises(UsageError, match="one sample per file"):
        convert(GOLDEN / "agents", tmp_path / "one.jsonl", to="gemini-cli")


def test_a_stub_of_a_resume_belongs_to_the_first_file(tmp_path: Path) -> None:
    name = "session-2026-11-16T05-13-07382c29.jsonl"
    shutil.copy(GOLDEN / name, tmp_path)
    lines = (GOLDEN / name).read_text().splitlines()
    stub = tmp_path / "session-2026-11-16T05-14-07382c29.jsonl"
    more = json.dumps(message("later", "user", "One more."))
    stub.write_text("\n".join([*lines[:2], more]) + "\n")
    other = {**json.loads(lines[0]), "sessionId": "07382c29-another-one-of-the-same-eight"}
    (tmp_path / "session-2026-11-16T05-15-07382c29.jsonl").write_text(json.dumps(other) + "\n" + more + "\n")
    samples = list(read_pile([tmp_path], notes=Notes()).samples)
    assert [len(each.trajectory.steps) for each in samples if each.trajectory] == [6, 1]
    (alone,) = read(stub).samples
    assert alone.trajectory is not None and alone.trajectory.origin is not None
    assert (alone.trajectory.origin.kind, len(alone.trajectory.steps)) == ("resumed", 2)


def test_a_folder_named_by_a_session_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()
    head = {**HEAD, "sessionId": "../secret"}
    call = {"id": "c", "name": "invoke_agent", "args": {}, "agentId": "../secret/agent", "status": "success"}
    lines = [head, message("a", "gemini", "", toolCalls=[call])]
    (tmp_path / "chats" / "session-x-y.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    (tmp_path / "secret").mkdir()
    shutil.copy(next((GOLDEN / "agents").glob("*/*.jsonl")), tmp_path / "secret" / "agent.jsonl")
    (sample,) = read(tmp_path / "chats" / "session-x-y.jsonl").samples
    assert sample.trajectory is not None and sample.trajectory.children == ()


def test_an_old_document_reads_as_its_lines_do(tmp_path: Path) -> None:
    trajectory = golden("old_document.json")
    assert [step.role for step in trajectory.steps] == ["user", "agent"]
    report = convert(GOLDEN / "old_document.json", tmp_path / "new.jsonl", to="gemini-cli")
    assert report.losses == {}
    assert len((tmp_path / "new.jsonl").read_text().splitlines()) == 3


def test_a_sample_of_another_format_becomes_a_session() -> None:
    assert FORMAT.dump is not None
    steps = (
        Step(role="user", parts=(Text(text="go"),), at=1_770_000_000),
        Step(
            role="agent",
            model="m",
            usage=Usage(input=10, output=7, reasoning=5, cache_read=4),
            parts=(Thinking(text="hm"), ToolCall(id="a", name="ls", arguments={}), ToolCall(id="b", name="ls")),
        ),
        Step(role="tool", parts=(ToolResult(call_id="b", name="ls", error="no", failure="error"),)),
        Step(role="tool", parts=(ToolResult(call_id="a", name="ls", output="x"),)),
        Step(role="agent", parts=(Text(text="done"),)),
    )
    head, user, agent, last, _ = FORMAT.dump(Sample(id="s", trajectory=Trajectory(steps=steps)), None)
    assert (head["sessionId"], head["kind"], head["startTime"]) == ("s", "main", "2026-02-02T02:40:00.000Z")
    assert (user["type"], user["content"]) == ("user", [{"text": "go"}])
    assert agent["tokens"] == {"input": 10, "output": 2, "cached": 4, "thoughts": 5}
    assert agent["thoughts"] == [{"description": "hm"}]
    assert [(each["id"], each["status"]) for each in agent["toolCalls"]] == [("a", "success"), ("b", "error")]
    assert agent["toolCalls"][0]["result"][0]["functionResponse"]["response"] == {"output": "x"}
    assert (last["type"], last["content"]) == ("gemini", "done")


def test_what_has_not_been_run_is_refused() -> None:
    assert FORMAT.dump is not None and FORMAT.load is not None
    with pytest.raises(SampleRefused):
        FORMAT.dump(Sample(id="s"), None)
    with pytest.raises(ReadError, match="projectHash"):
        FORMAT.load([{"sessionId": "x"}])


def test_a_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "session-x-5e551011.jsonl"
    path.write_text(json.dumps(HEAD) + "\n{broken\n" + json.dumps(message("u", "user", "go")) + "\n")
    broken: list[ReadError] = []
    (sample,) = read(path, on_broken=broken.append).samples
    assert sample.trajectory is not None and len(sample.trajectory.steps) == 1
    assert [error.place for error in broken] == ["line 2, column 2"]


def test_a_call_without_an_id_is_a_call() -> None:
    calls = [
        {"name": "read_file", "args": {"path": "a"}, "status": "success"},
        {"name": "read_file", "args": {"path": "b"}, "status": "error", "result": "no such file"},
    ]
    record = {"id": "a", "type": "gemini", "content": "I look.", "toolCalls": calls}
    pairs = call_pairs(load(record))
    assert [pair.call.arguments for pair in pairs] == [{"path": "a"}, {"path": "b"}]
    assert sum(has_failed(pair.result) for pair in pairs if pair.result) == 1
