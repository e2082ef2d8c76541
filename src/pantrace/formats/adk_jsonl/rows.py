"""One row of the JSONL as a sample, and back."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from pantrace.errors import ReadError
from pantrace.model import (
    Case,
    ExpectedCall,
    Invocation,
    Outcome,
    Record,
    Sample,
    Step,
    Text,
    Trajectory,
    final_response,
    is_prompt,
    said,
)
from pantrace.wire.adk.expect import text
from pantrace.wire.adk.residual import residual
from pantrace.wire.adk.sessions import app_name, camel_session, session_to, trajectory_from, user_id
from pantrace.wire.carried import CARRIER
from pantrace.wire.json import decode, to_plain, unknown_keys
from pantrace.wire.remainder import apply_difference
from pantrace.wire.times import time_text

from .declared import agents_from, declared_fields, unheard
from .extracted import contents_of, extracted_data, tool_descriptions
from .score_columns import PREFIXES, score_columns, scores_from
from .spans import invocations_in, is_measured, latency_of, summary_of, trace_of

NAME = "adk-jsonl"

_DERIVED = {
    "request",
    "response",
    "question_id",
    "session_id",
    "app_name",
    "ADK_USER_ID",
    "user_inputs",
    "final_session_state",
    "session_trace",
    "latency_data",
    "trace_summary",
    "extracted_data",
    "final_response",
    "eval_set_id",
    "final_eval_status",
    "invocations",
    "expected_trajectory",
    CARRIER,
}
_USUAL = {
    "base_url": "simulation",
    "USER": "simulator",
    "question_metadata": {},
    "reference_data": {},
    "missing_information": {"boolean": False},
    "status": {"boolean": "success"},
}
"""What the original writes where it knows nothing."""


class Options(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How rows are written."""

    tool_descriptions: str | None = None
    """A JSON file of tool names and descriptions, for sources that declare no tools."""


def load(row: Any) -> Sample:
    if not isinstance(row, dict) or "question_id" not in row:
        raise ReadError("not a row of interactions: no question_id")
    ours = CARRIER in row
    trajectory, measured = _trajectory(row, ours=ours)
    data = row.get("extracted_data")
    data = data if isinstance(data, dict) else {}
    extra = {key: row[key] for key in _kept(row)}
    if measured:
        extra["session_trace"] = row["session_trace"]
    if rest := unheard(data, trajectory) | ({} if ours else declared_fields(data, row)):
        extra["extracted_data"] = rest
    answer = row.get("final_response")
    if not isinstance(answer, str) and answer is not None:
        told = final_response(trajectory) if trajectory is not None else None
        extra["final_response"] = "parsed" if _parsed(told) == answer else {"value": answer}
    if not ours and row.get("base_url") == "simulation" and "final_session_state" in row:
        # The original converts the keys of arguments, responses and state deltas to camelCase as well.
        extra["recased_keys"] = True
    sample = Sample(
        id=str(row["question_id"]),
        case=_case(row),
        trajectory=trajectory,
        expected=_expected(row) if ours else None,
        scores=tuple(scores_from(row)),
        extra={NAME: extra} if extra else {},
    )
    return apply_difference(sample, row[CARRIER]) if row.get(CARRIER) else sample


def _expected(row: dict[str, Any]) -> Trajectory | None:
    stated = row.get("expected_trajectory")
    return msgspec.convert(stated, Trajectory) if stated is not None else None


def _kept(row: dict[str, Any]) -> list[str]:
    """Keys that follow from nothing else, unless they say only what the original always says."""
    return [
        key
        for key, value in row.items()
        if key not in _DERIVED
        and not key.startswith(PREFIXES)
        and not (key in _USUAL and value == _USUAL[key])
        and not (key == "agents_evaluated" and value == [row.get("app_name")])
        and value is not None
    ]


