"""Eval sets from before ADK had a model for them: lists of turns, and lists of named cases."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.wire.adk.field_types import list_of, mapping

_TURN = {"query", "expected_tool_use", "expected_intermediate_agent_responses", "reference"}
_USE = {"tool_name", "tool_input", "mock_tool_output"}


def case_from(old: Any) -> dict[str, Any]:
    """One named case as an eval case of the current shape."""
    if not isinstance(old, dict):
        raise ReadError("not an eval case: no object")
    row: dict[str, Any] = {
        "eval_id": old.get("name") or "case",
        "conversation": conversation_from(list_of(old.get("data"), "data")),
    }
    if given := mapping(old.get("initial_session"), "initial_session"):
        row["session_input"] = {
            "app_name": given.get("app_name", ""),
            "user_id": given.get("user_id", ""),
            "state": given.get("state", {}),
        }
        # ADK refuses unknown fields in `session_input`.
        if rest := {key: value for key, value in given.items() if key not in row["session_input"]}:
            row["initial_session"] = rest
    rest = {key: value for key, value in old.items() if key not in ("name", "data", "initial_session")}
    return {**row, **rest}


def conversation_from(turns: list[Any]) -> list[dict[str, Any]]:
    """Turns as expected invocations; ReadError names a turn that is not one."""
    return [_turn(each, f"turn {number}") for number, each in enumerate(turns, 1)]


def _turn(old: Any, place: str) -> dict[str, Any]:
    """One turn (query, expected tools, reference) as an invocation; other keys stay beside it."""
    if not isinstance(old, dict) or "query" not in old:
        raise ReadError("not a turn of an eval case: it has no query", place=place)
    row: dict[str, Any] = {key: value for key, value in old.items() if key not in _TURN}
    row["user_content"] = {"role": "user", "parts": [{"text": old["query"]}]}
    used, replies = (
        list_of(old.get(key), key) for key in ("expected_tool_use", "expected_intermediate_agent_responses")
    )
    row["intermediate_data"] = {
        "tool_uses": [_use(each, place) for each in used],
        "tool_responses": [
            {"name": each.get("tool_name"), "response": _answer(each["mock_tool_output"])}
            for each in used
            if isinstance(each, dict) and "mock_tool_output" in each
        ],
        "intermediate_responses": [_response(each) for each in replies],
    }
    if any(isinstance(each, dict) and not each.keys() <= _USE for each in used):
        # The current shape has no place for these keys, so the list is also kept as it was.
        row["expected_tool_use"] = used
    if not all(
        isinstance(each, str) or (isinstance(each, dict) and each.keys() <= {"author", "text"}) for each in replies
    ):
        row["expected_intermediate_agent_responses"] = replies
    if old.get("reference") is not None:
        row["final_response"] = {"role": "model", "parts": [{"text": old["reference"]}]}
    return row


def _use(use: Any, place: str) -> dict[str, Any]:
    """A tool use as a call with arguments; some sets state only its name."""
    if isinstance(use, str):
        return {"name": use}
    if not isinstance(use, dict) or not isinstance(use.get("tool_name"), str):
        raise ReadError("an expected tool use has no tool_name", place=place)
    return {"name": use["tool_name"], "args": use.get("tool_input") or {}}


def _response(reply: Any) -> list[Any]:
    """An intermediate response as author and parts; some sets state only the text."""
    if isinstance(reply, dict):
        text = reply.get("text")
        return [reply.get("author") or reply.get("agent") or "", [{"text": text}] if text is not None else []]
    return ["", [{"text": reply}]]


def _answer(value: Any) -> dict[str, Any]:
    # A function response of ADK is always an object.
    return value if isinstance(value, dict) else {"output": value}
