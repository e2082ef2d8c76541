"""What is peculiar to vertex-agent: turns, events, agents, and answers that find their calls."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.errors import ReadError, SampleRefused
from pantrace.formats import by_name
from pantrace.model import (
    Agent,
    Case,
    Sample,
    Step,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    call_pairs,
    final_response,
)

FORMAT = by_name("vertex-agent")


def sample_of(*steps: Step, **fields: Any) -> Sample:
    return Sample(id="s1", trajectory=Trajectory(id="s1", steps=steps, **fields))


def dumped(*steps: Step, **fields: Any) -> dict[str, Any]:
    row: dict[str, Any] = FORMAT.dump(sample_of(*steps, **fields), FORMAT.options())
    return row


def events(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Turn, author, role and the kinds of parts of every event."""
    return [
        (turn["turn_index"], event["author"], event["content"]["role"], [next(iter(part)) for part in _parts(event)])
        for turn in row["agent_data"]["turns"]
        for event in turn["events"]
    ]


def _parts(event: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = event["content"]["parts"]
    return parts


ASK = Step(role="user", parts=(Text(text="Go."),))
CALL = ToolCall(id="c1", name="read", arguments={"path": "a"})
RESULT = ToolResult(call_id="c1", name="read", output="text")


def test_nothing_run_and_nothing_said_are_refused() -> None:
    with pytest.raises(SampleRefused, match="nothing was run"):
        FORMAT.dump(Sample(id="s1", case=Case(question="?")), FORMAT.options())
    with pytest.raises(SampleRefused, match="nothing was said"):
        dumped(Step(role="agent", kind="compaction", parts=(Text(text="summary"),)))


def test_an_integer_the_client_cannot_read_is_refused_before_it_spoils_the_file() -> None:
    with pytest.raises(SampleRefused, match="64 bits"):
        dumped(ASK, Step(role="agent", parts=(ToolCall(id="c", name="n", arguments={"deep": [2**64]}),)))
    assert dumped(ASK, Step(role="agent", parts=(ToolCall(id="c", name="n", arguments={"deep": [2**64 - 1]}),)))


def test_inserted_texts_summaries_and_user_commands_are_no_events() -> None:
    row = dumped(
        Step(role="user", kind="user_shell", parts=(Text(text="ran ls", synthetic=True),)),
        Step(role="agent", kind="user_shell", parts=(ToolCall(id="u", name="bash", arguments={}),)),
        Step(role="user", parts=(Text(text="<file>", synthetic=True), Text(text="Look."))),
        Step(role="agent", parts=(Text(text="Seen."),)),
        Step(role="agent", kind="compaction", parts=(Text(text="## Goal"),)),
    )
    assert events(row) == [(0, "user", "user", ["text"]), (0, "agent", "model", ["text"])]
    assert row["agent_data"]["turns"][0]["events"][0]["content"]["parts"] == [{"text": "Look."}]


def test_calls_and_answers_are_separate_events_that_share_an_id() -> None:
    row = dumped(ASK, Step(role="agent", agent="build", parts=(Thinking(text="hm"), CALL, RESULT, Text(text="Done."))))
    assert events(row) == [
        (0, "user", "user", ["text"]),
        (0, "build", "model", ["text", "function_call"]),
        (0, "build", "user", ["function_response"]),
        (0, "build", "model", ["text"]),
    ]
    told = row["agent_data"]["turns"][0]["events"]
    assert told[1]["content"]["parts"][0] == {"text": "hm", "thought": True}
    assert told[1]["content"]["parts"][1]["function_call"]["id"] == "c1"
    assert told[2]["content"]["parts"][0]["function_response"] == {
        "id": "c1",
        "name": "read",
        "response": {"output": "text"},
    }


def test_each_prompt_begins_a_turn_and_numbers_start_at_zero() -> None:
    reply = Step(role="agent", parts=(Text(text="Ok."),))
    row = dumped(ASK, reply, ASK, reply, ASK)
    assert [turn["turn_index"] for turn in row["agent_data"]["turns"]] == [0, 1, 2]
    assert not list(FORMAT.check(row))
    row["agent_data"]["turns"][0]["turn_index"] = 1
    assert [each.place for each in FORMAT.check(row)] == ["agent_data.turns[0].turn_index"]


@pytest.mark.parametrize(
    ("result", "response"),
    [
        (ToolResult(call_id="c1", error="gone", failure="error"), {"error": "gone"}),
        (ToolResult(call_id="c1", output="x", error="gone", failure="error"), {"output": "x", "error": "gone"}),
        (
            ToolResult(call_id="c1", output="x", failure="exit_code", exit_code=2),
            {"output": "x", "error": "exit code 2"},
        ),
        (ToolResult(call_id="c1", failure="denied"), {"error": "denied"}),
        (ToolResult(call_id="c1", output={"rows": 3}), {"rows": 3}),
        (ToolResult(call_id="c1", output={"output": 3}), {"output": {"output": 3}}),
        (ToolResult(call_id="c1", output=[1, 2]), {"output": [1, 2]}),
        (
            ToolResult(call_id="c1", output={"rows": 0, "error": "none"}, error="none", failure="error"),
            {"rows": 0, "error": "none"},
        ),
    ],
)
def test_outcomes_of_tools_go_out_and_come_back(result: ToolResult, response: dict[str, Any]) -> None:
    row = dumped(ASK, Step(role="agent", parts=(CALL, result)))
    written = row["agent_data"]["turns"][0]["events"][2]["content"]["parts"][0]["function_response"]
    assert written["response"] == response
    assert call_pairs(FORMAT.load(row).trajectory)[0].result == result


def test_times_state_invocation_and_turns_return() -> None:
    steps = (
        Step(role="user", turn=1, invocation="e-1", at=100.5, parts=(Text(text="Go."),)),
        Step(role="agent", turn=1, invocation="e-1", agent="a", at=101.0, parts=(CALL,)),
        Step(role="tool", turn=1, invocation="e-1", agent="a", at=102.0, parts=(RESULT,), state_delta={"seen": 1}),
        Step(role="agent", turn=1, invocation="e-1", agent="a", at=103.0, parts=(Text(text="Done."),)),
    )
    back = FORMAT.load(dumped(*steps, agents=(Agent(name="a"),))).trajectory
    assert back is not None
    assert back.steps == steps


def test_an_answer_joins_the_step_of_its_call_with_its_time() -> None:
    steps = (ASK, Step(role="agent", agent="a", parts=(CALL,)), Step(role="tool", agent="a", at=7.0, parts=(RESULT,)))
    back = FORMAT.load(dumped(*steps)).trajectory
    assert back is not None
    assert len(back.steps) == 2
    result = back.steps[1].parts[1]
    assert isinstance(result, ToolResult)
    assert (result.output, result.ended) == ("text", 7.0)


def test_words_behind_a_call_stay_before_its_answer() -> None:
    row = dumped(ASK, Step(role="agent", agent="a", parts=(CALL, Text(text="Wait."), RESULT)))
    assert [kinds for *_, kinds in events(row)] == [["text"], ["function_call", "text"], ["function_response"]]
    assert FORMAT.dump(FORMAT.load(row), FORMAT.options()) == row


def test_answers_without_ids_find_their_calls_in_order() -> None:
    parts = (
        ToolCall(name="read", arguments={"n": 1}),
        ToolResult(name="read", output="one"),
        ToolCall(name="read", arguments={"n": 2}),
        ToolResult(name="read", output="two"),
    )
    back = FORMAT.load(dumped(ASK, Step(role="agent", agent="agent", parts=parts))).trajectory
    assert back is not None
    assert back.steps[1].parts == parts


def test_agents_have_instructions_tools_and_parents() -> None:
    tool = Tool(name="read", description="Reads", parameters={"type": "object"})
    agents = (
        Agent(name="main", instructions="Be kind.", description="Leads", tools=(tool,)),
        Agent(name="helper", parent="main"),
    )
    row = dumped(ASK, Step(role="agent", agent="guest", parts=(Text(text="Hi."),)), agents=agents)
    assert row["agent_data"]["agents"] == {
        "main": {
            "agent_id": "main",
            "description": "Leads",
            "instruction": "Be kind.",
            "tools": [
                {
                    "function_declarations": [
                        {"name": "read", "description": "Reads", "parameters_json_schema": {"type": "object"}}
                    ]
                }
            ],
            "sub_agents": ["helper"],
        },
        "helper": {"agent_id": "helper"},
        "guest": {"agent_id": "guest"},
    }
    assert FORMAT.load(row).trajectory.agents[:2] == agents


def test_a_system_step_is_the_instruction_of_an_agent_that_has_none() -> None:
    row = dumped(
        Step(role="system", parts=(Text(text="Be brief."),)), ASK, Step(role="agent", parts=(Text(text="Ok"),))
    )
    assert row["agent_data"]["agents"]["agent"]["instruction"] == "Be brief."


def test_camel_case_json_texts_and_unknown_keys_are_read() -> None:
    data = """{"agents": {"a": {"agentId": "a", "agentType": "LlmAgent", "subAgents": ["x"],
      "tools": [{"googleSearch": {}}, {"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}]}},
      "turns": [{"turnIndex": 0, "turnId": "t", "events": [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "Hi"}]}, "eventTime": "2026-01-01T00:00:00Z"},
        {"author": "a", "content": {"parts": [{"functionCall": {"id": "1", "name": "f", "args": {}}}]},
         "activeTools": [], "stateDelta": {"k": 1}}]}]}"""
    sample = FORMAT.load({"agent_data": data, "session_id": "s", "color": "red"})
    assert sample.extra == {"vertex-agent": {"color": "red"}}
    assert sample.trajectory is not None
    user, agent = sample.trajectory.steps
    assert (user.at, user.invocation, agent.state_delta) == (1767225600.0, "t", {"k": 1})
    assert agent.extra == {"vertex-agent": {"active_tools": []}}
    row = FORMAT.dump(sample, FORMAT.options())
    assert row["color"] == "red"
    written = row["agent_data"]["agents"]["a"]
    assert (written["agent_type"], written["sub_agents"]) == ("LlmAgent", ["x"])
    assert written["tools"] == [
        {"function_declarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]},
        {"googleSearch": {}},
    ]
    assert FORMAT.load(row) == sample


def test_rows_without_an_id_get_one_from_their_content() -> None:
    row = dumped(ASK, Step(role="agent", parts=(Text(text="Ok"),)))
    del row["session_id"]
    assert FORMAT.load(row).id == FORMAT.load(row).id != "s1"
    assert FORMAT.load(row).id.startswith("row_")


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"agent_data": 5},
        {"agent_data": "no"},
        {"agent_data": {"turns": [5]}},
        {"agent_data": {"turns": [{"events": [{"author": ["a"]}]}]}},
        {"agent_data": {"turns": [{"events": [{"content": {"parts": [{"function_call": {"id": 5, "name": "f"}}]}}]}]}},
        {"agent_data": {"agents": {"a": {"instruction": {}}}, "turns": []}},
    ],
)
def test_what_is_no_agent_data_is_refused_in_words(row: Any) -> None:
    with pytest.raises(ReadError):
        FORMAT.load(row)


