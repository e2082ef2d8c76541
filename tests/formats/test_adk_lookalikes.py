"""Files that look like ADK's and are not quite: trpc-agent-go's dialect is read, and nothing is ever read as empty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.measure import choose, scores_of
from pantrace.engine.read import read
from pantrace.engine.validate import validate
from pantrace.errors import ReadError
from pantrace.formats import by_name, detect
from pantrace.model import Sample, Text, ToolCall, ToolResult, Unknown, call_pairs, final_response, step_text
from pantrace.wire.json import decode, encode, to_plain

RESULT = ROOT / "adk-history" / "trpc_agent_go.evalset_result.json"
SET = ROOT / "adk-evalset" / "trpc_agent_go.evalset.json"


def loaded(format_name: str, row: Any) -> Sample:
    format_ = by_name(format_name)
    assert format_.load is not None
    assert format_.dump is not None
    sample = format_.load(row)
    written = decode(encode(format_.dump(sample, format_.options())))
    assert to_plain(format_.load(written)) == to_plain(sample), "written and read again it says the same"
    return sample


def by_id(path: Path) -> dict[str, Sample]:
    return {sample.id: sample for sample in read(path).samples}


def test_the_dialect_is_told_by_detect() -> None:
    assert [(found.name, variant) for found, variant in (detect(RESULT), detect(SET))] == [
        ("adk-history", "trpc-agent-go"),
        ("adk-evalset", "trpc-agent-go"),
    ]
    warnings = [each.message for each in validate(RESULT) if each.level == "warning"]
    assert any("trpc-agent-go" in message for message in warnings)


def test_messages_and_tools_of_the_dialect_are_the_trajectory() -> None:
    trajectory = by_id(RESULT)["book"].trajectory
    assert trajectory is not None
    pairs = call_pairs(trajectory)
    assert [(pair.call.name, pair.call.arguments) for pair in pairs] == [
        ("findTable", {"seats": 2, "atTime": "20:00"}),
        ("bookTable", {"table": 4}),
    ]
    assert [pair.result.output for pair in pairs if pair.result] == [{"table": 4}, "booked"]
    assert [step_text(step) for step in trajectory.steps if step.role == "user"] == [
        "A table for two at eight?",
        "Thanks!",
    ]
    assert final_response(trajectory) == "You are welcome."


def test_a_tool_that_was_called_is_counted_and_one_that_is_not_known_of_is_not_a_zero() -> None:
    utilization = choose(["tool_utilization"], [], [])
    found = by_id(RESULT)
    assert [score.value for score in scores_of(found["book"], utilization)] == [2]
    assert [score.status for score in scores_of(found["cancel"], utilization)] == ["not_applicable"]


def test_go_leaves_out_a_zero_and_the_verdict_brings_it_back() -> None:
    scores = {score.name: score for score in by_id(RESULT)["book"].scores}
    assert scores["tool_trajectory_avg_score"].value == 0
    assert scores["tool_trajectory_avg_score"].passed is False
    assert scores["llm_rubric_response"].value == 0.5
    case = json.loads(RESULT.read_text())["evalCaseResults"][0]
    case["overallEvalMetricResults"][0]["evalStatus"] = "not_evaluated"
    assert loaded("adk-history", case).scores[0].value is None


def test_names_of_tools_in_a_criterion_are_not_respelled() -> None:
    criterion = by_id(RESULT)["book"].scores[0].details["criterion"]
    assert criterion["toolTrajectory"]["toolStrategy"] == {"bookTable": {"arguments": {"ignore": True}}}


def test_a_case_that_was_not_run_counts_with_its_status() -> None:
    """Left out, it would raise the share of those that passed."""
    found = by_id(RESULT)
    assert list(found) == ["book", "cancel", "menu"]
    cancel, menu = found["cancel"], found["menu"]
    assert cancel.trajectory is None
    assert menu.trajectory is None
    assert [(score.name, score.passed) for score in cancel.scores] == [("final_eval_status", False)]
    assert menu.scores == ()
    assert cancel.scores[0].explanation == "run inference: the model did not answer in 30 s"


@pytest.mark.parametrize(("status", "passed"), [(1, True), (2, False), (3, None), ("FAIL", False)])
def test_so_does_one_of_adk_itself(status: Any, passed: bool | None) -> None:
    row = {"eval_set_id": "s", "eval_id": "c", "final_eval_status": status, "session_id": "x", "user_id": "u"}
    for case in (
        row,
        {**row, "session_details": None, "overall_eval_metric_results": []},
        {**row, "session_details": {}},
    ):
        sample = loaded("adk-history", case)
        assert sample.trajectory is None
        assert [score.passed for score in sample.scores] == ([] if passed is None else [passed])
        written = by_name("adk-history").dump(sample, None)  # type: ignore[misc]
        assert written["final_eval_status"] == {True: 1, False: 2, None: 3}[passed]
        assert written["overall_eval_metric_results"] == []


def test_a_recorded_run_in_an_eval_set_is_a_trajectory() -> None:
    found = by_id(SET)
    recorded, both = found["recorded"], found["recorded_and_expected"]
    assert recorded.expected is None
    assert recorded.trajectory is not None
    assert [pair.call.name for pair in call_pairs(recorded.trajectory)] == ["findTable"]
    assert both.trajectory is not None
    assert both.expected is not None
    assert (final_response(both.trajectory), final_response(both.expected)) == ("It is.", "No, it is taken.")


def test_the_shape_of_its_first_days_is_read_too() -> None:
    sample = by_id(SET)["first_days"]
    assert sample.expected is not None
    ((pair),) = call_pairs(sample.expected)
    assert (pair.call.name, pair.call.arguments) == ("calculator", {"a": 2, "b": 3})
    assert pair.result is not None
    assert pair.result.output == {"result": 5}


def invocation(**fields: Any) -> dict[str, Any]:
    return {"invocation_id": "i", "user_content": {"role": "user", "parts": [{"text": "hi"}]}, **fields}


def case_result(actual: dict[str, Any], **fields: Any) -> dict[str, Any]:
    block = {"actual_invocation": actual, "eval_metric_results": []}
    return {
        "eval_id": "c",
        "final_eval_status": 1,
        "overall_eval_metric_results": [],
        "eval_metric_result_per_invocation": [block],
        "session_id": "s",
        "user_id": "u",
        **fields,
    }


def test_a_session_without_events_does_not_hide_the_invocations() -> None:
    data = {"tool_uses": [{"id": "t", "name": "calc", "args": {}}]}
    actual = invocation(intermediate_data=data, final_response={"role": "model", "parts": [{"text": "5"}]})
    for session in ({}, {"id": "s", "app_name": "a", "user_id": "u", "state": {"a": 1}, "events": []}):
        sample = loaded("adk-history", case_result(actual, session_details=session))
        assert sample.trajectory is not None
        assert len(call_pairs(sample.trajectory)) == 1
        assert final_response(sample.trajectory) == "5"
        assert sample.trajectory.state == session.get("state")


@pytest.mark.parametrize(
    "actual",
    [
        invocation(intermediate_data={"calls": [{"name": "calc"}]}),
        {"invocation_id": "i", "prompt": "hi", "answer": "5"},
        {"invocation_id": "i", "turns": [{"user": "hi"}]},
    ],
)
def test_an_invocation_that_nobody_understands_is_refused(actual: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="not ADK's"):
        loaded("adk-history", case_result(actual))
    path = tmp_path / "a.evalset_result.json"
    good = case_result(invocation(), eval_id="good")
    rows = {"eval_set_result_id": "r", "eval_set_id": "s", "eval_case_results": [good, case_result(actual)]}
    path.write_text(json.dumps(rows))
    broken: list[ReadError] = []
    assert [sample.id for sample in read(path, on_broken=broken.append).samples] == ["good"]
    assert [error.place for error in broken] == ["case 2"]


def test_a_session_that_tells_its_story_elsewhere_is_refused() -> None:
    session = {
        "id": "s",
        "app_name": "a",
        "user_id": "u",
        "events": [],
        "messages": [{"role": "user", "content": "hi"}],
    }
    with pytest.raises(ReadError, match="messages"):
        loaded("adk-session", session)
    with pytest.raises(ReadError, match="messages"):
        loaded("adk-history", {"eval_id": "c", "final_eval_status": 1, "session_id": "s", "session_details": session})


def test_an_eval_case_that_states_nothing_known_is_refused() -> None:
    with pytest.raises(ReadError, match="user_turns"):
        loaded("adk-evalset", {"evalId": "c", "userTurns": [{"role": "user", "message": "hi"}]})
    with pytest.raises(ReadError, match="conversation must be a list"):
        loaded("adk-evalset", {"eval_id": "c", "conversation": {"user_content": "hi"}})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"role": "assistant", "content": "5"}, (Text(text="5"),)),
        ("5", (Text(text="5"),)),
        ({"text": "5"}, (Text(text="5"),)),
        ([{"text": "5"}], (Text(text="5"),)),
        ({"role": "model", "parts": "5"}, (Text(text="5"),)),
        ({"role": "model", "parts": {"text": "5"}}, (Text(text="5"),)),
        ({"role": "model", "blocks": [1, 2]}, (Unknown(kind="adk:part", raw={"blocks": [1, 2]}),)),
        (7, (Unknown(kind="adk:part", raw={"content": 7}),)),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]},
            (ToolCall(id="a", name="f", arguments={"x": 1}),),
        ),
        (
            {"role": "tool", "tool_id": "a", "tool_name": "f", "content": "ok"},
            (ToolResult(call_id="a", name="f", output="ok"),),
        ),
    ],
)
def test_a_content_of_another_kind_keeps_its_words(content: Any, expected: tuple[Any, ...]) -> None:
    event = {"id": "e", "author": "root", "invocation_id": "i", "timestamp": 1.0, "content": content}
    row = {"id": "s", "app_name": "a", "user_id": "u", "state": {}, "events": [event], "last_update_time": 1.0}
    trajectory = loaded("adk-session", row).trajectory
    assert trajectory is not None
    assert trajectory.steps[0].parts == expected


def test_an_event_in_words_that_adk_does_not_have_is_kept_as_a_part() -> None:
    event = {"id": "e", "author": "root", "invocation_id": "i", "timestamp": 1.0, "message": {"text": "hi"}}
    row = {"id": "s", "app_name": "a", "user_id": "u", "state": {}, "events": [event], "last_update_time": 1.0}
    trajectory = loaded("adk-session", row).trajectory
    assert trajectory is not None
    assert trajectory.steps[0].parts == (Unknown(kind="adk:event", raw={"message": {"text": "hi"}}),)
