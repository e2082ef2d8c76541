"""One row of the JSONL as a sample, and back."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zlib import crc32

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
    step_text,
)
from pantrace.wire.adk.field_types import list_of, mapping, text, wrong_type
from pantrace.wire.adk.residual import residual
from pantrace.wire.adk.schema import Session
from pantrace.wire.adk.sessions import app_name, camel_session, session_to, trajectory_from, user_id
from pantrace.wire.carry_rest import Corner, carry_rest
from pantrace.wire.json import UNFIT, encode, in_words, to_plain, unknown_keys
from pantrace.wire.optional import object_of
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.times import time_text
from pantrace.wire.unknown_keys import with_unknown

from .declared import agents_from, declared_fields, unknown_values
from .extracted import contents_of, extracted_data, tool_descriptions
from .score_columns import PREFIXES, score_columns, scores_from
from .spans import invocations_in, is_measured, latency_of, summary_of, trace_of

NAME = "adk-jsonl"
SEAL = "pantrace_seal"
"""The column in which our writer stores the checksum of the columns it derived."""
_UNSEALED = -1
"""Instead of a checksum: another program wrote the row, and we only added something to it."""

_DERIVED = {
    "request",
    "response",
    "user_inputs",
    "session_trace",
    "latency_data",
    "trace_summary",
    "extracted_data",
    "final_response",
    "invocations",
    "expected_trajectory",
}
"""Columns that our writer derives from the rest of a sample; the seal shows whether they were edited since."""
_FIELDS = _DERIVED | {
    "question_id",
    "session_id",
    "app_name",
    "ADK_USER_ID",
    "final_session_state",
    "eval_set_id",
    "final_eval_status",
    CARRIER,
    SEAL,
}
_USUAL = {
    "base_url": "simulation",
    "USER": "simulator",
    "question_metadata": {},
    "reference_data": {},
    "missing_information": {"boolean": False},
    "status": {"boolean": "success"},
}
"""What the original converter writes where it has no data."""


class Options(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How rows are written."""

    tool_descriptions: str | None = None
    """A JSON file of tool names and descriptions, for sources that declare no tools."""
    anew: bool = False
    """Compute every column from the session, also for rows that were read from this format."""


def _is_ours(row: dict[str, Any]) -> bool:
    """Whether our writer made the row, rather than adding something to a row of another program."""
    return CARRIER in row and row.get(SEAL) != _UNSEALED


def _load(row: Any) -> Sample:
    if not isinstance(row, dict) or "question_id" not in row:
        raise ReadError("not a row of interactions: no question_id")
    ours = _is_ours(row)
    return Sample(
        id=str(row["question_id"]),
        case=_case(row),
        trajectory=_trajectory(row, ours=ours),
        expected=_column(row, "expected_trajectory", Trajectory) if ours else None,
        scores=tuple(scores_from(row)),
        extra={NAME: extra} if (extra := _extra(row)) else {},
    )


def _extra(row: dict[str, Any]) -> dict[str, Any]:
    """What a row holds beside its session. Columns of another program are all kept: it derives them by its own rules,
    so an unknown key cannot be told from a derived one."""
    if _is_ours(row) and row.get(SEAL) in (None, _seal(row)):  # our first rows had no seal
        return _underived_columns(row)
    whole = {key: value for key, value in row.items() if key not in ("question_id", CARRIER, SEAL)}
    if _session_in(row) is not None:
        # A null keeps its place among the columns; its content is the trajectory.
        whole["final_session_state"] = None
    extra: dict[str, Any] = {"row": whole}
    if not _is_ours(row) and row.get("base_url") == "simulation" and "final_session_state" in row:
        # The original converts the keys of arguments, responses and state deltas to camelCase as well.
        extra["recased_keys"] = True
    return extra


def _seal(row: dict[str, Any]) -> int:
    """A checksum of the derived columns; deriving them again to compare would double the time of reading."""
    return crc32(encode({key: row[key] for key in sorted(_DERIVED & row.keys())}))


def _underived_columns(row: dict[str, Any]) -> dict[str, Any]:
    """Columns that follow from nothing else, without those that only hold the original's constants."""
    beside = {
        key: value
        for key, value in row.items()
        if key not in _FIELDS
        and not key.startswith(PREFIXES)
        and not (key in _USUAL and value == _USUAL[key])
        and not (key == "agents_evaluated" and value == [row.get("app_name")])
        and value is not None
    }
    if is_measured(spans := row.get("session_trace")):
        beside["session_trace"] = spans
    return beside


