"""Pi: what is peculiar to its sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import UnknownFormat
from pantrace.formats import by_name, detect
from pantrace.model import Trajectory, active_steps, call_pairs, final_response, turns, usage_total
from pantrace.wire.json import encode

GOLDEN = ROOT / "pi"


def golden(name: str) -> Trajectory:
    (sample,) = read(GOLDEN / name).samples
    assert sample.trajectory is not None
    return sample.trajectory


def loaded(*entries: dict[str, Any]) -> Trajectory:
    load = by_name("pi").load
    assert load is not None
    trajectory = load([{"type": "session", "id": "s", "timestamp": "2026-02-03T09:00:00.000Z"}, *entries]).trajectory
    assert trajectory is not None
    return trajectory


def said(role: str, name: str, parent: str | None, text: str) -> dict[str, Any]:
    return {"type": "message", "id": name, "parentId": parent, "message": {"role": role, "content": text}}


def test_a_branch_that_was_given_up_is_kept_and_not_counted() -> None:
    trajectory = golden("tree.jsonl")
    assert [pair.call.id for pair in call_pairs(trajectory)] == ["toolu_1", "toolu_2"]
    assert len(trajectory.steps) - len(active_steps(trajectory)) == 4
    assert len([turn for turn in turns(trajectory) if turn.number]) == 2
    assert final_response(trajectory) == "Yes, it is on."
    assert trajectory.title == "The pump"


def test_tokens_have_the_cached_ones_in_them_and_zeros_say_nothing() -> None:
    total = usage_total(golden("tree.jsonl"))
    assert total is not None
    assert (total.input, total.output, total.cache_read, total.cache_write) == (1020, 39, 750, 50)
    aborted = next(step for step in golden("tree.jsonl").steps if step.stop == "aborted")
    assert aborted.usage is None
    assert aborted.error is not None and aborted.error.message == "Request was aborted"


def test_how_calls_fail() -> None:
    pairs = call_pairs(golden("tree.jsonl"), agent_only=False)
    failed = {pair.call.id: (pair.result.failure, pair.result.exit_code) for pair in pairs if pair.result}
    assert failed["toolu_1"] == ("exit_code", 3)
    assert failed["toolu_2"] == (None, None)
    assert [pair.result.failure for pair in call_pairs(golden("first.jsonl")) if pair.result] == ["error"]


def test_what_the_user_ran_and_what_an_extension_said_is_no_prompt_and_no_call() -> None:
    trajectory = golden("tree.jsonl")
    kinds = [step.kind for step in trajectory.steps if step.role == "user"]
    assert kinds == ["message", "message", "synthetic", "user_shell", "synthetic", "message"]
    ran = next(step for step in trajectory.steps if step.kind == "user_shell")
    assert ran.id not in {pair.step.id for pair in call_pairs(trajectory)}


def test_a_compaction_says_what_the_model_no_longer_saw() -> None:
    trajectory = golden("tree.jsonl")
    (compaction,) = [step for step in trajectory.steps if step.kind == "compaction"]
    prompts = [step.id for step in trajectory.steps if step.role == "user" and step.kind == "message"]
    assert prompts[0] in compaction.replaces and prompts[-1] not in compaction.replaces


def test_the_first_version_has_no_ids_and_knows_its_origin() -> None:
    trajectory = golden("first.jsonl")
    assert trajectory.leaf is None and trajectory.agents[0].model == "claude-opus-4-5"
    assert trajectory.origin is not None
    assert trajectory.origin.trajectory == "0b5e55ed-0000-4000-8000-000000000000"
    assert final_response(trajectory) == "I cannot tell."


def test_a_parent_that_nobody_is_gives_no_line_up() -> None:
    """OpenClaw's results may name their call as parent, which is no line."""
    trajectory = loaded(said("user", "a", "s", "Go"), said("assistant", "b", "a", "1"), said("user", "c", "call", "2"))
    assert trajectory.leaf is None and len(active_steps(trajectory)) == 3


def test_what_pi_prints_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-02-03T09:00:00.000Z", "cwd": "/w"},
        {"type": "agent_start"},
        {"type": "message_end", "message": {"role": "user", "content": "hi"}},
    ]
    path.write_bytes(b"".join(encode(line) + b"\n" for line in lines))
    with pytest.raises(UnknownFormat):
        detect(path)


def test_a_checkpoint_of_openclaw_is_a_copy_of_its_session(tmp_path: Path) -> None:
    header = {"type": "session", "id": "s", "timestamp": "2026-02-03T09:00:00.000Z"}
    lines = [header, said("user", "a", None, "Hello"), said("user", "b", "a", "Still there?")]
    session = tmp_path / "s.jsonl"
    session.write_bytes(b"".join(encode(line) + b"\n" for line in lines))
    checkpoint = tmp_path / "s.checkpoint.1f00.jsonl"
    checkpoint.write_bytes(b"".join(encode(line) + b"\n" for line in lines[:2]))
    (sample,) = read(tmp_path).samples
    assert sample.trajectory is not None and len(sample.trajectory.steps) == 2
    # By itself it is all there is; and with lines of its own it is no copy.
    assert len(list(read(checkpoint).samples)) == 1
    checkpoint.write_bytes(checkpoint.read_bytes() + encode(said("user", "c", "a", "Elsewhere")) + b"\n")
    assert len(list(read(tmp_path).samples)) == 2
