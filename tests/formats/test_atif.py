"""ATIF: what is peculiar to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.errors import ReadError, SampleRefused
from pantrace.formats import by_name
from pantrace.formats.atif.validation import check
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
    usage_total,
)

GOLDEN = ROOT / "atif"
EVERY = json.loads((GOLDEN / "every_field.trajectory.json").read_bytes())
FORMAT = by_name("atif")


def load(row: Any) -> Trajectory:
    assert FORMAT.load is not None
    trajectory = FORMAT.load(row).trajectory
    assert trajectory is not None
    return trajectory


def dump(*steps: Step, **fields: Any) -> dict[str, Any]:
    assert FORMAT.dump is not None
    row = FORMAT.dump(Sample(id="s", trajectory=Trajectory(steps=steps, **fields)), None)
    assert not [each for each in check(row) if each.level == "error"]
    return dict(row)


def test_a_step_holds_words_thoughts_calls_and_results() -> None:
    trajectory = load(EVERY)
    step = trajectory.steps[2]
    assert [type(part) for part in step.parts] == [Thinking, ToolCall, ToolCall, ToolResult, ToolResult, ToolResult]
    assert step.settings == {"reasoning_effort": "high"}
    pairs = {pair.call.id: pair.result for pair in call_pairs(trajectory)}
    assert pairs["c1"] is not None and pairs["c1"].output == "Cold."
    assert pairs["c2"] is not None and pairs["c2"].media[0].uri == "images/rome.jpg"
    assert final_response(trajectory) == "Rome is warm. Take the train."


def test_copied_context_is_not_counted_again() -> None:
    assert load(EVERY).steps[1].kind == "copied"


def test_tokens_are_those_of_the_steps_and_totals_are_kept_as_stated() -> None:
    trajectory = load(EVERY)
    total = usage_total(trajectory, children=False)
    assert total is not None and (total.input, total.output, total.cache_read) == (900, 60, 512)
    assert trajectory.usage is not None and trajectory.usage[""].cost_usd == 0.0042


def test_a_sub_agent_knows_the_call_that_started_it() -> None:
    (child,) = load(EVERY).children
    assert (child.id, child.parent, child.caller) == ("weather-1", "main-7", "c1")


def test_a_sub_agent_in_another_file_is_read_with_its_parent(tmp_path: Path) -> None:
    (sample,) = read(GOLDEN / "by_reference").samples
    assert sample.trajectory is not None
    assert [child.id for child in sample.trajectory.children] == ["job-1-summary"]
    assert [each.id for each in read(GOLDEN / "by_reference" / "trajectory.summary.json").samples] == ["job-1-summary"]
    shutil.copy(GOLDEN / "by_reference" / "trajectory.json", tmp_path)
    (alone,) = read(tmp_path).samples
    assert alone.trajectory is not None and alone.trajectory.children == ()


def test_a_reference_leads_to_no_other_folder(tmp_path: Path) -> None:
    row = json.loads((GOLDEN / "by_reference" / "trajectory.json").read_bytes())
    row["steps"][1]["observation"]["results"][0]["subagent_trajectory_ref"][0]["trajectory_path"] = "../secret.json"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "trajectory.json").write_text(json.dumps(row))
    shutil.copy(GOLDEN / "by_reference" / "trajectory.summary.json", tmp_path / "secret.json")
    (sample,) = read(tmp_path / "in").samples
    assert sample.trajectory is not None and sample.trajectory.children == ()


def test_results_of_later_steps_are_folded_into_the_step_of_their_call() -> None:
    row = dump(
        Step(role="user", parts=(Text(text="go"),)),
        Step(role="agent", parts=(ToolCall(id="a", name="ls", arguments={}), ToolCall(id="b", name="ls"))),
        Step(role="tool", parts=(ToolResult(call_id="b", output="two"),)),
        Step(role="tool", parts=(ToolResult(call_id="a", error="no"),)),
        Step(role="agent", parts=(Text(text="done"),)),
    )
    assert [step["source"] for step in row["steps"]] == ["user", "agent", "agent"]
    results = row["steps"][1]["observation"]["results"]
    assert results == [{"source_call_id": "b", "content": "two"}, {"source_call_id": "a", "content": "no"}]


def test_a_result_of_no_known_call_names_none() -> None:
    row = dump(Step(role="agent", parts=(Text(text="x"), ToolResult(call_id="lost", output={"a": 1}))))
    assert row["steps"][0]["observation"]["results"] == [{"content": '{"a":1}'}]


def test_arguments_that_are_no_object_and_calls_without_ids() -> None:
    row = dump(Step(role="agent", parts=(ToolCall(name="run", arguments="ls"), ToolCall(name="run"))))
    calls = row["steps"][0]["tool_calls"]
    assert [call["arguments"] for call in calls] == [{"input": "ls"}, {}]
    assert len({call["tool_call_id"] for call in calls}) == 2


def test_only_the_agent_has_model_and_tokens() -> None:
    row = dump(Step(role="user", model="m", usage=Usage(input=1), parts=(Text(text="hi"), Thinking(text="hm"))))
    assert row["steps"] == [{"step_id": 1, "source": "user", "message": "hi"}]


def test_the_totals_of_another_format_are_summed() -> None:
    usage = Usage(input=10, output=4, cache_read=3, cost_usd=0.5)
    row = dump(Step(role="agent", usage=usage), Step(role="agent", usage=usage))
    assert row["final_metrics"] == {
        "total_prompt_tokens": 20,
        "total_completion_tokens": 8,
        "total_cached_tokens": 6,
        "total_cost_usd": 1.0,
    }


def test_sound_needs_the_newest_version() -> None:
    sound = Media(mime="audio/wav", uri="a.wav", seconds=2)
    row = dump(Step(role="user", parts=(sound,)))
    assert row["schema_version"] == "ATIF-v1.8"
    assert row["steps"][0]["message"][0]["source"] == {"media_type": "audio/wav", "path": "a.wav", "duration_sec": 2}


@pytest.mark.parametrize("steps", [(), (Step(role="system", kind="note", parts=(Text(text="x"),)),)])
def test_a_run_without_steps_is_refused(steps: tuple[Step, ...]) -> None:
    with pytest.raises(SampleRefused):
        dump(*steps)


def test_two_sub_agents_never_share_an_id(tmp_path: Path) -> None:
    child = Trajectory(id="same", steps=(Step(role="agent", parts=(Text(text="x"),)),))
    row = dump(Step(role="agent", parts=(Text(text="x"),)), children=(child, child))
    assert len({each["trajectory_id"] for each in row["subagent_trajectories"]}) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": "ATIF-v9"}, "is none of"),
        ({"steps": []}, "at least one step"),
        ({"steps": [{"step_id": 2, "source": "user", "message": "x"}]}, "must be 1"),
        ({"steps": [{"step_id": 1, "source": "user", "message": "x", "model_name": "m"}]}, "the agent only"),
        (
            {"steps": [{"step_id": 1, "source": "agent", "message": "x", "llm_call_count": 0, "metrics": {}}]},
            "no model was called",
        ),
        (
            {
                "steps": [
                    {
                        "step_id": 1,
                        "source": "agent",
                        "message": "x",
                        "observation": {"results": [{"source_call_id": "q", "content": "x"}]},
                    }
                ]
            },
            "does not match any call in this step",
        ),
        ({"agent": {"name": "x"}}, "is missing"),
    ],
)
def test_violations(change: dict[str, Any], message: str) -> None:
    assert any(message in each.message for each in check({**EVERY, **change}) if each.level == "error")


@pytest.mark.parametrize(
    "row", [[], {"steps": 1}, {"steps": [1]}, {"steps": [{"source": "robot"}]}, {"steps": [{"source": ["x"]}]}]
)
def test_what_is_no_document_is_told(row: Any) -> None:
    with pytest.raises(ReadError):
        load(row)


def test_our_notes_need_not_be_written(tmp_path: Path) -> None:
    source = ROOT / "opencode" / "run_s1.ndjson"
    report = convert(source, tmp_path / "plain.json", to="atif", carry=False)
    assert b"pantrace" not in (tmp_path / "plain.json").read_bytes()
    assert report.lost
