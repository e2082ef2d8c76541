"""One case of an eval history: session and per-invocation data merged into a sample, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Case, Invocation, Maker, Outcome, Sample, Score, Trajectory
from pantrace.wire.adk import trpc
from pantrace.wire.adk.agents import agents_of, declared_agents
from pantrace.wire.adk.field_types import identifier, list_of, mapping, text
from pantrace.wire.adk.invocation_writer import invocations_to, repeats
from pantrace.wire.adk.invocations import (
    expected_calls,
    expected_from,
    final_text,
    names_of,
    prompts_in,
    steps_of,
    with_invocations,
    with_notes,
)
from pantrace.wire.adk.parts import NAME as ADK
from pantrace.wire.adk.recase import CASE_RESULT, TRPC_RESULT, to_snake
from pantrace.wire.adk.residual import residual
from pantrace.wire.adk.schema import Block, CaseResult, Event, Fields, Loose, Schema, Session, Unusual, fields_of
from pantrace.wire.adk.scores import (
    FINAL_STATUS,
    MAKER,
    metric_to,
    metrics_in,
    metrics_of,
    pairs_from,
    scores_from,
    status_number,
    verdict,
)
from pantrace.wire.adk.sessions import app_name, session_to, trajectory_from, user_id
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.difference import apply_difference
from pantrace.wire.json import unknown_keys
from pantrace.wire.optional import present
from pantrace.wire.pantrace_key import CARRIER

NAME = "adk-history"
_KNOWN = {
    "eval_set_file",
    "eval_set_id",
    "eval_id",
    "final_eval_status",
    "eval_metric_results",
    "overall_eval_metric_results",
    "eval_metric_result_per_invocation",
    "session_id",
    "session_details",
    "user_id",
    CARRIER,
}
_RESULTS = {"session_details", "eval_metric_result_per_invocation", "overall_eval_metric_results", FINAL_STATUS}
_ACTUAL = "actual_invocations"
"""Where invocations without any content are kept."""
_BLOCK = set(Block.__struct_fields__)
_BESIDE = "beside_invocations"
"""Where keys are kept that stand beside an invocation and its results."""
_WITHOUT_SESSION = ["session_details", "state", "event_timestamps", "stop_reasons"]
_STATUS = {"passed": 1, "failed": 2, "error": 2, "limit": 2}
# google-adk ends a runaway loop with this error at 500 model calls.
_LIMITS = {"LlmCallsLimitExceededError"}


def _load(row: Any) -> Sample:
    if isinstance(row, CaseResult):
        # A typed record is not a dictionary, so the frame cannot take the carried data out of it.
        sample = _sample(row, MAKER)
        return apply_difference(sample, row.pantrace) if row.pantrace else sample
    if not isinstance(row, dict):
        raise ReadError("not a case of an eval history: no object")
    # Checked before the keys are converted: a criterion of trpc-agent-go has names of tools among its keys.
    worded = trpc.is_status(row.get("finalEvalStatus", row.get("final_eval_status")))
    case = to_snake(row, TRPC_RESULT if worded else CASE_RESULT)
    if "eval_id" not in case or not _RESULTS & case.keys():
        raise ReadError(
            "not a case of an eval history: it has no eval_id, or nothing of what a run leaves behind",
            remedy="an eval set that has not been run is of format adk-evalset",
        )
    if trpc.is_case_result(case):
        return _sample(Loose(trpc.as_case_result(case)), trpc.MAKER)
    return _sample(Loose(case), MAKER)


def _sample(case: Fields, maker: Maker) -> Sample:
    listed = list_of(case.eval_metric_result_per_invocation, "eval_metric_result_per_invocation")
    blocks = [fields_of(each, "the results of an invocation") for each in listed]
    actual = [fields_of(block.actual_invocation or {}, "actual_invocation") for block in blocks]
    trajectory, absent = _trajectory(case, actual)
    expected, placed = _expected(blocks)
    overall = metrics_in(case.overall_eval_metric_results, "overall_eval_metric_results")
    named = {metric.metric_name for metric in overall}
    # This list is deprecated, but some metrics occur only here: it fills in what the newer list lacks.
    pairs = [metric for metric in pairs_from(case.eval_metric_results) if metric.metric_name not in named]
    per_invocation = [metrics_in(block.eval_metric_results, "eval_metric_results") for block in blocks]
    scores = scores_from([*overall, *pairs], per_invocation, maker)
    if trajectory is not None:
        outcome = _outcome(case, trajectory, maker, scored=bool(scores))
        trajectory = msgspec.structs.replace(trajectory, outcome=outcome)
    else:
        scores += verdict(case.final_eval_status, _error(case), maker)
    return Sample(
        id=identifier(case.eval_id, "eval_id"),
        case=_case(case, placed or actual, expected, trajectory),
        trajectory=trajectory,
        expected=expected,
        scores=tuple(scores),
        extra=_extra(case, trajectory, absent, blocks, pairs=bool(pairs) and not overall),
    )


def _trajectory(case: Fields, actual: list[Fields]) -> tuple[Trajectory | None, list[str]]:
    """What happened, and which kinds of data the file does not have about it."""
    session = case.session_details
    if not isinstance(session, Session):
        session = mapping(session, "session_details")
    events = session and (session.events if isinstance(session, Session) else session.get("events"))
    declarations = [declared_agents(each.app_details) for each in actual]
    names = names_of(actual)
    absent = [] if any(each.agents for each in declarations) else ["app_details"]
    if not actual:
        absent.append("invocations")
    if events:
        trajectory = trajectory_from(session, declarations)
        trajectory = with_invocations(trajectory, actual, names, declarations)
        invocations = _with_recorded(trajectory.invocations, actual, events)
        trajectory = msgspec.structs.replace(trajectory, invocations=invocations)
    else:
        # `session_details` is null if the app's name differs from the folder's: ADK then fetches the session under the
        # wrong name. Invocations are written in both cases.
        absent += ["events", "event_timestamps", "stop_reasons"] if session else _WITHOUT_SESSION
        steps = [
            step
            for raw, name, declared in zip(actual, names, declarations, strict=True)
            for step in steps_of(raw, name, declared.agents)
        ]
        if not steps and not session:
            return None, absent
        trajectory = msgspec.structs.replace(
            _session_without_events(case, session or {}),
            created=next((at for raw in actual if (at := raw.creation_timestamp)), None),
            agents=agents_of(declarations, steps),
            steps=tuple(steps),
        )
        trajectory = with_invocations(trajectory, actual, names, declarations)
    if not any(step.usage is not None for step in trajectory.steps):
        absent.append("usage")
    return trajectory, absent


def _session_without_events(case: Fields, session: Fields) -> Trajectory:
    """The session's user and state; what happened must be in the invocations."""
    if not session:
        user = text(case.user_id, "user_id")
        name = text(case.session_id, "session_id")
        return Trajectory(id=name, extra={ADK: {"user_id": user}} if user is not None else {})
    return trajectory_from(session)


