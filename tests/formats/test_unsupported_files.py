"""Files of other tools that are not read: the error says what they are, and what to do."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pantrace.errors import UnknownFormat
from pantrace.formats import detect

AMP = {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "hi"}]}


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ([{"role": "user", "content": [{"text": "hi"}]}], "messages of Amazon Bedrock or Strands Agents"),
        ({"id": "chatcmpl-1", "object": "chat.completion", "choices": []}, "a chat completion without its request"),
        ({"custom_id": "1", "response": {"status_code": 200}}, "answers of OpenAI's batch API"),
        ({"messages": [{"source": "a", "models_usage": None, "content": "hi"}]}, "messages of AutoGen"),
        ([{"mapping": {}, "current_node": "a"}], "an export of ChatGPT"),
        ({"history": [{"model_output": {}, "result": [], "state": {}}]}, "a history of Browser Use"),
        ({"type": "metadata", "protocol_version": "1.4"}, "a session of Kimi"),
        ({"type": "session_start", "id": "s", "owner": "user"}, "a session of Factory's Droid"),
        ({"step_index": 0, "source": "MODEL", "type": "RUN", "status": "DONE"}, "a session of Antigravity"),
        ({"working_dir": "/w", "message_count": 2}, "a session of Goose"),
        ({"v": 1, "id": "T-1", "messages": [AMP]}, "a thread of Amp"),
        ({"type": "tool_call", "session_id": "s", "toolCallId": "c"}, "output of Factory's Droid"),
        ([{"type": "system", "content": "Be brief."}, {"type": "user", "content": []}], "a chat history of Grok"),
        ({"trial_name": "a", "is_resolved": True, "parser_results": {}}, "results of Terminal-Bench"),
        ({"results": [{"trial_name": "a", "is_resolved": 1, "parser_results": {}}]}, "results of Terminal-Bench"),
        ({"raw_eval_results": {}, "raw_logging_results": []}, "results of the Holistic Agent Leaderboard"),
    ],
)
def test_what_a_file_is_and_what_to_do(record: Any, what: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(record))
    with pytest.raises(UnknownFormat, match=f"{what}, which pantrace does not read \\("):
        detect(path)


def test_a_session_store_of_openai_s_agents(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with sqlite3.connect(path) as database:
        database.execute("create table agent_sessions (session_id text)")
        database.execute("create table agent_messages (id integer, session_id text, message_data text)")
    with pytest.raises(UnknownFormat, match=r"session store of OpenAI's Agents SDK.*get_items"):
        detect(path)
