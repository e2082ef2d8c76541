"""Claude Code: what is peculiar to its sessions, and the truth about the recorded ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import Notes, read, read_pile
from pantrace.formats import by_name
from pantrace.model import (
    Media,
    Sample,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    active_steps,
    call_pairs,
    final_response,
    is_prompt,
    step_text,
    turns,
    usage_total,
)
from pantrace.wire.read_listener import listening

GOLDEN = ROOT / "claude-code"
FORMAT = by_name("claude-code")


def only(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


def loaded(*lines: Any) -> Trajectory:
    assert FORMAT.load is not None
    trajectory = FORMAT.load(list(lines)).trajectory
    assert trajectory is not None
    return trajectory


def line(kind: str, content: Any, uuid: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "message": message, "uuid": uuid, "parentUuid": parent, "sessionId": "s", **more}


def answer(text: str, uuid: str, parent: str, name: str, output: int, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": output}
    message = {"id": name, "model": "m", "stop_reason": "end_turn", "usage": usage}
    return line("assistant", [{"type": "text", "text": text}], uuid, parent, message=message, **more)


def test_a_response_on_many_lines_counts_once() -> None:
    (sample,) = read(GOLDEN / "subagent").samples
    assert sample.trajectory is not None
    total = usage_total(sample.trajectory, children=False)
    assert total is not None and (total.output, total.input) == (96, 4513)
    naive = sum(
        json.loads(text)["message"]["usage"]["output_tokens"]
        for text in (GOLDEN / "subagent").glob("*.jsonl").__next__().read_text().splitlines()
        if '"usage"' in text and json.loads(text)["type"] == "assistant"
    )
    assert naive == 264


def test_the_largest_usage_of_a_response_counts_wherever_it_stands() -> None:
    lines = [line("user", "hi", "u"), answer("a", "1", "u", "r", 9), answer("b", "2", "1", "r", 2)]
    for order in (lines, [lines[0], lines[2], lines[1]]):
        total = usage_total(loaded(*order))
        assert total is not None and (total.output, total.input) == (9, 15)


def test_a_sub_agent_is_found_in_its_folder() -> None:
    trajectory = only(GOLDEN / "subagent")
    (child,) = trajectory.children
    assert (child.id, child.caller, child.agents[0].name) == ("a27db603db920fe06", "toolu_0004_0", "general-purpose")
    assert len(call_pairs(trajectory, children=True)) == len(call_pairs(trajectory)) + 2


def test_every_file_of_a_session_belongs_to_it() -> None:
    notes = Notes()
    list(read_pile([GOLDEN / "subagent"], notes=notes).samples)
    assert notes.ignored == []
    assert sum(notes.belonging.values()) == 2


def test_the_log_of_a_sub_agent_can_be_read_alone(tmp_path: Path) -> None:
    (log,) = (GOLDEN / "subagent").rglob("agent-*.jsonl")
    assert final_response(only(log)) == only(GOLDEN / "subagent").children[0].steps[-1].parts[0].text  # type: ignore[union-attr]
    shutil.copy(log, tmp_path)
    assert len(list(read(tmp_path).samples)) == 1


def test_a_fork_counts_only_what_is_its_own() -> None:
    samples = {sample.id[:4]: sample.trajectory for sample in read(GOLDEN / "fork").samples}
    fork, first = samples["1098"], samples["a8ad"]
    assert fork is not None and first is not None
    assert fork.origin is not None and (fork.origin.kind, fork.origin.trajectory) == ("forked", first.id)
    assert first.origin is None
    totals = [usage_total(each) for each in (fork, first)]
    assert sum(each.output or 0 for each in totals if each is not None) == 782
    assert [step_text(step) for step in fork.steps if is_prompt(step)] == [
        "Try another idea: half loaves of 250 g flour?",
        "Start again from the first answer: what if the stock were 6 kg?",
    ]


def test_a_fork_read_alone_is_a_session_as_any_other(tmp_path: Path) -> None:
    (fork,) = (GOLDEN / "fork").glob("1098*.jsonl")
    shutil.copy(fork, tmp_path)
    assert only(tmp_path).origin is None


def test_the_same_names_at_other_times_are_no_copy(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b")):
        lines = [
            line("user", "hi", "u1", timestamp=f"2026-01-0{number + 1}T00:00:00Z"),
            answer(name, "u2", "u1", name, 1),
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert all(sample.trajectory and sample.trajectory.origin is None for sample in read(tmp_path).samples)


def test_a_branch_that_was_given_up_is_kept_and_not_counted() -> None:
    trajectory = only(GOLDEN / "rewind.jsonl")
    assert [step_text(step) for step in active_steps(trajectory) if is_prompt(step)] == [
        "How many rye loaves can we bake from the stock? See recipe.txt and stock.csv, and prices.txt for the cost.",
        "Start again from the first answer: what if the stock were 6 kg?",
    ]
    assert sum(is_prompt(step) for step in trajectory.steps) == 3
    assert final_response(trajectory) == "Then it is 12 loaves."


def test_late_notes_and_parallel_results_are_no_branches() -> None:
    assert only(GOLDEN / "trouble.jsonl").leaf is None
    assert all(each.trajectory and each.trajectory.leaf is None for each in read(GOLDEN / "fork").samples)


def test_trouble_is_seen() -> None:
    trajectory = only(GOLDEN / "trouble.jsonl")
    failures = [pair.result.failure for pair in call_pairs(trajectory) if pair.result is not None]
    assert failures == ["denied", "denied", "cancelled", None]
    errors = [step.error.kind for step in trajectory.steps if step.error is not None]
    assert errors == ["529", "529", "400"]
    cut = [step.usage for step in trajectory.steps if step.usage is not None and step.usage.partial]
    assert [usage.output for usage in cut] == [2]
    assert any(isinstance(part, Media) for step in trajectory.steps for part in step.parts)
    assert final_response(trajectory) == "24 loaves need 9840 g of water."


def test_what_the_program_says_in_the_users_name_is_no_prompt() -> None:
    trajectory = only(GOLDEN / "older.jsonl")
    assert [step_text(step) for step in trajectory.steps if is_prompt(step)] == ["How many files are there?"]
    kinds = {step.id: step.kind for step in trajectory.steps}
    assert (kinds["u4"], kinds["u5"]) == ("compaction", "user_shell")


def test_a_prompt_behind_a_reminder_is_a_prompt() -> None:
    """VS Code's agent sends the open file along, as a text block of its own in front of what the user wrote."""
    reminder = {"type": "text", "text": "<system-reminder>\nThe user has a.py open.\n</system-reminder>"}
    trajectory = loaded(
        line("user", [reminder, {"type": "text", "text": "Which file is this?"}], "u1"),
        answer("a.py", "u2", "u1", "m1", 1),
        line("user", [reminder], "u3", "u2"),
        line("user", [reminder, {"type": "text", "text": "<command-name>/compact</command-name>"}], "u4", "u3"),
    )
    assert [step_text(step) for step in trajectory.steps if is_prompt(step)] == ["Which file is this?"]
    assert [step.kind for step in trajectory.steps] == ["message", "message", "synthetic", "synthetic"]