def _with_recorded(
    invocations: Sequence[Invocation], actual: Sequence[Fields], events: Sequence[Fields]
) -> tuple[Invocation, ...]:
    """Invocations, each with what it says beyond the session's events."""
    groups: dict[str, list[Fields]] = {}
    for event in events:
        typed = type(event) is Event
        named = event.invocation_id if typed else event.get("invocation_id") or event.get("invocationId")
        groups.setdefault(named or "", []).append(event)
    found = []
    for invocation, raw in zip(invocations, actual, strict=True):
        bare = invocation.extra.get(ADK, {}).get("bare", False)
        if not repeats(raw, groups.get(raw.invocation_id or "", ()), bare=bare):
            if isinstance(raw, Schema):
                raise Unusual
            keys = ("user_content", "final_response", "intermediate_data")
            recorded = {key: raw[key] for key in keys if raw.get(key) is not None}
            # google-adk derives these from the events; a file with other values must be written back as it was.
            invocation = with_notes(invocation, {"recorded": recorded})
        found.append(invocation)
    return tuple(found)


def _expected(blocks: list[Fields]) -> tuple[Trajectory | None, list[Fields]]:
    placed = [(number, raw) for number, block in enumerate(blocks) if (raw := block.expected_invocation)]
    if not placed:
        return None, []
    raws = [raw for _, raw in placed]
    expected = expected_from(raws)
    if len(placed) != len(blocks):
        invocations = [
            with_notes(each, {"block": number}) for each, (number, _) in zip(expected.invocations, placed, strict=True)
        ]
        expected = msgspec.structs.replace(expected, invocations=tuple(invocations))
    return expected, raws


