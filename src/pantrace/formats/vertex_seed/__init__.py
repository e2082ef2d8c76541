"""Vertex-native evaluation JSON: one record per session, for programmatic checks and for rubrics.

Spec: scripts/EVAL_SCHEMA.md of luutuankiet/gsd-lite ("Evaluation Output Schema", 2026-02-16).
Detect: `session_id` beside `request.contents` and one of the document's other keys, or beside a list of tool calls
    (`generated_trajectory`, the old `tool_use`).
Lost: thoughts, times, tokens, costs, ids of calls, names of agents; consecutive messages of one side are merged.
"""

from __future__ import annotations

from pantrace.wire.head import Head

from ..format import Format
from .read import load
from .validation import check
from .write import NAME, Options, dump

_MARKS = {"intermediate_events", "generated_trajectory", "prompt_concat", "response_concat"}


def detect(head: Head) -> str | None:
    row = head.record
    if "session_id" not in row or "agent_data" in row:
        return None
    request = row.get("request")
    if isinstance(request, dict) and "contents" in request:
        # In a long conversation only the keys before `request` are seen here: title and created.
        return "" if row.keys() & _MARKS or row.keys() >= {"title", "created"} else None
    calls = row.get("generated_trajectory", row.get("tool_use"))
    return "flat" if isinstance(calls, list) and "request" not in row else None


_MERGED = "consecutive messages of one side are one content, of which only words and calls are kept"

FORMAT = Format(
    name=NAME,
    title="Vertex-native evaluation JSON, one record per session",
    spec="https://github.com/luutuankiet/gsd-lite/blob/main/scripts/EVAL_SCHEMA.md",
    detect=detect,
    load=load,
    dump=dump,
    check=check,
    options=Options,
    layout="array",
    suffix=".json",
    lost={
        "case": "a session has no reference and no expectations",
        "expected": "a session has no reference run",
        "scores": "a session has no scores",
        "trajectory.children": "sessions of sub-agents are separate rows",
        "trajectory.agents": "the document does not name agents",
        "trajectory.steps[]": _MERGED,
        "trajectory.steps[].parts[]": "contents have only text, intermediate_events only calls and outputs",
        "trajectory.steps[].parts[].id": "calls have no ids: they are numbered by their place",
        "trajectory.steps[].parts[].call_id": "calls have no ids: they are numbered by their place",
        "trajectory.extra.vertex-seed": "a second, different list of calls is not written",
    },
    note="Vertex AI's client reads it but drops the tool calls: use vertex-flat or vertex-agent for the client",
    reencoded={
        "*function_response.response.error": "`exit code 1` is a number in the model",
        "prompt_concat": "the prompts, joined",
        "response_concat": "the answers, joined",
    },
)
