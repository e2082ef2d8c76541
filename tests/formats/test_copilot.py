"""Copilot: events of the command line, chats of VS Code."""

from __future__ import annotations

from pathlib import Path

import pantrace
from corpus import CORPUS, needs_corpus
from goldens import ROOT as GOLDEN
from pantrace.model import Trajectory, call_pairs, final_response, turns, usage_total
from pantrace.wire.json import encode


def only(path: Path) -> Trajectory:
    (sample,) = pantrace.read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


def test_events_with_a_sub_agent() -> None:
    told = only(GOLDEN / "copilot" / "agents.jsonl")
    ((pair),) = call_pairs(told)
    # The request leaves out the arguments; the tool's beginning has them.
    assert (pair.call.name, pair.call.arguments) == ("task", {"prompt": "Look at the pump"})
    assert pair.result is not None and (pair.result.started, pair.result.ended) == (1774692004.0, 1774692010.0)
    (child,) = told.children
    assert (child.caller, child.agents[0].name) == ("c1", "explore")
    assert child.outcome is not None and child.outcome.reason == "gave up"
    ((inner),) = call_pairs(child)
    assert inner.result is not None and inner.result.error == "no such file"
    assert final_response(told) == "There is no pump." and len(turns(told)) == 1
    usage = usage_total(told)
    assert usage is not None and (usage.input, usage.cache_read) == (900, 300)


def test_a_chat() -> None:
    told = only(GOLDEN / "copilot" / "chat.json")
    first, second = call_pairs(told)
    assert first.call.name == "copilot_readFile" and first.result is not None and first.result.failure is None
    assert second.result is not None and second.result.failure == "denied"
    assert (told.title, told.steps[0].at) == ("Pump", 1772000010.0)
    assert final_response(told) == "I look.\n\n\nDone.\n"


@needs_corpus
def test_events_on_many_lines() -> None:
    told = only(CORPUS / "public" / "copilot" / "waza_copilot_events_using_skill.json")
    assert [pair.call.name for pair in call_pairs(told)] == ["report_intent", "skill"]
    assert final_response(told) == "yes"


def test_a_torn_session_gives_what_is_whole(tmp_path: Path) -> None:
    lines = (GOLDEN / "copilot" / "agents.jsonl").read_bytes()
    torn = tmp_path / "events.jsonl"
    torn.write_bytes(lines[: lines.index(b'"e9"')])
    broken: list[str] = []
    (sample,) = pantrace.read(torn, on_broken=lambda error: broken.append(str(error))).samples
    assert sample.trajectory is not None and len(sample.trajectory.children) == 1
    assert len(broken) == 1 and "line 9" in broken[0]


def test_a_sub_agent_whose_ids_repeat_is_not_lost(tmp_path: Path) -> None:
    """Where ids are blanked out for sharing, a sub-agent seems to have been started by a call of its own."""
    data = {"toolCallId": "x", "agentName": "explore"}
    asked = {"content": "I look.", "parentToolCallId": "x", "toolRequests": [{"toolCallId": "x", "name": "view"}]}
    events = [
        {"type": "user.message", "data": {"content": "Look"}},
        {"type": "subagent.started", "data": data},
        {"type": "assistant.message", "data": asked},
        {"type": "subagent.completed", "data": {**data, "totalTokens": 7}},
    ]
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(encode({**each, "id": "x", "timestamp": ""}) + b"\n" for each in events))
    (child,) = only(path).children
    assert child.extra["copilot"]["events"][1]["data"]["totalTokens"] == 7
    assert [pair.call.name for pair in call_pairs(child)] == ["view"]