def test_a_reminder_and_a_prompt_in_one_text_are_a_prompt() -> None:
    trajectory = loaded(
        line("user", "<system-reminder>a.py is open</system-reminder>\n\nWhich file is this?", "u1"),
        answer("a.py", "u2", "u1", "m1", 1),
        line("user", "<system-reminder>a.py was changed</system-reminder>\n", "u3", "u2"),
    )
    assert [step.kind for step in trajectory.steps] == ["message", "message", "synthetic"]


def test_a_command_that_asks_the_model_is_a_prompt() -> None:
    """`/init` and the user's own commands are followed by the text that they stand for; `/model` is not."""
    trajectory = loaded(
        line("user", "<command-message>tidy is running…</command-message>\n<command-name>/tidy</command-name>", "u1"),
        line("user", [{"type": "text", "text": "Please tidy the code."}], "u2", "u1", isMeta=True),
        answer("Tidied.", "u3", "u2", "m1", 1),
        line("user", "<command-name>/model</command-name>", "u4", "u3"),
        line("user", "<local-command-stdout>Set model</local-command-stdout>", "u5", "u4"),
    )
    assert len(turns(trajectory)) == 1
    assert [step.kind for step in trajectory.steps] == ["message", "synthetic", "message", "synthetic", "synthetic"]