def _case(case: Fields, asked: list[Fields], expected: Trajectory | None, trajectory: Trajectory | None) -> Case:
    app = trajectory.extra.get(ADK, {}).get("app_name") if trajectory is not None else None
    set_id = case.eval_set_id
    return Case(
        id=identifier(case.eval_id, "eval_id"),
        agent=text(app, "app_name"),
        question=prompts_in(asked),
        reference=final_text(expected) if expected is not None else None,
        expected_calls=expected_calls(expected) if expected is not None else None,
        extra={ADK: {"eval_set_id": set_id}} if set_id else {},
    )


def _error(case: Fields) -> str | None:
    """Why a case could not be run, if the file says so beside its status."""
    return text(case.error_message, "error_message") if isinstance(case, Loose) else None


def _outcome(case: Fields, trajectory: Trajectory, maker: Maker, *, scored: bool) -> Outcome | None:
    status = status_number(case.final_eval_status)
    stated = _error(case)
    if status == 2 and not scored:
        # Inference failed: ADK shows this only by an error event and empty lists of results.
        error = next((step.error for step in reversed(trajectory.steps) if step.error is not None), None)
        reason = ": ".join(part for part in (error.kind, error.message) if part) if error is not None else None
        # A runaway loop is stopped by a limit, which is not the same as a crash.
        limited = error is not None and error.kind in _LIMITS
        reason = stated or reason or f"{maker.name} could not run the case"
        return Outcome(status="limit" if limited else "error", reason=reason)
    # A missing status is not a failure.
    if status is None and case.final_eval_status is None:
        return None
    word = {1: "passed", 2: "failed"}.get(status or 0, "unscored")
    return Outcome(status=word, reason=stated)  # type: ignore[arg-type]


def _extra(
    case: Fields, trajectory: Trajectory | None, absent: list[str], blocks: list[Fields], *, pairs: bool
) -> dict[str, Any]:
    rest = unknown_keys(case, _KNOWN) if isinstance(case, dict) else {}
    extra = present(rest)
    if trajectory is None and any(actual := [block.actual_invocation or {} for block in blocks]):
        if any(isinstance(each, Schema) for each in actual):
            raise Unusual
        # Without a trajectory the model has no place for them.
        extra[_ACTUAL] = actual
    # A typed block cannot have unknown keys.
    beside = [unknown_keys(block, _BLOCK) if isinstance(block, dict) else {} for block in blocks]
    if any(beside):
        extra[_BESIDE] = beside
    if absent:
        extra["absent"] = absent
    if case.eval_set_file not in (None, case.eval_set_id):
        extra["eval_set_file"] = case.eval_set_file
    status = case.final_eval_status
    if status is not None and status_number(status) not in (1, 2, 3):
        extra["final_eval_status"] = status
    if not pairs and case.eval_metric_results:
        extra["eval_metric_results"] = case.eval_metric_results
    known = trajectory.extra.get(ADK, {}) if trajectory is not None else {}
    if case.session_id is not None and case.session_id != (trajectory.id if trajectory else None):
        extra["session_id"] = case.session_id
    if case.user_id is not None and case.user_id != known.get("user_id"):
        extra["user_id"] = case.user_id
    return {NAME: extra} if extra else {}


