"""The shapes of the parts of a log: what inspect_ai 0.3.285 refuses is an error, what only the Inspect log guide
requires is a warning. Shapes also say how a value that another program wrote differently is repaired
(`wire.shape_repair`)."""

from __future__ import annotations

from typing import Any

from pantrace.wire.json import NonFinite, text_or_json
from pantrace.wire.shape import ANY, default, document, each, essential, one_of, repairable

_TEXT = (str, None)
_NUMBER = (float, None)
_OBJECT = (dict, None)
_COUNT = (int, None)
_AN_OBJECT = "is an object now"


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in _PARTS


# Only what inspect_ai refuses is listed; it accepts unknown keys and drops them.
USAGE = {"input_tokens?": int, "output_tokens?": int, "total_tokens?": int, "total_cost?": _NUMBER}

ERROR = repairable(
    {"message": str, "traceback": str, "traceback_ansi": str},
    lambda value: {"message": text_or_json(value)},
    _AN_OBJECT,
)

TOOL_ERRORS = (
    *("parsing", "timeout", "unicode_decode", "permission", "file_not_found", "is_a_directory", "limit"),
    *("approval", "cancelled", "sandbox_unavailable", "unknown", "output_limit"),
)
STOPS = ("stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown")
LIMITS = ("context", "time", "working", "message", "token", "turn", "cost", "operator", "custom")

TOOL_ERROR = repairable(
    {"type": one_of(*TOOL_ERRORS, otherwise="unknown"), "message": str},
    lambda value: {"message": text_or_json(value)},
    _AN_OBJECT,
)

_CALLED: dict[str, Any] = {
    "id": default(str, lambda place: f"call_{place}"),
    "function": default(str, "unknown"),
    "arguments": repairable(dict, lambda value: {"value": value}, _AN_OBJECT),
}
CALL = {**_CALLED, "type?": one_of("function", "custom"), "parse_error?": _TEXT}

_PARTS = ("text", "reasoning", "image", "audio", "video", "data", "tool_use", "document")
_PART = repairable(
    {"type": one_of(*_PARTS)}, lambda value: {"type": "text", "text": text_or_json(value)}, "is text now", _is_part
)

_MESSAGE = {
    "role": one_of("system", "user", "assistant", "tool", otherwise="user"),
    "content": (str, [_PART]),
    "tool_calls?": ([CALL], None),
    "error?": (TOOL_ERROR, None),
    "id?": _TEXT,
    "source?": (one_of("input", "generate", "operator"), None),
    "metadata?": _OBJECT,
    "model?": _TEXT,
    "function?": _TEXT,
    "tool_call_id?": (str, [str], None),
}
MESSAGE = repairable(
    _MESSAGE,
    lambda value: {"role": "user", "content": text_or_json(value)},
    "is not a message, and written as the user's text",
    lambda value: isinstance(value, dict) and value.get("role") in ("system", "user", "assistant", "tool"),
)
ANSWER = {**_MESSAGE, "role": one_of("assistant", otherwise="assistant")}

OUTPUT = {
    "model?": str,
    "choices?": [{"message": ANSWER, "stop_reason?": (one_of(*STOPS, otherwise="unknown"), None)}],
    "usage?": (USAGE, None),
    "error?": _TEXT,
    "completion?": str,
    "input_context_tokens?": _COUNT,
    "time?": _NUMBER,
    "metadata?": _OBJECT,
}

SCORE = repairable(
    {
        "value": repairable(
            (str, float, bool, list, dict), lambda _: NonFinite("NaN"), "is NaN now: Inspect's word for no score"
        ),
        "answer?": _TEXT,
        "explanation?": _TEXT,
        "metadata?": _OBJECT,
        "history?": [dict],
    },
    lambda value: {"value": value},
    _AN_OBJECT,
)

EVAL_SCORE = {
    "name": essential(str),
    "scorer": str,
    "metrics?": each({"name": str, "value": float}),
    "scored_samples?": _COUNT,
    "unscored_samples?": _COUNT,
}

HEADER = {
    "version?": int,
    # Not "success": nothing shows that a run with an unknown status ended well.
    "status?": one_of("started", "success", "cancelled", "error", otherwise="error"),
    "eval": {
        "eval_id?": str,
        "run_id?": str,
        "created": str,
        "task": default(str, "trajectories"),
        "task_id?": str,
        "task_version?": (int, str),
        "task_attribs?": dict,
        "task_args?": dict,
        "task_args_passed?": dict,
        "model": default(str, "none/none"),
        "model_generate_config?": dict,
        "model_args?": dict,
        "dataset": {
            "name?": _TEXT,
            "samples?": _COUNT,
            "sample_ids?": ([(int, str)], None),
            "shuffled?": (bool, None),
        },
        "config": dict,
        "packages?": each(str),
        "metadata?": _OBJECT,
        "scorers?": ([{"name": str, "options?": _OBJECT}], None),
        "tags?": ([str], None),
        "solver?": _TEXT,
        "model_roles?": _OBJECT,
    },
    "plan?": {"name?": str, "steps?": [{"solver": essential(str)}], "config?": dict},
    "results?": (
        {
            "total_samples?": int,
            "completed_samples?": int,
            "scores?": [EVAL_SCORE],
        },
        None,
    ),
    "stats?": {"started_at?": str, "completed_at?": str, "model_usage?": dict},
    "invalidated?": bool,
    "error?": (ERROR, None),
}

SUMMARY = {
    "id": (int, str),
    "epoch": int,
    "input": (str, [MESSAGE]),
    "target": (str, [str]),
    "metadata?": dict,
    "scores?": (dict, None),
    "error?": _TEXT,
    "limit?": _TEXT,
    "uuid?": _TEXT,
    "completed?": bool,
    "message_count?": _COUNT,
    "retries?": _COUNT,
}

