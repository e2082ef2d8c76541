"""Files of other tools that pantrace recognises and does not read: what each is, and what to do instead.

Asked only when no format claims a file, so that a refusal names what the user has in hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pantrace.wire.head import Head
from pantrace.wire.optional import object_of

_SEND = "record the agent with OpenTelemetry: `pantrace collect` receives that, and `otlp` reads it"
_SCORES = "it holds scores, not what an agent did; evaluate the recordings themselves with `pantrace eval`"


class Recognised(NamedTuple):
    """A kind of file that is not read."""

    what: str
    remedy: str


_Sign = Callable[[dict[str, Any]], object]


def _keys(*names: str) -> _Sign:
    return lambda record: all(name in record for name in names)


def _within(record: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under a key, or the first one of a list there."""
    value = record.get(key)
    first = value[0] if isinstance(value, list) and value else value
    return object_of(first)


_SIGNS: list[tuple[_Sign, Recognised]] = [
    (
        lambda row: ("action" in row or "observation" in row) and {"id", "source", "timestamp"} <= row.keys(),
        Recognised(
            "one event of a conversation of OpenHands V0",
            "gather the events of the conversation in a JSON array: it is read, as `openhands-v0`",
        ),
    ),
    (lambda row: "trace_metadata" in _within(row, "info"), Recognised("a trace of MLflow", _SEND)),
    (
        lambda row: any("dotted_order" in each for each in (row, _within(row, "post"), _within(row, "patch"))),
        Recognised("runs of LangSmith", _SEND),
    ),
    (_keys("traceId", "parentObservationId"), Recognised("observations of Langfuse", _SEND)),
    (_keys("op_name", "trace_id", "project_id"), Recognised("calls of Weave", _SEND)),
    (
        lambda row: any("additional_kwargs" in _within(row, key) for key in ("data", "messages")),
        Recognised("messages of LangChain or LangGraph", _SEND),
    ),
    (lambda row: "part_kind" in _within(row, "parts"), Recognised("messages of Pydantic AI", _SEND)),
    (
        lambda row: {"session_id", "session_type"} <= row.keys() or "conversation_manager_state" in row,
        Recognised("part of a session of Strands Agents", _SEND),
    ),
    (
        lambda row: "message_id" in row and "role" in _within(row, "message"),
        Recognised("part of a session of Strands Agents", _SEND),
    ),
    (
        lambda row: {"type", "executor_id", "data"} <= row.keys(),
        Recognised("events of a workflow of Microsoft's Agent Framework", _SEND),
    ),
    (
        lambda row: (
            {"session_id", "stats", "response"} <= row.keys()
            or (row.get("type") == "init" and {"session_id", "model"} <= row.keys())
        ),
        Recognised("what Gemini CLI prints", "read its sessions, `~/.gemini/tmp/*/chats`, as `gemini-cli`"),
    ),
    (
        _keys("test_id", "target", "message_index"),
        Recognised("a transcript of agentv", "read the session that it was made of, with its tool's format"),
    ),
    (
        _keys("simulations", "tasks"),
        Recognised("results of tau2-bench", "results of the first tau-bench are read, as `tau-bench`"),
    ),
    (
        _keys("task_id", "final_result_response"),
        Recognised("a result of Online-Mind2Web", "write its steps as episodes (`openadapt-episodes`)"),
    ),
    (lambda row: "evalId" in row or "gradingResult" in row, Recognised("results of promptfoo", _SCORES)),
    (
        lambda row: "metrics_data" in _within(row, "test_results") or "metricsData" in _within(row, "testCases"),
        Recognised("results of deepeval", _SCORES),
    ),
    (
        lambda row: any(key.startswith("outputs.") for key in _within(row, "rows")),
        Recognised("results of Azure AI Evaluation", _SCORES),
    ),
    (
        lambda row: {"doc_id", "resps"} <= row.keys() or {"results", "configs", "group_subtasks"} <= row.keys(),
        Recognised("results of lm-evaluation-harness", _SCORES),
    ),
]


def recognised(head: Head) -> Recognised | None:
    """What a file is that no format reads; None where it is not known either."""
    if head.data.startswith(b"PAR1"):
        return Recognised("a Parquet file", "export its rows as JSON lines first")
    if head.data.lstrip().startswith(b"# aider chat started at"):
        return Recognised("a chat history of Aider", "it is prose for people, without calls or results")
    if head.kind != "json":
        return None
    return next((each for sign, each in _SIGNS if sign(head.record)), None)