def _dump(sample: Sample, options: Any) -> dict[str, Any]:
    extra = dict(sample.extra.get(NAME, {}))
    absent = extra.pop("absent", None) or []
    trajectory = sample.trajectory
    scores, status = _verdict(sample)
    silent, beside = extra.pop(_ACTUAL, []), extra.pop(_BESIDE, [])
    set_id = (sample.case.extra.get(ADK, {}).get("eval_set_id") if sample.case is not None else None) or ""
    row: dict[str, Any] = {
        "eval_set_file": extra.pop("eval_set_file", None) or set_id,
        "eval_set_id": set_id,
        "eval_id": sample.id,
        "final_eval_status": status_number(extra.pop(FINAL_STATUS, None)) or status,
        "overall_eval_metric_results": [metric_to(score) for score in scores],
        "eval_metric_result_per_invocation": [] if "invocations" in absent else _blocks(sample, absent, silent),
        # google-adk refuses a case without a session id, whether or not it has a session.
        "session_id": extra.pop("session_id", None) or (trajectory.id if trajectory is not None else None) or sample.id,
        "session_details": None if trajectory is None or "session_details" in absent else _session(sample, absent),
        "user_id": extra.pop("user_id", None) or user_id(sample),
        **extra,
    }
    # Not strict: invocations may have come or gone since the file was read.
    for block, rest in zip(row["eval_metric_result_per_invocation"], beside, strict=False):
        block.update(rest)
    return row


load, dump = carry_rest(_load, _dump, CARRIER, rest_of=residual)


def _session(sample: Sample, absent: list[str]) -> dict[str, Any]:
    """The session; if it had no events, it is written without, as the invocations hold what happened."""
    return {**session_to(sample), "events": []} if "events" in absent else session_to(sample)


def _verdict(sample: Sample) -> tuple[tuple[Score, ...], int]:
    """The scores to write as metric results, and the case's status."""
    if sample.trajectory is not None:
        outcome = sample.trajectory.outcome
        return sample.scores, _STATUS.get(outcome.status, 3) if outcome is not None else 3
    stated = next((score for score in sample.scores if score.name == FINAL_STATUS and score.passed is not None), None)
    if stated is None:
        return sample.scores, 3
    return tuple(score for score in sample.scores if score is not stated), 1 if stated.passed else 2


def _blocks(sample: Sample, absent: list[str], silent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The per-invocation results: what was done, what was expected, and the scores of each."""
    # Without a session, only the invocations say what happened; they are written as the lists that were read.
    plain = bool({"session_details", "events"} & set(absent))
    done = [row for _, row in invocations_to(sample.trajectory, plain=plain)] if sample.trajectory else silent
    wanted = _expected_by_block(sample)
    blocks: list[dict[str, Any]] = []
    for number in range(max(len(done), 1 + max(wanted, default=-1))):
        actual = done[number] if number < len(done) else {"user_content": {"parts": [], "role": "user"}}
        block: dict[str, Any] = {"actual_invocation": actual}
        if number in wanted:
            block["expected_invocation"] = wanted[number]
        block["eval_metric_results"] = metrics_of(sample.scores, number)
        blocks.append(block)
    return blocks


def _expected_by_block(sample: Sample) -> dict[int, dict[str, Any]]:
    """Expected invocations by the number of their block."""
    found: dict[int, dict[str, Any]] = {}
    stated = invocations_to(sample.expected, plain=True) if sample.expected is not None else []
    for number, (invocation, row) in enumerate(stated):
        place = invocation.extra.get(ADK, {}).get("block", number) if invocation is not None else number
        found[place if isinstance(place, int) else number] = row
    return found


def app_of(sample: Sample) -> str:
    """The app's name, used to name a result."""
    return app_name(sample)
