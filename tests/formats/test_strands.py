"""Strands Agents: what is peculiar to its sessions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.read import Notes, read, read_pile
from pantrace.errors import ReadError, UnknownFormat
from pantrace.formats import detect
from pantrace.model import (
    Media,
    Thinking,
    Trajectory,
    call_pairs,
    final_response,
    has_failed,
    step_text,
    turns,
    usage_total,
)
from session_truth import truth

GOLDEN = ROOT / "strands"


def keeper() -> Trajectory:
    found = {sample.id: sample.trajectory for sample in read(GOLDEN / "session_greenhouse").samples}
    assert set(found) == {"greenhouse keeper", "greenhouse helper"}
    trajectory = found["greenhouse keeper"]
    assert trajectory is not None
    return trajectory


@needs_corpus
def test_the_messages_of_the_desk_are_those_that_its_model_answered() -> None:
    """The desk asked two other agents, which kept no session."""
    (sample,) = read(CORPUS / "own/sessions/strands_session/session_library-1").samples
    assert sample.trajectory is not None
    mine = [step.usage for step in sample.trajectory.steps if step.usage is not None]
    numbers = ("input", "output", "cache_read")
    known = [{key: each["usage"][key] for key in numbers} for each in truth("otlp/strands")["calls"]]
    assert len(mine) == 3
    assert all({key: getattr(usage, key) for key in numbers} in known for usage in mine)
    assert len([turn for turn in turns(sample.trajectory) if turn.number]) == truth("otlp/strands")["user_turns"] == 2


def test_messages_stand_in_the_order_of_their_numbers() -> None:
    texts = [step_text(step) for step in keeper().steps]
    assert texts[3:] == [*(f"Message {number}." for number in range(3, 10)), "[User input redacted.]", "It is tansy."]
    assert final_response(keeper()) == "It is tansy."


def test_how_calls_fail() -> None:
    pairs = call_pairs(keeper())
    failed = {pair.call.id: pair.result.failure for pair in pairs if pair.result and has_failed(pair.result)}
    assert failed == {"t2": "invalid_tool", "t3": "invalid_arguments", "t4": "error"}
    assert pairs[0].result is not None and pairs[0].result.output == {"plant": "tansy"}
    assert {pair.result.name for pair in pairs if pair.result} == {"search", "dig", "plant", "burn"}


def test_bedrock_leaves_cached_tokens_out_of_the_input_and_the_total_has_them() -> None:
    usages = [step.usage for step in keeper().steps if step.usage is not None]
    assert [(usage.input, usage.output, usage.total) for usage in usages] == [(150, 40, 190), (50, 6, 56)]
    assert usages[0].derived == ("input",)
    total = usage_total(keeper())
    assert total is not None and total.total == 246


def test_when_the_model_was_asked_and_had_answered() -> None:
    answer = keeper().steps[1]
    assert answer.at is not None and answer.ended is not None
    assert (answer.ended - answer.at, answer.first_token) == (2.0, 0.7)


def test_hidden_thoughts_files_and_state() -> None:
    parts = [part for step in keeper().steps for part in step.parts]
    assert [(part.text, part.redacted) for part in parts if isinstance(part, Thinking)] == [
        ("Look at it.", False),
        (None, True),
    ]
    files = [(part.mime, part.data, part.uri) for part in parts if isinstance(part, Media)]
    assert files == [("image/png", "AAEC", None), ("application/pdf", None, "s3://garden/plan.pdf")]
    assert keeper().state == {"season": "spring"}


def test_a_folder_of_sessions_is_searched() -> None:
    found = [sample.id for sample in read_pile([GOLDEN], notes=Notes()).samples]
    assert found == ["garden-1", "greenhouse helper", "greenhouse keeper", "library-1"]


def test_a_torn_message_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "session_garden-1"
    shutil.copytree(GOLDEN / "session_garden-1", folder)
    torn = folder / "agents/agent_default/messages/message_3.json"
    torn.write_bytes(torn.read_bytes()[:80])
    broken: list[ReadError] = []
    (sample,) = read(folder, on_broken=broken.append).samples
    assert sample.trajectory is not None and len(sample.trajectory.steps) == 5
    assert [str(torn) in str(error) for error in broken] == [True]


@pytest.mark.parametrize(
    "name", ["session.json", "agents/agent_default/agent.json", "agents/agent_default/messages/message_0.json"]
)
def test_one_file_alone_is_refused_with_a_hint(name: str) -> None:
    with pytest.raises(UnknownFormat, match="part of a session of Strands Agents") as refused:
        detect(GOLDEN / "session_garden-1" / name)
    assert refused.value.remedy is not None and "directory" in refused.value.remedy