def _trajectory(row: dict[str, Any], *, ours: bool) -> tuple[Trajectory | None, bool]:
    session = row.get("final_session_state")
    if isinstance(session, dict) and isinstance(session.get("events"), list):
        trajectory = trajectory_from(session)
    else:
        trajectory = _from_contents(row)
        if not trajectory.steps:
            return None, False
    data = row.get("extracted_data")
    if ours and isinstance(data, dict):
        trajectory = msgspec.structs.replace(trajectory, agents=agents_from(data, trajectory))
    spans = row.get("session_trace")
    measured = is_measured(spans)
    if ours and row.get("invocations") is not None:
        found = msgspec.convert(row["invocations"], tuple[Invocation, ...])
        trajectory = msgspec.structs.replace(trajectory, invocations=found)
    elif measured:
        known = {step.invocation for step in trajectory.steps if step.invocation}
        found = tuple(invocations_in([span for span in spans or () if isinstance(span, dict)], known))
        trajectory = msgspec.structs.replace(trajectory, invocations=found)
    if (outcome := _outcome(row)) is not None:
        trajectory = msgspec.structs.replace(trajectory, outcome=outcome)
    return trajectory, measured


def _from_contents(row: dict[str, Any]) -> Trajectory:
    """Without a session, what was said is all there is."""
    contents = list((row.get("request") or {}).get("contents") or ())
    for candidate in (row.get("response") or {}).get("candidates") or ():
        if (content := candidate.get("content")) is not None and content not in contents[-1:]:
            contents.append(content)
    steps = []
    for content in contents:
        texts = tuple(
            Text(text=part["text"]) for part in content.get("parts") or () if isinstance(part.get("text"), str)
        )
        steps.append(Step(role="user" if content.get("role") == "user" else "agent", parts=texts))
    return Trajectory(id=row.get("session_id"), steps=tuple(steps))


def _outcome(row: dict[str, Any]) -> Outcome | None:
    word = row.get("final_eval_status")
    status = {"PASSED": "passed", "FAILED": "failed"}.get(str(word))
    if status is None:
        status = "unscored" if word is not None else None
    said_so = row.get("status")
    if isinstance(said_so, dict) and said_so.get("boolean") not in (None, "success"):
        return Outcome(status="error", reason=text(said_so.get("message"), "status.message"))
    return Outcome(status=status) if status is not None else None  # type: ignore[arg-type]


def _case(row: dict[str, Any]) -> Case:
    reference = row.get("reference_data")
    reference = reference if isinstance(reference, dict) else {}
    wanted = reference.get("reference_tool_interactions")
    asked = row.get("user_inputs")
    metadata = row.get("question_metadata")
    return Case(
        id=str(row["question_id"]),
        agent=text(row.get("app_name"), "app_name"),
        question="\n".join(str(each) for each in asked) if isinstance(asked, list) and asked else None,
        reference=text(reference.get("reference_response"), "reference_response"),
        expected_calls=tuple(
            ExpectedCall(name=each["tool_name"], arguments=each.get("input_arguments")) for each in wanted
        )
        if isinstance(wanted, list)
        else None,
        labels={key: value for key, value in metadata.items() if isinstance(value, str)}
        if isinstance(metadata, dict)
        else {},
        extra={"adk": {"eval_set_id": row["eval_set_id"]}} if row.get("eval_set_id") is not None else {},
    )


def _parsed(text: str | None) -> Any:
    try:
        return decode(text.encode("utf-8", "surrogatepass")) if text is not None else None
    except ReadError:
        return None


