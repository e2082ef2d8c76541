"""Agents behind servers, on loopback: chat completions and Responses with stub tools, plain JSON, Agent2Agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.asking import trial
from loopback import Act, loopback
from pantrace.agents import AgentFailed, Surroundings, agent_of
from pantrace.engine.run import function_recorder
from pantrace.errors import UsageError
from pantrace.model import Case, ExpectedCall, Step, Text, ToolResult, step_text


def agent(spec: str, **options: str) -> Any:
    return agent_of(spec, Surroundings(recorder=function_recorder, options=options, keys={"openai": "sk-test"}))


def reply(message: dict[str, Any], **more: Any) -> Act:
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return Act(body=json.dumps({"model": "m-1", "choices": [choice], "usage": usage, **more}).encode())


CALL = {
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "stock", "arguments": "{}"}}],
}


def test_a_model_with_the_tools_of_the_case(tmp_path: Path) -> None:
    case = Case(
        id="c", available_tools=("stock", "mail"), expected_calls=(ExpectedCall(name="stock", outcome="12 left"),)
    )
    with loopback(lambda number, _: reply(CALL) if number == 0 else reply({"content": "12 are left"})) as server:
        answer = agent("openai:m", base_url=server.url, temperature="0.5").ask("How many?", trial(tmp_path, case=case))
    first, second = server.requests
    assert [each["function"]["name"] for each in first["tools"]] == ["stock", "mail"]
    assert first["temperature"] == 0.5
    assert second["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "name": "stock", "content": "12 left"}
    assert [step.role for step in answer.steps] == ["agent", "tool", "agent"]
    assert [step.usage.total for step in answer.steps if step.usage] == [14, 14]
    assert step_text(answer.steps[-1]) == "12 are left"


def test_a_model_that_only_calls_tools_comes_to_an_end(tmp_path: Path) -> None:
    with loopback(lambda *_: reply(CALL)) as server, pytest.raises(AgentFailed, match="within 3 rounds") as failed:
        agent("openai:m", base_url=server.url, rounds="3").ask(
            "x", trial(tmp_path, case=Case(available_tools=("stock",)))
        )
    assert failed.value.status == "limit"
    results = [part for step in failed.value.answer.steps for part in step.parts if isinstance(part, ToolResult)]
    assert len(results) == 3 and all(each.failure == "error" for each in results)


def test_what_was_said_before_is_said_again(tmp_path: Path) -> None:
    asked = trial(tmp_path)
    asked.history = [Step(role="user", parts=(Text(text="one"),)), Step(role="agent", parts=(Text(text="two"),))]
    with loopback(lambda *_: reply({"content": "four"})) as server:
        agent("openai:m", base_url=server.url, instructions="Be kind.").ask("three", asked)
    (body,) = server.requests
    assert [each["content"] for each in body["messages"]] == ["Be kind.", "one", "two", "three"]


def response(number: int, *items: dict[str, Any], **more: Any) -> Act:
    usage = {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 9, "total_tokens": 29}
    usage["output_tokens_details"] = {"reasoning_tokens": 5}
    told = {"id": f"resp_{number}", "object": "response", "status": "completed", "model": "m-1", "output": items}
    return Act(body=json.dumps({**told, "usage": usage, "error": None, "incomplete_details": None, **more}).encode())


THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
ASKS = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "stock", "arguments": '{"of": "hose"}'}
SAYS = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
SAYS["content"] = [{"type": "output_text", "text": "12 are left", "annotations": []}]


def test_a_model_behind_responses_gets_its_own_items_back_in_later_turns(tmp_path: Path) -> None:
    case = Case(id="c", available_tools=("mail",), expected_calls=(ExpectedCall(name="stock", outcome="12 left"),))
    asked = trial(tmp_path, case=case)
    with loopback(
        lambda number, _: response(number, THOUGHT, ASKS) if not number else response(number, SAYS)
    ) as server:
        model = agent("openai-responses:m", base_url=server.url, instructions="Be kind.", max_tokens="99", effort="low")
        answer = model.ask("How many?", asked)
        asked.history = [Step(role="user", parts=(Text(text="How many?"),)), *answer.steps]
        model.ask("Sure?", asked)
    first, second, third = server.requests
    assert set(server.paths) == {"/v1/responses"}
    assert [(each["type"], each["name"], each["strict"]) for each in first["tools"]] == [
        ("function", "mail", False),
        ("function", "stock", False),
    ]
    assert (first["instructions"], first["max_output_tokens"], first["reasoning"]) == (
        "Be kind.",
        99,
        {"effort": "low"},
    )
    question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How many?"}]}
    result = {"type": "function_call_output", "call_id": "c1", "output": "12 left"}
    assert first["input"] == [question]
    assert second["input"] == [question, THOUGHT, ASKS, result]
    assert third["input"][:-1] == [question, THOUGHT, ASKS, result, SAYS]
    assert [step.role for step in answer.steps] == ["agent", "tool", "agent"]
    assert step_text(answer.steps[-1]) == "12 are left"
    used = answer.steps[0].usage
    assert used is not None and (used.input, used.cache_read, used.output, used.reasoning, used.total) == (
        20,
        8,
        9,
        5,
        29,
    )
    assert (answer.steps[0].id, answer.steps[0].model, answer.steps[0].stop) == ("resp_0", "m-1", "completed")


def test_calls_that_the_server_answers_itself_need_no_stub(tmp_path: Path) -> None:
    search = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    with loopback(lambda number, _: response(number, search, SAYS, **cut)) as server:
        answer = agent("openai-responses:m", base_url=server.url).ask("x", trial(tmp_path))
    (step,) = answer.steps
    assert step_text(step) == "12 are left" and step.stop == "max_output_tokens" and len(server.requests) == 1


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (response(0, status="failed", error={"code": "server_error", "message": "too hot"}), "too hot"),
        (reply({"content": "hi"}), "no output of items"),
        (Act(body=b"[]"), "no output of items"),
    ],
)
def test_a_server_of_responses_that_gives_none(tmp_path: Path, act: Act, why: str) -> None:
    with loopback(lambda *_: act) as server, pytest.raises(AgentFailed, match=why):
        agent("openai-responses:m", base_url=server.url).ask("x", trial(tmp_path))
    with pytest.raises(UsageError, match=r"seed.*known: base_url, instructions"):
        agent("openai-responses:m", seed="1")


def test_plain_json(tmp_path: Path) -> None:
    asked = trial(tmp_path)
    with loopback(
        lambda number, _: Act(body=json.dumps({"out": [{"text": f"hi {number}"}], "sid": 7}).encode())
    ) as server:
        web = agent(
            server.url,
            body='{"q": "{question}", "n": 1, "s": "{session}", "c": "{case}"}',
            reply="out.0.text",
            session="sid",
        )
        assert step_text(web.ask('say "hi"', asked).steps[0]) == "hi 0"
        web.ask("again", asked)
    first, second = server.requests
    assert first == {"q": 'say "hi"', "n": 1, "s": "", "c": {"id": "c"}}
    assert second["s"] == "7"
    with pytest.raises(UsageError, match="is not JSON"):
        agent("http://127.0.0.1:1/", body="{")


@pytest.mark.parametrize(
    ("act", "why", "again"),
    [
        (Act(status=500, body=b"oops"), "answered 500", False),
        (Act(status=503, body=b"later"), "answered 503", True),
        (Act(status=401, body=b"who?"), "is a key needed", False),
        (Act(body=b"<html>"), "did not answer with JSON", False),
        (Act(body=b'{"x": 1}'), "no text at 'answer' of the answer, which has x", False),
        (Act(delay=30, body=b"{}"), "took longer than 0.5 s", False),
        (Act(body=b'{"answer": "' + b"x" * 2000 + b'"}'), "more than 1,000 bytes", False),
    ],
)
def test_servers_that_misbehave(tmp_path: Path, act: Act, why: str, again: bool) -> None:
    with loopback(lambda *_: act) as server, pytest.raises(AgentFailed, match=why) as failed:
        agent(server.url).ask("x", trial(tmp_path, seconds=0.5 if act.delay else 30, most_output=1000))
    assert failed.value.again is again


def test_nobody_listens(tmp_path: Path) -> None:
    with loopback(lambda *_: Act()) as server:
        url = server.url
    with pytest.raises(AgentFailed, match=r"cannot be reached.*is it running") as failed:
        agent(url).ask("x", trial(tmp_path, seconds=2))
    assert failed.value.again


def test_agent2agent(tmp_path: Path) -> None:
    task: dict[str, Any] = {"kind": "task", "id": "t", "contextId": "k", "status": {"state": "working"}}
    done = {
        **task,
        "status": {"state": "completed"},
        "artifacts": [
            {"artifactId": "a", "parts": [{"kind": "text", "text": "made"}, {"kind": "data", "data": {"x": 1}}]}
        ],
    }
    with loopback(lambda number, _: Act(body=json.dumps({"result": task if number == 0 else done}).encode())) as server:
        asked = trial(tmp_path)
        answer = agent(f"a2a:{server.url}").ask("do it", asked)
    assert [each["method"] for each in server.requests] == ["message/send", "tasks/get"]
    assert [step_text(step) for step in answer.steps] == ["made"]
    assert asked.memory["context"] == "k"
    failing = {"error": {"code": -32600, "message": "no"}}
    with (
        loopback(lambda *_: Act(body=json.dumps(failing).encode())) as server,
        pytest.raises(AgentFailed, match="code -32600"),
    ):
        agent(f"a2a:{server.url}").ask("x", trial(tmp_path))


@pytest.mark.parametrize("history", [[7, None, {"role": "agent", "parts": "x"}], "x", {"a": 1}])
def test_a_task_whose_history_is_no_list_of_messages_has_failed(tmp_path: Path, history: Any) -> None:
    task = {"kind": "task", "status": {"state": "failed"}, "history": history, "artifacts": [1, "x"]}
    with (
        loopback(lambda *_: Act(body=json.dumps({"result": task}).encode())) as server,
        pytest.raises(AgentFailed, match="the task ended as 'failed'"),
    ):
        agent(f"a2a:{server.url}").ask("x", trial(tmp_path))