def test_a_session_that_was_resumed_by_version_1_counts_only_what_is_its_own(tmp_path: Path) -> None:
    """It began with copies: those of the user's lines under the old id, those of answers at a new time."""
    ids = [f"{number:08}-0000-4000-8000-000000000000" for number in range(4)]
    asked = line("user", "one", ids[0], sessionId="old", timestamp="2025-08-29T21:41:55Z")
    first = answer("1", ids[1], ids[0], "m1", 5, sessionId="old", timestamp="2025-08-29T21:41:58Z")
    copy = {**first, "sessionId": "new", "timestamp": "2025-08-29T21:42:21Z"}
    more = line("user", "two", ids[2], ids[1], sessionId="new", timestamp="2025-08-29T21:42:25Z")
    second = answer("2", ids[3], ids[2], "m2", 7, sessionId="new", timestamp="2025-08-29T21:42:28Z")
    for name, lines in (("old", [asked, first]), ("new", [asked, copy, more, second])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = {sample.id: sample.trajectory for sample in read(tmp_path).samples}
    assert set(found) == {"old", "new"}
    resumed = found["new"]
    assert resumed is not None and resumed.origin is not None and resumed.origin.trajectory == "old"
    total = usage_total(resumed)
    assert total is not None and total.output == 7
    assert [step_text(step) for step in resumed.steps if is_prompt(step)] == ["two"]


def test_a_side_chain_in_the_same_file_is_a_sub_agent() -> None:
    trajectory = only(GOLDEN / "older.jsonl")
    (child,) = trajectory.children
    assert (child.caller, final_response(child)) == ("toolu_1", "There are 3.")
    assert trajectory.title == "Counting files"


def test_a_stream_tells_its_totals_at_its_end() -> None:
    trajectory = only(GOLDEN / "stream_json_subagent_stdout.jsonl")
    total = usage_total(trajectory, children=True)
    assert total is not None and (total.input, total.output) == (8470, 192)
    (child,) = trajectory.children
    assert child.caller == "toolu_0004_0"
    assert len(call_pairs(trajectory, children=True)) == 4


@pytest.mark.parametrize(("kind", "status"), [("error_max_turns", "limit"), ("error_during_execution", "error")])
def test_a_stream_that_ended_badly(kind: str, status: str) -> None:
    trajectory = loaded(
        {"type": "system", "subtype": "init", "session_id": "s", "uuid": "1", "tools": ["Bash"], "model": "m"},
        {"type": "result", "subtype": kind, "is_error": True, "session_id": "s", "uuid": "2"},
    )
    assert trajectory.outcome is not None and trajectory.outcome.status == status


@pytest.mark.parametrize("name", ["older.jsonl", "trouble.jsonl", "rewind.jsonl", "web.json"])
def test_a_session_comes_back_line_by_line(name: str, tmp_path: Path) -> None:
    # In the oldest one, the lines of the sub-agent stand elsewhere afterwards, and the report says so.
    report = convert(GOLDEN / name, tmp_path / "out", to="claude-code", strict=name != "older.jsonl")
    assert {what for _, what, *_ in report.losses} <= {"moved"}
    (written,) = (tmp_path / "out").iterdir()

    def lines(path: Path) -> list[Any]:
        text = path.read_text()
        found = (
            [json.loads(text)] if path.suffix == ".json" else [json.loads(each) for each in text.splitlines() if each]
        )
        return [_bare(each) for each in found]

    both = lines(GOLDEN / name), lines(written)
    if name == "older.jsonl":  # the side chain stands behind the conversation
        both = sorted(both[0], key=str), sorted(both[1], key=str)
    assert both[1] == both[0]


def _bare(value: Any) -> Any:
    """A value without nulls: no tool tells them from nothing."""
    if isinstance(value, dict):
        return {key: _bare(value[key]) for key in sorted(value) if value[key] is not None}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def test_a_run_of_another_tool_becomes_a_session(tmp_path: Path) -> None:
    assert FORMAT.dump is not None and FORMAT.load is not None
    steps = (
        Step(role="user", parts=(Text(text="go"),)),
        Step(role="agent", model="m", parts=(Text(text="ok"), ToolCall(id="c", name="ls", arguments={"a": 1}))),
        Step(role="tool", parts=(ToolResult(call_id="c", output={"n": 3}, failure="error"),)),
        Step(role="agent", parts=(Text(text="done"),)),
    )
    child = Trajectory(id="sub", caller="c", steps=(Step(role="agent", parts=(Text(text="inner"),)),))
    sample = Sample(id="s", trajectory=Trajectory(steps=steps, children=(child,)))
    lines = FORMAT.dump(sample, None)
    assert [each["type"] for each in lines] == ["user", "assistant", "user", "assistant", "assistant", "pantrace"]
    assert [each["parentUuid"] for each in lines[1:4]] == [each["uuid"] for each in lines[:3]]
    assert lines[2]["message"]["content"][0]["is_error"] is True
    assert (lines[4]["isSidechain"], lines[4]["agentId"]) == (True, "sub")
    assert FORMAT.load(lines) == sample


def test_a_stream_beside_its_session_is_part_of_it(tmp_path: Path) -> None:
    """Both tell the same responses: in a pile they count once. Named itself, the stream is read."""
    stream = tmp_path / "printed.jsonl"
    shutil.copy(GOLDEN / "stream_json_subagent_stdout.jsonl", stream)
    name = next(record["session_id"] for record in map(json.loads, stream.read_text().splitlines()))
    assert len(list(read(tmp_path).samples)) == 1
    (tmp_path / f"{name}.jsonl").write_text((GOLDEN / "rewind.jsonl").read_text())
    notes = Notes()
    (sample,) = read_pile([tmp_path], notes=notes).samples
    assert sample.trajectory is not None and sample.trajectory.source is not None
    assert sample.trajectory.source.path == str(tmp_path / f"{name}.jsonl")
    assert len(list(read(stream).samples)) == 1


def test_each_of_a_pile_of_copies_is_looked_into_a_few_times(tmp_path: Path) -> None:
    """Sessions that hold the same lines are not each held against all others."""
    text = (GOLDEN / "rewind.jsonl").read_text()
    name = next(json.loads(each)["sessionId"] for each in text.splitlines() if "sessionId" in each)
    for number in range(40):
        (tmp_path / f"{number:02}.jsonl").write_text(text.replace(name, f"{number:02}"))
    wholes: list[Path] = []
    with listening(lambda place, _: wholes.append(place) if isinstance(place, Path) else None):
        samples = list(read_pile([tmp_path], notes=Notes.keeping()).samples)
    assert len(samples) == 40
    assert all(sample.trajectory is not None and sample.trajectory.origin is None for sample in samples)
    # The folder is looked through again every few seconds, so that a slow machine does it more than once.
    assert len(wholes) < 40 * 20


def test_two_forks_of_one_session_are_forks_of_it_and_not_of_each_other(tmp_path: Path) -> None:
    """Both begin with the same copies; these count once, wherever the session lies that they were copied from."""
    for file in (GOLDEN / "fork").glob("*.jsonl"):
        shutil.copy(file, tmp_path)
    alone = {sample.id: sample.trajectory for sample in read(tmp_path).samples}
    (fork,) = [name for name, each in alone.items() if each is not None and each.origin is not None]
    (parent,) = set(alone) - {fork}
    text, before = (tmp_path / f"{fork}.jsonl").read_text(), (tmp_path / f"{parent}.jsonl").read_text()
    other = text.replace(fork, "0" + fork[1:])
    for line in map(json.loads, text.splitlines()):
        # What the fork has of its own is another's here, said a minute later.
        for name in (line.get("uuid"), (line.get("message") or {}).get("id")):
            if isinstance(name, str) and name not in before:
                other = other.replace(name, name[:-4] + "ffff")
        if isinstance(line.get("uuid"), str) and line["uuid"] not in before:
            at = line["timestamp"]
            other = other.replace(at, at[:14] + f"{int(at[14:16]) + 1:02}" + at[16:])
    (tmp_path / f"{'0' + fork[1:]}.jsonl").write_text(other)

    def tokens(trajectory: Trajectory | None) -> int:
        total = usage_total(trajectory) if trajectory is not None else None
        assert total is not None and total.input is not None
        return total.input

    def sums() -> tuple[dict[str, str | None], int]:
        found = [each.trajectory for each in read(tmp_path).samples if each.trajectory is not None]
        origins = {str(each.id): each.origin.trajectory if each.origin is not None else None for each in found}
        return origins, sum(map(tokens, found))

    whole = sum(map(tokens, alone.values()))
    own = tokens(alone[fork])
    assert sums() == ({parent: None, fork: parent, "0" + fork[1:]: parent}, whole + own)
    (tmp_path / f"{parent}.jsonl").unlink()
    origins, left = sums()
    assert origins == {fork: None, "0" + fork[1:]: fork}
    (first,) = read(tmp_path / f"{fork}.jsonl").samples
    assert tokens(first.trajectory) > own and left == tokens(first.trajectory) + own


def test_a_copy_without_ids_is_a_session(tmp_path: Path) -> None:
    """Fixtures and redacted copies keep type, timestamp and message of a line, and nothing else."""
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a"}}
    usage = {"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 300}
    lines = [
        {"type": "user", "timestamp": "2025-01-01T10:00:00Z", "message": {"content": "Fix it"}, "cwd": "/w"},
        {
            "type": "assistant",
            "timestamp": "2025-01-01T10:00:05Z",
            "message": {"model": "claude-sonnet-4-20250514", "content": [call], "usage": usage},
        },
        {"type": "user", "timestamp": "2025-01-01T10:01:00Z", "message": {"content": "Right"}},
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    trajectory = only(path)
    assert len(turns(trajectory)) == 2
    assert [pair.call.name for pair in call_pairs(trajectory)] == ["Read"]
    total = usage_total(trajectory)
    assert total is not None and (total.input, total.output) == (400, 50)


def _answer(name: str, block: str, **line: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    content = [{"type": "text", "text": block}]
    message = {"id": name, "role": "assistant", "model": "claude-sonnet-4", "content": content, "usage": usage}
    return {"type": "assistant", "sessionId": "s", "uuid": f"{name}-{block}", "message": message, **line}


def test_the_cost_that_older_versions_wrote_on_a_line_is_read_once_and_written_back(tmp_path: Path) -> None:
    rows = [
        _answer("m1", "a", costUSD=0.12),
        # Two lines of one response: its cost counts once.
        _answer("m2", "b", costUSD=0.34),
        _answer("m2", "c", costUSD=0.34),
        _answer("m3", "d", costUSD="much"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    costs = [step.usage.cost_usd if step.usage else None for step in sample.trajectory.steps]
    assert costs == [0.12, 0.34, None]
    assert FORMAT.dump is not None
    assert FORMAT.dump(sample, None) == rows