def dump(sample: Sample, options: Options) -> dict[str, Any]:
    descriptions = tool_descriptions(options.tool_descriptions) if options.tool_descriptions else {}
    extra = dict(sample.extra.get(NAME, {}))
    extracted, parsed = extra.pop("extracted_data", {}), extra.pop("final_response", None)
    recorded = extra.pop("session_trace", None)
    trajectory = sample.trajectory
    app = app_name(sample)
    answer: Any = final_response(trajectory) if trajectory is not None else None
    session = session_to(sample) if trajectory is not None else None
    spans = recorded if recorded is not None else trace_of(sample, app)
    told = {"role": "model", "parts": [{"text": answer}]}
    row: dict[str, Any] = {
        "request": {"contents": contents_of(trajectory)},
        "response": {"candidates": [{"content": told}] if answer is not None else []},
        "question_id": sample.id,
        "session_id": trajectory.id if trajectory is not None else None,
        "base_url": _taken(extra, "base_url"),
        "app_name": app,
        "ADK_USER_ID": user_id(sample),
        "status": extra.pop("status", None) or _status(trajectory),
        "run_id": extra.pop("run_id", None) or _run_id(sample),
        "agents_evaluated": extra.pop("agents_evaluated", None) or [app],
        "user_inputs": [said(step) or "" for step in trajectory.steps if is_prompt(step)] if trajectory else [],
        "question_metadata": _taken(extra, "question_metadata", sample.case.labels if sample.case else {}),
        "interaction_datetime": extra.pop("interaction_datetime", None)
        or time_text(trajectory.created if trajectory is not None else None),
        "USER": _taken(extra, "USER"),
        "reference_data": _taken(extra, "reference_data", _reference(sample)),
        "missing_information": _taken(extra, "missing_information"),
        "final_session_state": camel_session(session) if session is not None else None,
        "session_trace": spans,
        "latency_data": latency_of(spans),
        "trace_summary": summary_of(trajectory) if trajectory is not None else [],
        "extracted_data": {**extracted_data(sample, descriptions), **extracted},
        "final_response": _answer(answer, parsed),
    }
    row |= score_columns(sample.scores)
    set_id = sample.case.extra.get("adk", {}).get("eval_set_id") if sample.case is not None else None
    if set_id is not None:
        row["eval_set_id"] = set_id
    if trajectory is not None and trajectory.outcome is not None:
        words = {"passed": "PASSED", "failed": "FAILED", "error": "FAILED", "limit": "FAILED"}
        row["final_eval_status"] = words.get(trajectory.outcome.status, "NOT_EVALUATED")
    if trajectory is not None and trajectory.invocations:
        row["invocations"] = to_plain(trajectory.invocations)
    if sample.expected is not None:
        row["expected_trajectory"] = to_plain(sample.expected)
    row.update(unknown_keys(extra, row.keys()))
    row[CARRIER] = []
    row[CARRIER] = residual(load(row), sample)
    return row


def _taken(extra: dict[str, Any], key: str, otherwise: Any = None) -> Any:
    kept = extra.pop(key, None)
    return kept if kept is not None else otherwise or _USUAL[key]


def _answer(text: str | None, parsed: Any) -> Any:
    if parsed == "parsed":
        return _parsed(text)
    return parsed["value"] if isinstance(parsed, dict) else text


def _status(trajectory: Trajectory | None) -> dict[str, Any]:
    outcome = trajectory.outcome if trajectory is not None else None
    if outcome is None or outcome.status in ("passed", "failed", "unscored"):
        return {"boolean": "success"}
    return {"boolean": outcome.status, "message": outcome.reason}


def _run_id(sample: Sample) -> str:
    """Always the same for the same run of the same case."""
    session = sample.trajectory.id if sample.trajectory is not None else None
    return str(uuid5(NAMESPACE_URL, f"{session}/{sample.id}/{sample.epoch}"))


def _reference(sample: Sample) -> dict[str, Any]:
    case = sample.case
    if case is None:
        return {}
    data: dict[str, Any] = {}
    if case.expected_calls is not None:
        data["reference_tool_interactions"] = [
            {"tool_name": call.name, "input_arguments": call.arguments} for call in case.expected_calls
        ]
    if case.reference is not None:
        data["reference_response"] = case.reference
    return data