def _trajectory(row: dict[str, Any], *, ours: bool) -> Trajectory | None:
    if (session := _session_in(row)) is not None:
        trajectory = trajectory_from(session)
    else:
        trajectory = _from_contents(row)
        if not trajectory.steps:
            return None
    data = row.get("extracted_data")
    if ours and isinstance(data, dict):
        trajectory = msgspec.structs.replace(trajectory, agents=agents_from(data, trajectory))
    # Our own trace is derived from the events and adds nothing to them; measured times have their own column.
    spans = row.get("session_trace")
    if ours and (found := _column(row, "invocations", tuple[Invocation, ...])) is not None:
        trajectory = msgspec.structs.replace(trajectory, invocations=found)
    elif is_measured(spans):
        known = {step.invocation for step in trajectory.steps if step.invocation}
        found = tuple(invocations_in([span for span in spans or () if isinstance(span, dict)], known))
        trajectory = msgspec.structs.replace(trajectory, invocations=found)
    if (outcome := _outcome(row)) is not None:
        trajectory = msgspec.structs.replace(trajectory, outcome=outcome)
    return trajectory


def _column(row: dict[str, Any], name: str, kind: Any) -> Any:
    """A column in which our writer keeps a part of the model; None if the row has none."""
    if row.get(name) is None:
        return None
    try:
        return with_unknown(row[name], kind, NAME)
    except msgspec.ValidationError as error:
        raise ReadError(in_words(error, name), remedy=UNFIT) from None


def _session_in(row: dict[str, Any]) -> Session | dict[str, Any] | None:
    """The session of a row, typed or as a dictionary; None if it has no events."""
    session = row.get("final_session_state")
    if isinstance(session, Session):
        return session
    return session if isinstance(session, dict) and isinstance(session.get("events"), list) else None


def _from_contents(row: dict[str, Any]) -> Trajectory:
    """A trajectory of the request and response alone, for rows without a session."""
    contents = list(list_of((mapping(row.get("request"), "request") or {}).get("contents"), "request.contents"))
    candidates = (mapping(row.get("response"), "response") or {}).get("candidates")
    for candidate in list_of(candidates, "response.candidates"):
        content = (mapping(candidate, "a candidate") or {}).get("content")
        # In rows of the original, the request already ends with the answer.
        if content is not None and content not in contents[-1:]:
            contents.append(content)
    steps = []
    for each in contents:
        content = mapping(each, "a content") or {}
        parts = [mapping(part, "a part") or {} for part in list_of(content.get("parts"), "the parts of a content")]
        texts = tuple([Text(text=part["text"]) for part in parts if isinstance(part.get("text"), str)])
        steps.append(Step(role="user" if content.get("role") == "user" else "agent", parts=texts))
    return Trajectory(id=text(row.get("session_id"), "session_id"), steps=tuple(steps))


def _outcome(row: dict[str, Any]) -> Outcome | None:
    word = row.get("final_eval_status")
    status = {"PASSED": "passed", "FAILED": "failed"}.get(str(word))
    if status is None:
        status = "unscored" if word is not None else None
    stated = row.get("status")
    # The original writes "success" in every row, even where inference failed; any other word comes from our writer.
    if isinstance(stated, dict) and stated.get("boolean") not in (None, "success"):
        return Outcome(status="error", reason=text(stated.get("message"), "status.message"))
    return Outcome(status=status) if status is not None else None  # type: ignore[arg-type]


def _case(row: dict[str, Any]) -> Case:
    reference = row.get("reference_data")
    reference = object_of(reference)
    wanted = reference.get("reference_tool_interactions")
    asked = row.get("user_inputs")
    metadata = row.get("question_metadata")
    return Case(
        id=str(row["question_id"]),
        agent=text(row.get("app_name"), "app_name"),
        question="\n".join(str(each) for each in asked) if isinstance(asked, list) and asked else None,
        reference=text(reference.get("reference_response"), "reference_response"),
        expected_calls=tuple([_expected_call(each) for each in wanted]) if isinstance(wanted, list) else None,
        labels={key: value for key, value in metadata.items() if isinstance(value, str)}
        if isinstance(metadata, dict)
        else {},
        extra={"adk": {"eval_set_id": row["eval_set_id"]}} if row.get("eval_set_id") is not None else {},
    )


def _expected_call(stated: Any) -> ExpectedCall:
    call = mapping(stated, "a reference tool interaction") or {}
    name = call.get("tool_name")
    if not isinstance(name, str):
        raise wrong_type("the tool_name of a reference tool interaction", "text", name)
    return ExpectedCall(name=name, arguments=call.get("input_arguments"))


def _dump(sample: Sample, options: Options) -> dict[str, Any]:
    kept = dict(sample.extra.get(NAME, {}))
    stated = kept.pop("row", None)
    if stated is not None and not options.anew:
        return _repeat_row(sample, stated)
    row = _make_row(sample, stated, kept, options)
    return row | {CARRIER: [], SEAL: _seal(row)}


def _without_row(actual: Sample, sample: Sample) -> Sample:
    """The sample without the row it was read from, if its columns were computed anew."""
    anew = "row" in sample.extra.get(NAME, {}) and "row" not in actual.extra.get(NAME, {})
    return msgspec.structs.replace(sample, extra={}) if anew else sample


def _take_rest(row: Any) -> tuple[Any, Any]:
    if not isinstance(row, dict) or CARRIER not in row:
        return row, None
    # Emptied, not removed: the key shows that the row is ours.
    return {**row, CARRIER: []}, row[CARRIER]


