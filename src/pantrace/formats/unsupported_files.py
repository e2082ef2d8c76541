"""Files of other tools that pantrace recognises but does not read: what each is, and what to do instead.

Used only if no format claims a file, so that the error message can say what the file is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pantrace.wire.head import Head
from pantrace.wire.optional import object_of

_SEND = "record the agent with OpenTelemetry: `pantrace collect` receives that, and `otlp` reads it"
_SCORES = "it has scores, not what an agent did; evaluate the recordings themselves with `pantrace eval`"


class UnsupportedKind(NamedTuple):
    """A kind of file that pantrace does not read."""

    what: str
    remedy: str


_STRANDS = UnsupportedKind(
    "part of a session of Strands Agents", "name the directory of the session, `session_...`: it is read, as `strands`"
)

_LOG_BOTH = 'write each request with its response, {"request": ..., "response": ...}: that is read as `openai-messages`'
_AS_MESSAGES = 'write its messages as OpenAI\'s, {"messages": [...]} on each line: that is read as `openai-messages`'

_Sign = Callable[[dict[str, Any]], object]


def _keys(*names: str) -> _Sign:
    return lambda record: all(name in record for name in names)


def _within(record: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under a key, or the first object of a list there."""
    value = record.get(key)
    first = value[0] if isinstance(value, list) and value else value
    return object_of(first)


def _blocks(record: dict[str, Any]) -> set[str]:
    """The keys of the first block of a message."""
    return set(_within(record, "content"))


# The first match wins.
_SIGNS: list[tuple[_Sign, UnsupportedKind]] = [
    (
        # OpenHands V0 keeps one file per event; only its exports put them together.
        lambda row: ("action" in row or "observation" in row) and {"id", "source", "timestamp"} <= row.keys(),
        UnsupportedKind(
            "one event of a conversation of OpenHands V0",
            "put the events of the conversation in a JSON array, which is read as `openhands-v0`",
        ),
    ),
    (
        lambda row: "role" in row and _blocks(row) and _blocks(row) <= {"text", "toolUse", "toolResult", "image"},
        UnsupportedKind("messages of Amazon Bedrock or Strands Agents", f"{_STRANDS.remedy}; or {_AS_MESSAGES}"),
    ),
    (
        lambda row: row.get("object") == "chat.completion",
        UnsupportedKind("a chat completion without its request", _LOG_BOTH),
    ),
    (_keys("custom_id", "response"), UnsupportedKind("answers of OpenAI's batch API", _LOG_BOTH)),
    (
        lambda row: "models_usage" in row or "models_usage" in _within(row, "messages"),
        UnsupportedKind("messages of AutoGen", _SEND),
    ),
    (
        lambda row: "mapping" in row and "current_node" in row,
        UnsupportedKind("an export of ChatGPT", _AS_MESSAGES),
    ),
    (
        lambda row: {"model_output", "result", "state"} <= _within(row, "history").keys(),
        UnsupportedKind("a history of Browser Use", _SEND),
    ),
    (
        lambda row: row.get("type") == "metadata" and "protocol_version" in row,
        UnsupportedKind("a session of Kimi", _AS_MESSAGES),
    ),
    (
        lambda row: row.get("type") == "session_start" and "owner" in row,
        UnsupportedKind("a session of Factory's Droid", _AS_MESSAGES),
    ),
    (
        lambda row: {"step_index", "source", "type", "status"} <= row.keys(),
        UnsupportedKind("a session of Antigravity", _AS_MESSAGES),
    ),
    (
        lambda row: {"working_dir", "message_count"} <= row.keys(),
        UnsupportedKind("a session of Goose", _AS_MESSAGES),
    ),
    (
        lambda row: "messageId" in _within(row, "messages") and str(row.get("id")).startswith("T-"),
        UnsupportedKind("a thread of Amp", _AS_MESSAGES),
    ),
    (_keys("op_name", "trace_id", "project_id"), UnsupportedKind("calls of Weave", _SEND)),
    (
        lambda row: {"session_id", "session_type"} <= row.keys() or "conversation_manager_state" in row,
        _STRANDS,
    ),
    (
        lambda row: "message_id" in row and "role" in _within(row, "message"),
        _STRANDS,
    ),
    (
        lambda row: {"type", "executor_id", "data"} <= row.keys(),
        UnsupportedKind("events of a workflow of Microsoft's Agent Framework", _SEND),
    ),
    (
        lambda row: (
            {"session_id", "stats", "response"} <= row.keys()
            or (row.get("type") == "init" and {"session_id", "model"} <= row.keys())
        ),
        UnsupportedKind("output of Gemini CLI", "read its sessions, `~/.gemini/tmp/*/chats`, as `gemini-cli`"),
    ),
    (
        # Droid's own logs begin with `session_start`; this is what `droid exec` prints.
        lambda row: "session_id" in row and ("toolCallId" in row or {"type", "role", "text"} <= row.keys()),
        UnsupportedKind("output of Factory's Droid", _AS_MESSAGES),
    ),
    (
        lambda row: row.get("type") in ("system", "user", "assistant") and "content" in row and "message" not in row,
        UnsupportedKind("a chat history of Grok", _AS_MESSAGES),
    ),
    (
        lambda row: {"trial_name", "is_resolved", "parser_results"} <= (_within(row, "results") or row).keys(),
        UnsupportedKind("results of Terminal-Bench", _SCORES),
    ),
    (
        _keys("raw_eval_results", "raw_logging_results"),
        UnsupportedKind("results of the Holistic Agent Leaderboard", _SCORES),
    ),
    (
        _keys("test_id", "target", "message_index"),
        UnsupportedKind("a transcript of agentv", "read the session that it was made from, in its tool's format"),
    ),
    (
        _keys("simulations", "tasks"),
        UnsupportedKind(
            "results of tau2-bench", "only whole result files, with info, tasks and simulations, are read, as `tau2`"
        ),
    ),
    (
        _keys("task_id", "final_result_response"),
        UnsupportedKind("a result of Online-Mind2Web", "write its steps as episodes (`openadapt-episodes`)"),
    ),
    (
        lambda row: any(key.startswith("outputs.") for key in _within(row, "rows")),
        UnsupportedKind("results of Azure AI Evaluation", _SCORES),
    ),
    (
        lambda row: {"doc_id", "resps"} <= row.keys() or {"results", "configs", "group_subtasks"} <= row.keys(),
        UnsupportedKind("results of lm-evaluation-harness", _SCORES),
    ),
]


def unsupported_kind(head: Head) -> UnsupportedKind | None:
    """What kind of file this is, if no format reads it; None if it is not recognised either."""
    # Parquet's magic number.
    if head.data.startswith(b"PAR1"):
        return UnsupportedKind("a Parquet file", "export its rows as JSON lines first")
    if head.data.lstrip().startswith(b"# aider chat started at"):
        return UnsupportedKind("a chat history of Aider", "it is text for people, without calls or results")
    # Inspect's logs are zip files too, but its format has already said no to this one. "ustar" is tar's magic number.
    if head.kind == "zip" or head.data[257:262] == b"ustar":
        return UnsupportedKind("an archive of files", "unpack it, and name the folder")
    if {"agent_sessions", "agent_messages"} <= head.tables.keys():
        return UnsupportedKind(
            "a session store of OpenAI's Agents SDK",
            "write `await session.get_items()` to a file as JSON: that is read as `openai-responses`",
        )
    if head.kind != "json":
        return None
    return next((each for sign, each in _SIGNS if sign(head.record)), None)
