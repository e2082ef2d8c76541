"""What ADK's models require, in snake_case, for `validate`. A key with ? may be missing."""

from __future__ import annotations

from typing import Any

from pantrace.wire.shape import ANY, document

PART: dict[str, Any] = {
    "text?": (str, None),
    "thought?": (bool, None),
    "function_call?": ({"name?": (str, None), "args?": (dict, None), "id?": (str, None)}, None),
    "function_response?": ({"name?": (str, None), "response?": (dict, None), "id?": (str, None)}, None),
}
CONTENT: dict[str, Any] = {"parts?": ([PART], None), "role?": (str, None)}
COUNT = (int, None)
USAGE: dict[str, Any] = {
    "prompt_token_count?": COUNT,
    "candidates_token_count?": COUNT,
    "thoughts_token_count?": COUNT,
    "cached_content_token_count?": COUNT,
    "tool_use_prompt_token_count?": COUNT,
    "total_token_count?": COUNT,
}
EVENT: dict[str, Any] = {
    "author": str,
    "invocation_id": document(str),
    "id": document(str),
    "timestamp": document(float),
    "content?": (CONTENT, None),
    "actions?": ({"state_delta?": (dict, None), "transfer_to_agent?": (str, None)}, None),
    "usage_metadata?": (USAGE, None),
    "model_version?": (str, None),
    "finish_reason?": (str, None),
    "error_code?": (str, None),
    "error_message?": (str, None),
}
SESSION: dict[str, Any] = {
    "id": str,
    "app_name": document(str),
    "user_id": document(str),
    "state": document((dict, None)),
    "events": [EVENT],
    "last_update_time?": (float, None),
}
INVOCATION: dict[str, Any] = {
    "invocation_id?": (str, None),
    "user_content": CONTENT,
    "final_response?": (CONTENT, None),
    "intermediate_data?": (
        {"invocation_events": [{"author": str, "content?": (CONTENT, None), "usage_metadata?": (USAGE, None)}]},
        {"tool_uses?": (list, None), "tool_responses?": (list, None), "intermediate_responses?": (list, None)},
        None,
    ),
    "creation_timestamp?": (float, None),
    "duration?": (float, None),
    "model_duration?": (float, None),
    "tool_duration?": (float, None),
    "app_details?": ({"agent_details?": (dict, None)}, None),
}
METRIC: dict[str, Any] = {
    "metric_name": str,
    "score?": (float, None),
    "eval_status": (int, str),
    "threshold?": (float, None),
    "criterion?": (dict, None),
    "details?": (dict, None),
}
CASE_RESULT: dict[str, Any] = {
    "eval_id": str,
    "final_eval_status": (int, str),
    "overall_eval_metric_results": [METRIC],
    "eval_metric_result_per_invocation": [
        {"actual_invocation": INVOCATION, "expected_invocation?": (INVOCATION, None), "eval_metric_results?": [METRIC]}
    ],
    "session_id": str,
    "session_details?": (SESSION, None),
    "user_id": document((str, None)),
}
EVAL_CASE: dict[str, Any] = {
    "eval_id": str,
    "conversation?": ([INVOCATION], None),
    "conversation_scenario?": ({"starting_prompt": str, "conversation_plan": str}, None),
    "session_input?": ({"app_name": str, "user_id": str, "state?": (dict, None)}, None),
    "creation_timestamp?": (float, None),
    "rubrics?": ANY,
    "final_session_state?": (dict, None),
}