def _put_rest(row: dict[str, Any], rest: Any) -> dict[str, Any]:
    return {**row, CARRIER: rest, SEAL: row.get(SEAL, _UNSEALED)}


load, dump = carry_rest(_load, _dump, Corner(_take_rest, _put_rest), _without_row, residual)


def _repeat_row(sample: Sample, stated: dict[str, Any]) -> dict[str, Any]:
    """A row as it was read, with the current session and scores."""
    row = {"question_id": sample.id, **stated}
    if sample.trajectory is not None and "final_session_state" in stated and stated["final_session_state"] is None:
        row["final_session_state"] = camel_session(session_to(sample))
    # Scores may have been added since the row was read.
    row |= {key: value for key, value in score_columns(sample.scores).items() if row.get(key) != value}
    return row


def _make_row(sample: Sample, stated: dict[str, Any] | None, kept: dict[str, Any], options: Options) -> dict[str, Any]:
    """All columns of a sample: what its own row stated, else what it kept, and the rest derived."""
    descriptions = tool_descriptions(options.tool_descriptions) if options.tool_descriptions else {}
    extra = kept if stated is None else _underived_columns(stated)
    data = (stated or {}).get("extracted_data")
    trajectory = sample.trajectory
    app = app_name(sample)
    answer = final_response(trajectory) if trajectory is not None else None
    spans = extra.pop("session_trace", None) or trace_of(sample, app)
    reply = {"role": "model", "parts": [{"text": answer}]}
    row: dict[str, Any] = {
        "request": {"contents": contents_of(trajectory)},
        "response": {"candidates": [{"content": reply}] if answer is not None else []},
        "question_id": sample.id,
        "session_id": trajectory.id if trajectory is not None else None,
        "base_url": _take(extra, "base_url"),
        "app_name": app,
        "ADK_USER_ID": user_id(sample),
        "status": extra.pop("status", None) or _status(trajectory),
        # The original makes a new random id at each conversion; ours stays the same, so that outputs can be compared.
        "run_id": extra.pop("run_id", None) or _run_id(sample),
        "agents_evaluated": extra.pop("agents_evaluated", None) or [app],
        "user_inputs": [step_text(step) or "" for step in trajectory.steps if is_prompt(step)] if trajectory else [],
        "question_metadata": _take(extra, "question_metadata", sample.case.labels if sample.case else {}),
        "interaction_datetime": extra.pop("interaction_datetime", None)
        or time_text(trajectory.created if trajectory is not None else None),
        "USER": _take(extra, "USER"),
        "reference_data": _take(extra, "reference_data", _reference(sample)),
        "missing_information": _take(extra, "missing_information"),
        "final_session_state": camel_session(session_to(sample)) if trajectory is not None else None,
        "session_trace": spans,
        "latency_data": latency_of(spans),
        "trace_summary": summary_of(trajectory) if trajectory is not None else [],
        "extracted_data": extracted_data(sample, descriptions),
        "final_response": answer,
    }
    if isinstance(data, dict):
        row["extracted_data"] |= unknown_values(data, trajectory) | declared_fields(data, app)
    if stated is not None and not isinstance(stated.get("final_response"), str | None):
        # The live path stores an object if the answer is JSON; deriving it again would make it a text.
        row["final_response"] = stated["final_response"]
    row |= score_columns(sample.scores)
    set_id = sample.case.extra.get("adk", {}).get("eval_set_id") if sample.case is not None else None
    if set_id is not None:
        row["eval_set_id"] = set_id
    if trajectory is not None and trajectory.outcome is not None:
        # ADK has no status for a run that broke off; there it counts as failed.
        words = {"passed": "PASSED", "failed": "FAILED", "error": "FAILED", "limit": "FAILED"}
        row["final_eval_status"] = words.get(trajectory.outcome.status, "NOT_EVALUATED")
    # Events cannot give these times: ADK stamps them before a request is sent.
    if trajectory is not None and trajectory.invocations:
        row["invocations"] = to_plain(trajectory.invocations)
    if sample.expected is not None:
        row["expected_trajectory"] = to_plain(sample.expected)
    row.update(unknown_keys(extra, row.keys()))
    return row


def _take(extra: dict[str, Any], key: str, otherwise: Any = None) -> Any:
    kept = extra.pop(key, None)
    return kept if kept is not None else otherwise or _USUAL[key]


def _status(trajectory: Trajectory | None) -> dict[str, Any]:
    outcome = trajectory.outcome if trajectory is not None else None
    if outcome is None or outcome.status in ("passed", "failed", "unscored"):
        return {"boolean": "success"}
    return {"boolean": outcome.status, "message": outcome.reason}


def _run_id(sample: Sample) -> str:
    """An id that is always the same for the same run of the same case; the original's is random."""
    session = sample.trajectory.id if sample.trajectory is not None else None
    name = f"{session}/{sample.id}/{sample.epoch}".encode("utf-8", "backslashreplace").decode()
    return str(uuid5(NAMESPACE_URL, name))


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