def test_check_finds_what_the_client_would_drop() -> None:
    row = dumped(ASK, Step(role="agent", parts=(CALL, RESULT)))
    told = row["agent_data"]["turns"][0]["events"]
    told[2]["content"]["parts"][0]["function_response"] = {"id": "nobody", "name": "read", "response": "text"}
    found = {(each.level, each.place) for each in FORMAT.check(row)}
    assert found == {
        ("error", "agent_data.turns[0].events[2].function_response"),
        ("warning", "agent_data.turns[0].events[2].function_response.id"),
    }
    assert [each.level for each in FORMAT.check({**dumped(ASK), "request": {}})] == ["error"]


def test_a_response_beside_the_run_is_the_final_response() -> None:
    row = {**dumped(ASK, Step(role="agent", parts=(Text(text="Said."),))), "response": "Judged."}
    sample = FORMAT.load(row)
    assert sample.trajectory.response == "Judged."
    assert final_response(sample.trajectory) == "Judged."
    assert FORMAT.dump(sample, FORMAT.options()) == row
    assert FORMAT.load({**row, "response": "Said."}).trajectory.response is None
    stated = sample_of(ASK, Step(role="agent", parts=(Text(text="Said."),)), response="7")
    written = FORMAT.dump(stated, FORMAT.options())
    assert written["response"] == {"role": "model", "parts": [{"text": "7"}]}
    assert FORMAT.load(written).trajectory.response == "7"
