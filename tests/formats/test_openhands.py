"""OpenHands V1: conversations with condensation, sub-agents and errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pantrace
from corpus import needs_corpus
from goldens import ROOT as GOLDEN
from pantrace.model import Trajectory, call_pairs, final_response, usage_total
from session_truth import FOLDER


def only(path: Path) -> Trajectory:
    (sample,) = pantrace.read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


@needs_corpus
def test_each_condensation_says_what_it_replaced_and_took() -> None:
    trajectory = only(FOLDER / "openhands_v1" / "condense")
    compactions = [step for step in trajectory.steps if step.kind == "compaction"]
    assert len(compactions) == 3 and all(step.replaces and step.usage for step in compactions)


def test_sub_agents_stand_under_their_calls() -> None:
    trajectory = only(GOLDEN / "openhands")
    assert len({child.caller for child in trajectory.children}) == 2
    assert None not in {child.caller for child in trajectory.children}


def test_an_event_that_is_cut_off_is_named(tmp_path: Path) -> None:
    (golden,) = [each for each in (GOLDEN / "openhands").iterdir() if each.is_dir() and "native" not in each.name]
    shutil.copytree(golden, tmp_path / "c")
    first = min((tmp_path / "c" / "events").iterdir())
    first.write_bytes(first.read_bytes()[:50])
    broken: list[str] = []
    (sample,) = pantrace.read(tmp_path / "c", on_broken=lambda error: broken.append(str(error))).samples
    assert len(broken) == 1 and first.name in broken[0]
    assert sample.trajectory is not None and len(sample.trajectory.steps) == 9


def told() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """State and events of the golden conversation."""
    (golden,) = [each for each in (GOLDEN / "openhands").iterdir() if each.is_dir() and "native" not in each.name]
    events = [json.loads(each.read_text()) for each in sorted((golden / "events").iterdir())]
    return json.loads((golden / "base_state.json").read_text()), events


def test_the_events_of_a_conversation_may_stand_in_one_file(tmp_path: Path) -> None:
    """As its server's API returns them; what the state says is told by events then."""
    state, events = told()
    update = {"id": "u", "timestamp": "2026-06-16T05:39:18", "source": "environment", "key": "stats"}
    events.append({**update, "value": state["stats"], "kind": "ConversationStateUpdateEvent"})
    whole = only(GOLDEN / "openhands")
    for name, text in (("events.jsonl", "\n".join(map(json.dumps, events))), ("events.json", json.dumps(events))):
        (tmp_path / name).write_text(text)
        alone = only(tmp_path / name)
        assert [pair.call for pair in call_pairs(alone)] == [pair.call for pair in call_pairs(whole)]
        assert (usage_total(alone, children=False), final_response(alone)) == (
            usage_total(whole, children=False),
            final_response(whole),
        )


def test_an_evaluation_holds_events_of_version_1(tmp_path: Path) -> None:
    """The frame is that of V0, whose reader took an action of V1 for a call named `{'command': ...}`."""
    state, events = told()
    instance = {"instance_id": "pump-1", "attempt": 2, "test_result": {"git_patch": ""}, "history": events}
    instance |= {"metrics": state["stats"]["usage_to_metrics"]["agent"], "metadata": {"llm": {"model": "a/b"}}}
    failed = {"instance_id": "pump-2", "test_result": {}, "history": [], "error": "no sandbox"}
    path = tmp_path / "output.jsonl"
    path.write_text("\n".join(map(json.dumps, (failed, instance))))
    first, second = pantrace.read(path).samples
    assert first.trajectory is not None and first.trajectory.outcome is not None
    assert first.trajectory.outcome.reason == "no sandbox"
    assert (second.id, second.epoch) == ("pump-1", 2) and second.trajectory is not None
    whole = only(GOLDEN / "openhands")
    assert [pair.call for pair in call_pairs(second.trajectory)] == [pair.call for pair in call_pairs(whole)]
    assert usage_total(second.trajectory, children=False) == usage_total(whole, children=False)
    assert second.trajectory.agents[0].model == "a/b"
