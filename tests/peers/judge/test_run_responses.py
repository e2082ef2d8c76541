"""`openai-responses:` against a server made of OpenAI's own types: they read every request and make every response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter, ValidationError

import pantrace
from loopback import Act, loopback
from pantrace.model import ToolResult, final_response, usage_total

REQUEST: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsNonStreaming)
TURNS = ["How many hoses are left?", "And tomorrow?"]


def understood(body: dict[str, Any]) -> Any:
    """The request as OpenAI's types read it; ValidationError where they do not."""
    return _drained(REQUEST.validate_python(body))


def _drained(value: Any) -> Any:
    """What pydantic looks at only when it is asked for."""
    if isinstance(value, dict):
        return {key: _drained(each) for key, each in value.items()}
    if isinstance(value, (list, Iterator)):
        return [_drained(each) for each in value]
    return value


def answer(number: int, body: dict[str, Any]) -> Act:
    if understood(body)["input"] != body["input"]:
        return Act(status=400, body=b"a part of the request is unknown")
    output: list[dict[str, Any]] = [{"type": "reasoning", "id": f"rs_{number}", "summary": []}]
    if number % 2 == 0:
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "stock"}
        output.append({**call, "arguments": '{"of":"hose"}', "status": "completed"})
    else:
        text = {"type": "output_text", "text": f"answer {number}", "annotations": []}
        said = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
        output.append({**said, "content": [text]})
    given = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": body["tools"], "model": body["model"]}
    usage = {
        "input_tokens": 100 + number,
        "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 110 + number,
    }
    made = Response.model_validate(
        {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": "completed",
            "output": output,
            "usage": usage,
            **given,
        }
    )
    return Act(body=made.model_dump_json().encode())


def test_two_turns_with_tools(tmp_path: Path) -> None:
    turns = [{"user_content": {"role": "user", "parts": [{"text": turn}]}} for turn in TURNS]
    turns[0]["intermediate_data"] = {"tool_uses": [{"name": "stock", "args": {"of": "hose"}}]}
    cases = {"eval_set_id": "garden", "eval_cases": [{"eval_id": "hoses", "conversation": turns}]}
    (tmp_path / "cases.evalset.json").write_text(json.dumps(cases))
    with loopback(answer) as server:
        ran = pantrace.run(
            tmp_path / "cases.evalset.json",
            "openai-responses:gpt-5",
            base_url=server.url,
            out=tmp_path / "out",
            evaluate=False,
        )
    assert ran.agents[0].failed == []
    assert len(server.requests) == 4
    (sample,) = pantrace.read(ran.agents[0].recordings).samples
    assert sample.trajectory is not None
    assert final_response(sample.trajectory) == "answer 3"
    results = [part for step in sample.trajectory.steps for part in step.parts if isinstance(part, ToolResult)]
    assert [each.call_id for each in results] == ["c0", "c2"]
    used = usage_total(sample.trajectory)
    assert used is not None
    assert (used.input, used.output, used.cache_read, used.reasoning) == (100 + 101 + 102 + 103, 40, 4 * 64, 4 * 4)
    # Written as Responses, the conversation is what the server was last sent, and its last answer.
    pantrace.convert(ran.agents[0].recordings, tmp_path / "items.jsonl", to="openai-responses")
    written = json.loads((tmp_path / "items.jsonl").read_text())["input"]
    sent = server.requests[-1]["input"]
    assert [each["type"] for each in written] == [*(each["type"] for each in sent), "reasoning", "message"]
    assert written[: len(sent)] == sent


def test_the_types_do_refuse_what_is_wrong() -> None:
    with pytest.raises(ValidationError):
        understood({"model": "m", "input": [], "tools": [{"type": "function", "function": {"name": "x"}}]})
    with pytest.raises(ValidationError):
        understood({"model": "m", "input": [{"type": "message", "role": "agent", "content": "x"}]})