LIMIT = repairable(
    {"type": one_of(*LIMITS, otherwise="custom"), "limit": float},
    lambda value: {"reason": text_or_json(value)},
    _AN_OBJECT,
)

SAMPLE = {
    "id": (int, str),
    "epoch": int,
    "input": (str, [MESSAGE]),
    "target": (str, [str]),
    "choices?": ([str], None),
    "messages?": [MESSAGE],
    "output?": OUTPUT,
    "scores?": (each(SCORE), None),
    "metadata?": dict,
    "store?": dict,
    "events?": list,
    "started_at?": _TEXT,
    "completed_at?": _TEXT,
    "total_time?": _NUMBER,
    "working_time?": _NUMBER,
    "uuid?": _TEXT,
    "error?": (ERROR, None),
    "limit?": (LIMIT, None),
    "attachments?": each(str),
    "model_usage?": dict,
    "role_usage?": dict,
    "error_retries?": ([dict], None),
    "timelines?": ([dict], None),
    "turn_count?": _COUNT,
    "message_limit?": _COUNT,
    "token_limit?": _COUNT,
    "time_limit?": _NUMBER,
    "events_data?": ({"messages": [MESSAGE], "calls": list}, None),
}


def _demanded_keys(*keys: str) -> dict[str, Any]:
    """Keys that only the Inspect log guide requires."""
    return {key: document(ANY) for key in keys}


HEADER_DEMANDS = {
    **_demanded_keys("version", "status", "plan", "results", "stats"),
    "eval?": {
        **_demanded_keys(
            "eval_id", "run_id", "task_id", "task_version", "task_attribs", "task_args", "task_args_passed"
        ),
        **_demanded_keys("model_generate_config", "model_args", "packages"),
        "dataset?": _demanded_keys("name", "samples", "sample_ids", "shuffled"),
    },
}
SUMMARY_DEMANDS = _demanded_keys("metadata", "model_usage", "uuid", "retries", "completed", "message_count")
SAMPLE_DEMANDS = _demanded_keys("messages", "output", "events", "model_usage", "metadata", "store", "uuid")

_OWN_ID = default(str, lambda place: place)
_CONTENT = {"type": one_of("text", "image", "audio", "video", "document")}
# An object is the usual mistake: the example in the Inspect log guide has one, and inspect_ai refuses it.
_TOOL_RESULT = repairable((str, float, bool, [_CONTENT], _CONTENT), text_or_json, "is JSON text now", lambda _: False)

EVENTS: dict[str, Any] = {
    "sample_init": {"sample": {"input": ANY, "target?": (str, [str])}},
    "sample_limit": {"type": str, "message": str},
    "sandbox": {"action": one_of("exec", "read_file", "write_file")},
    "state": {"changes": [{"op": str, "path": str}]},
    "store": {"changes": [{"op": str, "path": str}]},
    "model": {
        "model": default(str, "none/none"),
        "input": [MESSAGE],
        "tools": [{"name": essential(str), "description": str}],
        "tool_choice": (one_of("auto", "any", "none"), {"name": str}),
        "config": dict,
        "output": OUTPUT,
        "error?": _TEXT,
        "traceback?": _TEXT,
        "role?": _TEXT,
        "retries?": _COUNT,
        "cache?": (one_of("read", "write"), None),
        "input_refs?": ([[int]], None),
        "call?": ({"request": dict, "call_refs?": ([[int]], None)}, None),
    },
    "tool": {
        **_CALLED,
        "view?": ({"format": one_of("text", "markdown"), "content": str}, None),
        "result?": _TOOL_RESULT,
        "error?": (TOOL_ERROR, None),
        "truncated?": ([int], None),
        "type?": one_of("function"),
        "events?": list,
        "agent?": _TEXT,
        "agent_span_id?": _TEXT,
        "failed?": (bool, None),
        "message_id?": _TEXT,
    },
    "anchor": {"anchor_id": str},
    "approval": {"message": str, "call": CALL, "approver": str, "decision": str},
    "review": {"message": str, "call": CALL, "reviewer": str, "decision": str},
    "sentinel": {"factory": str, "path": str, "step_id": str, "conversation": str, "stage": str, "kind": str},
    "branch": {},
    "checkpoint": {"checkpoint_id": int, "trigger": str, "turn": int, "created_at": str, "host": dict},
    "compaction": {},
    "input": {"input": str, "input_ansi": str},
    "interrupt": {"source": str, "interrupted": str},
    "score": {"score": SCORE, "intermediate?": bool, "scorer?": _TEXT, "model_usage?": (dict, None)},
    "score_edit": {"score_name": str, "edit": dict},
    "error": {"error": ERROR},
    "logger": {"message": {"level": str, "message": str}},
    "info": {"data": default(ANY, {}), "source?": _TEXT},
    "span_begin": {"id": _OWN_ID, "name": default(str, "span"), "type?": _TEXT, "parent_id?": _TEXT},
    "span_end": {"id": _OWN_ID},
    "step": {"action": one_of("begin", "end"), "name": str},
    "subtask": {"name": str, "input": dict},
}
"""What each of the 25 event types must have."""

EVENT = {
    "event": str,
    # Only a warning if missing: inspect_ai then takes the current time.
    "timestamp": document(ANY),
    "uuid?": _TEXT,
    "span_id?": _TEXT,
    "working_start?": float,
    "working_time?": _NUMBER,
    "metadata?": _OBJECT,
    "pending?": (bool, None),
}

START = {"version": int, "eval": {"created": str, "task": str, "model": str}, "plan": dict}
