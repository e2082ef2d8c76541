"""The dialect of trpc-agent-go: ADK's eval sets and results, with chat messages in place of contents.

Spec: evaluation/evalset/evalcase.go and evaluation/evalresult/evalresult.go of trpc-group/trpc-agent-go, from December
2025 on (before, it wrote contents as ADK does). An invocation holds its calls with their answers in `tools`, for a
few days in `intermediate_data.tool_calls` and `tool_responses`. Statuses are words in lower case. Go leaves out
what is zero or empty: a verdict without a score has the score 0.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Maker
from pantrace.wire.json import unknown_keys
from pantrace.wire.optional import list_of, present

from .contents import answer_of, as_content, call_of, is_message
from .schema import Invocation

DIALECT = "trpc-agent-go"
"""The variant that `detect` reports."""
MAKER = Maker(name=DIALECT, kind="stored")
SCENARIO = ("driver", "stop_signal", "max_allowed_invocations")
"""Keys of its scenarios that ADK's do not have."""

_INVOCATION = frozenset(Invocation.__struct_fields__)
_INVOCATIONS = ("actual_invocation", "expected_invocation")
_TOOL = {"id", "name", "arguments", "result"}
_STATUSES = {"passed", "failed", "not_evaluated", "unknown"}
_VERDICTS = {"passed", "failed"}


def is_case_result(case: Any) -> bool:
    """Whether a case result in snake_case is in this dialect, by its statuses or its messages."""
    if not isinstance(case, dict):
        return False
    blocks = [block for block in list_of(case.get("eval_metric_result_per_invocation")) if isinstance(block, dict)]
    told = [block.get(key) for block in blocks for key in _INVOCATIONS]
    return is_status(case.get("final_eval_status")) or any(is_invocation(each) for each in told)


def is_eval_case(case: Any) -> bool:
    """Whether an eval case in snake_case is in this dialect."""
    if not isinstance(case, dict):
        return False
    return "actual_conversation" in case or any(is_invocation(each) for each in list_of(case.get("conversation")))


def is_invocation(raw: Any) -> bool:
    """Whether an invocation in snake_case has messages or a list of tools."""
    if not isinstance(raw, dict):
        return False
    data = raw.get("intermediate_data")
    return (
        any(is_message(raw.get(key)) for key in ("user_content", "final_response"))
        or isinstance(raw.get("tools"), list)
        or (isinstance(data, dict) and "tool_calls" in data)
    )


def as_case_result(case: dict[str, Any]) -> dict[str, Any]:
    """A case result in ADK's shape."""
    row = {**case, "overall_eval_metric_results": _metrics(case.get("overall_eval_metric_results"))}
    if isinstance(blocks := case.get("eval_metric_result_per_invocation"), list):
        row["eval_metric_result_per_invocation"] = [_block(each) if isinstance(each, dict) else each for each in blocks]
    return row


def _block(block: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {key: as_invocation(block[key]) for key in _INVOCATIONS if key in block}
    return {**block, **told, "eval_metric_results": _metrics(block.get("eval_metric_results"))}


def as_eval_case(case: dict[str, Any]) -> dict[str, Any]:
    """An eval case in ADK's shape; its rubrics belong to metrics, ADK's do not."""
    # The same key means something else in ADK.
    row = {"metric_rubrics" if key == "rubrics" else key: value for key, value in case.items()}
    for key in ("conversation", "actual_conversation"):
        if isinstance(told := row.get(key), list):
            row[key] = [as_invocation(each) for each in told]
    return row


def as_invocation(raw: Any) -> Any:
    """An invocation in ADK's shape; other data is kept next to it, under the dialect's name."""
    if not is_invocation(raw):
        return raw
    row = dict(raw)
    for key in ("user_content", "final_response"):
        if key in row:
            row[key] = as_content(row[key])
    data = dict(given) if isinstance(given := row.get("intermediate_data"), dict) else {}
    uses, answers = list_of(data.get("tool_uses")), list_of(data.get("tool_responses"))
    if isinstance(calls := data.pop("tool_calls", None), list):
        uses = [call_of(call) for call in calls]
        answers = [answer_of(each) if isinstance(each, dict) and "tool_id" in each else each for each in answers]
    if isinstance(tools := row.get("tools"), list) and all(isinstance(tool, dict) for tool in tools):
        uses = [
            *uses,
            *(present({"id": t.get("id"), "name": t.get("name"), "args": t.get("arguments")}) for t in tools),
        ]
        answers = [
            *answers,
            *(
                present({"id": t.get("id"), "name": t.get("name"), "response": t["result"]})
                for t in tools
                if t.get("result") is not None
            ),
        ]
        if all(tool.keys() <= _TOOL for tool in tools):
            del row["tools"]
    between = [*list_of(row.get("intermediate_responses")), *list_of(data.get("intermediate_responses"))]
    if all(isinstance(each, dict) and each.keys() <= {"role", "content"} for each in between):
        row.pop("intermediate_responses", None)
    data |= {
        "tool_uses": uses,
        "tool_responses": answers,
        "intermediate_responses": [["", as_content(each)["parts"]] if is_message(each) else each for each in between],
    }
    row["intermediate_data"] = data
    # Kept apart from unknown keys, which are written back to their place: these would make google-adk refuse the file.
    rest = unknown_keys(row, _INVOCATION)
    return {**{key: row[key] for key in row if key in _INVOCATION}, **({DIALECT: rest} if rest else {})}


def _metrics(results: Any) -> Any:
    if not isinstance(results, list):
        return results
    return [_metric(each) if isinstance(each, dict) else each for each in results]


def _metric(result: dict[str, Any]) -> dict[str, Any]:
    row = dict(result)
    if row.get("eval_status") in _VERDICTS:
        # Go leaves zeros out of its JSON, so a missing score is a real 0.
        row.setdefault("score", 0.0)
    details = row.get("details")
    if isinstance(details, dict) and isinstance(rubrics := details.get("rubric_scores"), list):
        row["details"] = {**details, "rubric_scores": [_rubric(each) for each in rubrics]}
    return row


def _rubric(score: Any) -> Any:
    if not isinstance(score, dict):
        return score
    names = {"id": "rubric_id", "reason": "rationale"}
    return {"score": 0.0, **{names.get(key, key): value for key, value in score.items()}}


def is_status(value: Any) -> bool:
    """Whether a status is spelled as in this dialect."""
    return isinstance(value, str) and value in _STATUSES
