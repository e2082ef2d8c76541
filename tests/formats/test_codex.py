"""Codex: what is peculiar to its rollouts, and the truth about the recorded ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import Notes, read, read_pile
from pantrace.errors import ReadError, SampleRefused
from pantrace.formats import by_name
from pantrace.model import (
    Media,
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

GOLDEN = ROOT / "codex"
FORMAT = by_name("codex")
PARENT = "rollout-2026-11-16T06-05-32-01a1e2f5-f786-7853-b7e8-583a5f31c1d4.jsonl"
FORK = "rollout-2026-11-16T06-05-43-01a1e2f6-1fba-72f1-bf48-c461981103e3.jsonl"


def only(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


def all_of(*paths: Path) -> list[Trajectory]:
    return [sample.trajectory for sample in read_pile(list(paths), notes=Notes()).samples if sample.trajectory]


def loaded(*records: Any) -> Trajectory:
    assert FORMAT.load is not None
    trajectory = FORMAT.load(list(records)).trajectory
    assert trajectory is not None
    return trajectory


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **payload)


def count(total: int, last: int) -> dict[str, Any]:
    def usage(tokens: int) -> dict[str, int]:
        return {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}

    return line(
        "event_msg", type="token_count", info={"total_token_usage": usage(total), "last_token_usage": usage(last)}
    )


def said(text: str) -> dict[str, Any]:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def test_an_event_that_repeats_the_total_is_no_new_response() -> None:
    trajectory = loaded(said("a"), count(10, 10), count(10, 10), said("b"), count(30, 20), count(30, 20))
    assert [step.usage.input for step in trajectory.steps if step.usage] == [10, 20]
    total = usage_total(trajectory)
    assert total is not None and total.input == 30


@pytest.mark.parametrize("name", ["note.jsonl", "trouble.jsonl", "codemode.jsonl", "older.jsonl", f"work/{PARENT}"])
def test_the_tokens_of_the_calls_are_the_last_total(name: str) -> None:
    trajectory = only(GOLDEN / name)
    total, stated = usage_total(trajectory), trajectory.usage
    assert total is not None and stated is not None
    (whole,) = stated.values()
    assert (total.input, total.output, total.reasoning) == (whole.input, whole.output, whole.reasoning)


def test_early_rollouts() -> None:
    """Of the Rust version until September 2025, and of the TypeScript one before it: no tokens, no times of items."""
    told_ = only(GOLDEN / "early.jsonl")
    assert told_.id == "5973b6c0-94b8-487b-a530-2aeb6098ae0e" and told_.created == 1753693924.118
    assert told_.agents[0].instructions == "Be brief." and [turn.number for turn in turns(told_)] == [0, 1]
    first, second = call_pairs(told_)
    assert first.result is not None and (first.call.name, first.result.exit_code) == ("shell", 1)
    assert second.result is not None and not has_failed(second.result)
    assert final_response(told_) == "No: one test fails." and usage_total(told_) is None
    oldest = only(GOLDEN / "first.json")
    assert [pair.call.arguments for pair in call_pairs(oldest)] == [{"command": ["ls"]}]
    assert final_response(oldest) == "Two."


@pytest.mark.parametrize("turn", [[], {}, 7])
def test_a_turn_without_a_name_that_is_text_does_not_end_the_reading(turn: object, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (GOLDEN / "trouble.jsonl").read_text().splitlines()]
    for row in rows:
        if row["payload"].get("type") == "task_started":
            row["payload"]["turn_id"] = turn
    path = tmp_path / "trouble.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (sample,), (whole,) = read(path).samples, read(GOLDEN / "trouble.jsonl").samples
    assert sample.trajectory is not None
    assert whole.trajectory is not None
    assert len(sample.trajectory.steps) == len(whole.trajectory.steps)


def test_a_fork_begins_in_the_file_of_its_parent_and_counts_its_own_calls_only() -> None:
    parent, fork = all_of(GOLDEN / "work")
    assert fork.origin is not None and (fork.origin.kind, fork.origin.trajectory) == ("forked", parent.id)
    copied = [step for step in fork.steps if step.kind == "copied"]
    assert [step.id for step in copied] == [step.id for step in parent.steps if step.kind != "note"]
    assert fork.origin.step == copied[-1].id
    total = usage_total(fork)
    assert total is not None and fork.usage is not None
    assert (total.input, total.output) == (12096, 344)
    assert [(each.input, each.output) for each in fork.usage.values()] == [(12096, 344)]
    assert [turn.number for turn in turns(fork) if turn.number] == [1, 2]


def test_a_fork_without_its_parent_says_that_it_is_missing(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "work" / FORK, tmp_path)
    fork = only(tmp_path / FORK)
    assert fork.origin is not None and fork.origin.extra == {"codex": {"missing": True}}
    assert not any(step.kind == "copied" for step in fork.steps)
    total = usage_total(fork)
    assert total is not None and total.input == 12096


def test_a_fork_that_copies_all_lines_of_its_parent_counts_its_own_calls_only(tmp_path: Path) -> None:
    """As older versions wrote it: the lines of the parent again, with the time of the fork."""
    lines = [json.loads(each) for each in (GOLDEN / "older.jsonl").read_text().splitlines()]
    name = lines[0]["payload"]["id"]
    copies = [{**each, "timestamp": "2026-03-01T10:00:00.000Z"} for each in lines[:-6]]
    new = [said("Another way."), count(3_507, 7)]
    first = line("session_meta", id="fork", forked_from_id=name)
    shutil.copy(GOLDEN / "older.jsonl", tmp_path / "parent.jsonl")
    fork = tmp_path / "the_fork.jsonl"
    fork.write_text("".join(json.dumps(each) + "\n" for each in (first, *copies, *new)))
    parent, forked = all_of(tmp_path)
    own, whole = usage_total(forked), usage_total(parent)
    assert own is not None and whole is not None and (own.input, whole.input) == (7, 3_900)
    assert final_response(forked) == "Another way."
    assert forked.origin is not None and forked.origin.trajectory == name
    (tmp_path / "parent.jsonl").unlink()
    (alone,) = all_of(tmp_path)
    assert alone.origin is not None and alone.origin.extra == {"codex": {"missing": True}}


def test_what_comes_after_the_fork_in_the_parent_is_not_copied(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "work", tmp_path / "work")
    later = {**item("message", role="user", content=[{"type": "input_text", "text": "Later."}]), "ordinal": 67}
    with (tmp_path / "work" / PARENT).open("a") as file:
        file.write(json.dumps(later) + "\n")
    parent, fork = all_of(tmp_path / "work")
    assert len(parent.steps) == len(only(GOLDEN / "work" / PARENT).steps) + 1
    assert fork.steps == all_of(GOLDEN / "work")[1].steps


@pytest.mark.parametrize("name", ["agents", "agents2"])
def test_sub_agents_stand_under_the_calls_that_started_them(name: str) -> None:
    (trajectory,) = all_of(GOLDEN / name)
    started = [pair.call.id for pair in call_pairs(trajectory) if pair.call.name.endswith("spawn_agent")]
    assert [child.caller for child in trajectory.children] == started
    assert [final_response(child) for child in trajectory.children] == [
        "There are 12 kg of rye flour.",
        "There is no price list.",
    ]
    assert all(child.parent == trajectory.id for child in trajectory.children)
    # The task that the main agent gave is the only prompt.
    assert [len([turn for turn in turns(child) if turn.number]) for child in trajectory.children] == [1, 1]


def test_a_session_is_found_in_other_days_in_the_archive_and_compressed(tmp_path: Path) -> None:
    main, first, second = sorted((GOLDEN / "agents").iterdir())
    today = tmp_path / "sessions/2026/11/16"
    tomorrow, archive = tmp_path / "sessions/2026/11/17", tmp_path / "archived_sessions"
    for folder in (today, tomorrow, archive):
        folder.mkdir(parents=True)
    shutil.copy(main, today)
    shutil.copy(second, archive)
    (tomorrow / f"{first.name}.zst").write_bytes(zstandard.compress(first.read_bytes()))
    (trajectory,) = all_of(tmp_path)
    assert len(trajectory.children) == 2
    assert [child.id for child in trajectory.children] == [child.id for child in all_of(GOLDEN / "agents")[0].children]


def test_renamed_files_belong_together(tmp_path: Path) -> None:
    for number, path in enumerate(sorted((GOLDEN / "agents").iterdir())):
        shutil.copy(path, tmp_path / f"{2 - number}.jsonl")
    (trajectory,) = all_of(tmp_path)
    assert len(trajectory.children) == 2


def test_an_id_in_a_rollout_leads_to_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    shutil.copy(GOLDEN / "note.jsonl", tmp_path / "secret" / "rollout-x-a.jsonl")
    folder = tmp_path / "sessions/2026/11/16"
    folder.mkdir(parents=True)
    first = line("session_meta", id="b", forked_from_id="../../../secret/*", history_base={"thread_id": "x"})
    (folder / "rollout-x-b.jsonl").write_text(json.dumps(first) + "\n" + json.dumps(said("hi")) + "\n")
    assert len(only(folder / "rollout-x-b.jsonl").steps) == 1


def test_a_stream_beside_its_rollout_is_not_counted_again(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "note.jsonl", tmp_path)
    shutil.copy(GOLDEN / "exec_stdout.jsonl", tmp_path)
    assert len(all_of(tmp_path)) == 1
    (tmp_path / "note.jsonl").unlink()
    (stream,) = all_of(tmp_path)
    assert [pair.result.exit_code for pair in call_pairs(stream) if pair.result] == [0, 1]
    total = usage_total(stream)
    assert total is not None and (total.input, total.output) == (29470, 96)


def test_a_turn_of_a_stream_that_failed() -> None:
    started = {
        "type": "item.started",
        "item": {"id": "i", "type": "command_execution", "command": "sleep", "status": "in_progress"},
    }
    trajectory = loaded(
        {"type": "thread.started", "thread_id": "t"}, started, {"type": "turn.failed", "error": {"message": "no quota"}}
    )
    assert trajectory.outcome is not None
    assert (trajectory.outcome.status, trajectory.outcome.reason) == ("error", "no quota")
    (pair,) = call_pairs(trajectory)
    assert pair.result is None


def test_what_a_script_called_are_the_calls() -> None:
    pairs = call_pairs(only(GOLDEN / "codemode.jsonl"))
    called = [(pair.call.name, pair.result is not None and pair.result.failure) for pair in pairs]
    assert called == [
        ("exec_command", None),
        ("exec_command", None),
        ("exec_command", "exit_code"),
        ("apply_patch", None),
        ("exec", "error"),  # a script that threw, and called nothing
        ("view_image", None),
        ("exec_command", None),
    ]
    assert [pair.call.arguments for pair in pairs[:3]] == [
        {"cmd": "cat recipe.txt"},
        {"cmd": "cat stock.csv"},
        {"cmd": "cat prices.txt"},
    ]
    seen = pairs[5].result
    assert seen is not None and isinstance(seen.media[0], Media)


def test_a_compaction_names_what_it_replaced() -> None:
    trajectory = only(GOLDEN / "trouble.jsonl")
    (summary,) = [step for step in trajectory.steps if step.kind == "compaction"]
    before = [step for step in trajectory.steps[: trajectory.steps.index(summary)] if step.kind != "note"]
    kept = [step for step in before if step.id not in summary.replaces]
    assert {step.role for step in kept} == {"user"} and len(kept) == 4
    assert summary.usage is not None and summary.usage.input == 3536
    (older,) = [step for step in only(GOLDEN / "older.jsonl").steps if step.kind == "compaction"]
    assert older.role == "user" and len(older.replaces) == 10


def test_what_the_program_says_in_the_users_name_is_no_prompt() -> None:
    older = only(GOLDEN / "older.jsonl")
    assert [step.kind for step in older.steps if step.role == "user"] == [
        "synthetic",
        "message",
        "compaction",
        "user_shell",
        "message",
    ]
    assert len([turn for turn in turns(only(GOLDEN / "trouble.jsonl")) if turn.number]) == 6


@pytest.mark.parametrize(
    ("output", "failure", "code"),
    [
        ("Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nx", "exit_code", 3),
        ("Chunk ID: a\nProcess exited with code 0\nOutput:\nProcess exited with code 9\n", None, 0),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nx", "exit_code", 1),
        ("Wall time: 0.0 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nok", None, 0),
        ('{"output":"x","metadata":{"exit_code":2,"duration_seconds":0.1}}', "exit_code", 2),
        ("Wall time: 2.1 seconds\naborted by user", "cancelled", None),
        ("Chunk ID: a\nProcess exited with code 0\nOutput:\naborted by user\n", None, 0),
        ("unsupported call: x", "invalid_tool", None),
        ("failed to parse function arguments: expected", "invalid_arguments", None),
        ("exec command rejected by user", "denied", None),
        ("apply_patch verification failed: Failed to find", "error", None),
        ("the log says: exec command rejected by users of the old site\nunsupported call: x", None, None),
    ],
)
def test_how_calls_fail(output: str, failure: str | None, code: int | None) -> None:
    call = item("function_call", name="exec_command", call_id="c", arguments="{}")
    if "old site" in output:
        output = "A" * 90 + output
    trajectory = loaded(call, item("function_call_output", call_id="c", output=output))
    (pair,) = call_pairs(trajectory)
    assert pair.result is not None
    assert (pair.result.failure, pair.result.exit_code, has_failed(pair.result)) == (failure, code, failure is not None)


def test_reasoning_that_is_sealed_is_kept() -> None:
    thoughts = [part for step in only(GOLDEN / "note.jsonl").steps for part in step.parts if isinstance(part, Thinking)]
    assert {thought.signature for thought in thoughts} == {"c2NyaXB0ZWQ="}
    (hidden,) = loaded(item("reasoning", summary=[], encrypted_content="gAAA")).steps[0].parts
    assert isinstance(hidden, Thinking) and (hidden.text, hidden.redacted) == (None, True)


@pytest.mark.parametrize("name", ["note.jsonl", "older.jsonl", "trouble.jsonl", "codemode.jsonl", "exec_stdout.jsonl"])
def test_a_session_comes_back_line_by_line(name: str, tmp_path: Path) -> None:
    convert(GOLDEN / name, tmp_path / "out", to="codex", strict=True)
    (written,) = (tmp_path / "out").iterdir()
    both = [[_bare(json.loads(each)) for each in path.read_text().splitlines()] for path in (GOLDEN / name, written)]
    assert both[1] == both[0]


def _bare(value: Any) -> Any:
    """A value without nulls: no tool tells them from nothing."""
    if isinstance(value, dict):
        return {key: _bare(value[key]) for key in sorted(value) if value[key] is not None}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def test_a_run_of_another_tool_becomes_a_rollout() -> None:
    assert FORMAT.dump is not None and FORMAT.load is not None
    steps = (
        Step(role="user", parts=(Text(text="go"),), at=1_770_000_000),
        Step(
            role="agent",
            model="m",
            usage=Usage(input=10, output=7, reasoning=5, cache_read=4),
            parts=(Thinking(text="hm"), Text(text="ok"), ToolCall(id="c", name="ls", arguments={"a": 1})),
        ),
        Step(role="tool", parts=(ToolResult(call_id="c", output={"n": 3}, failure="error"),)),
        Step(role="agent", model="m", usage=Usage(input=20, output=1), parts=(Text(text="done"),)),
    )
    sample = Sample(id="s", trajectory=Trajectory(steps=steps))
    lines = FORMAT.dump(sample, None)
    assert [(each["type"], each.get("payload", {}).get("type")) for each in lines] == [
        ("session_meta", None),
        ("response_item", "message"),
        ("turn_context", None),
        ("response_item", "reasoning"),
        ("response_item", "message"),
        ("response_item", "function_call"),
        ("token_usage_record", None),
        ("event_msg", "token_count"),
        ("response_item", "function_call_output"),
        ("response_item", "message"),
        ("token_usage_record", None),
        ("event_msg", "token_count"),
        ("pantrace", None),
    ]
    assert all("timestamp" in each for each in lines[:-1])
    assert lines[11]["payload"]["info"]["total_token_usage"]["input_tokens"] == 30
    assert FORMAT.load(lines) == sample


@pytest.mark.parametrize("source", ["claude-code/trouble.jsonl", "codex/trouble.jsonl"])
def test_a_session_that_codex_went_on_with(source: str) -> None:
    """Codex adds lines to the session that it resumes, behind those of ours that only pantrace reads."""
    assert FORMAT.dump is not None and FORMAT.load is not None
    before = only(ROOT / source)
    lines = FORMAT.dump(Sample(id="s", trajectory=before), None)
    usage = line(
        "token_usage_record", response_id="r", usage={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    )
    asked = item("message", role="user", content=[{"type": "input_text", "text": "And now?"}])
    after = loaded(*lines, asked, said("Done."), usage)
    told_before = loaded(*lines)
    assert after.steps[:-2] == told_before.steps
    assert [step.role for step in after.steps[-2:]] == ["user", "agent"]
    assert final_response(after) == "Done."
    one, other = usage_total(told_before), usage_total(after)
    assert one is not None and other is not None and (other.input or 0) - (one.input or 0) == 5


def test_sub_agents_are_written_beside_and_read_back(tmp_path: Path) -> None:
    report = convert(GOLDEN / "agents", tmp_path / "out", to="codex")
    assert (report.samples, report.losses) == (3, {})
    (after,), (before,) = all_of(tmp_path / "out"), all_of(GOLDEN / "agents")
    assert [(each.id, each.caller) for each in after.children] == [(each.id, each.caller) for each in before.children]


def test_what_has_not_been_run_is_refused() -> None:
    assert FORMAT.dump is not None and FORMAT.load is not None
    with pytest.raises(SampleRefused):
        FORMAT.dump(Sample(id="s"), None)
    with pytest.raises(ReadError, match="not a session of Codex"):
        FORMAT.load([{"type": "x"}])


def test_a_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rollout-x.jsonl"
    path.write_text(json.dumps(line("session_meta", id="x")) + "\n{broken\n" + json.dumps(said("hi")) + "\n")
    broken: list[ReadError] = []
    (sample,) = read(path, on_broken=broken.append).samples
    assert sample.trajectory is not None and final_response(sample.trajectory) == "hi"
    assert [error.place for error in broken] == ["line 2, column 2"]


def test_items_that_other_programs_write_are_calls_and_results(tmp_path: Path) -> None:
    """No version of Codex writes them; exporters do, and their call and result share only the tool's name."""
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}]},
        {"type": "tool_call", "function": {"name": "shell"}, "arguments": {"command": "ls"}},
        {"type": "tool_result", "name": "shell", "result": {"stdout": "", "exitCode": 2}},
        {"type": "tool_result", "result": "whose?"},
    ]
    lines = [{"type": "session_meta", "payload": {"id": "s"}}]
    lines += [{"type": "response_item", "payload": item} for item in items]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    (pair,) = call_pairs(only(path))
    assert (pair.call.name, pair.call.arguments) == ("shell", {"command": "ls"})
    assert pair.result is not None and pair.result.exit_code == 2 and has_failed(pair.result)
    convert(path, tmp_path / "again.jsonl", to="codex")
    again = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    assert [line["payload"] for line in again if line["type"] == "response_item"] == items


def test_a_message_without_a_type_is_a_message(tmp_path: Path) -> None:
    # As other tools write rollouts: it was a note, and the session had no turns.
    asked = {"role": "user", "content": [{"type": "input_text", "text": "Why?"}]}
    answered = {"role": "assistant", "content": [{"type": "output_text", "text": "Because."}]}
    lines = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}]
    lines += [
        {"timestamp": "2026-01-01T10:00:00Z", "type": "response_item", "payload": each} for each in (asked, answered)
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    assert [step.role for step in sample.trajectory.steps if step.kind == "message"] == ["user", "agent"]
    assert final_response(sample.trajectory) == "Because."
