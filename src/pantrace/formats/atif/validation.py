"""Validation: what Harbor's models refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pantrace.model import Violation
from pantrace.wire.shape import one_of, violations
from pantrace.wire.violation import error, under, warning

from .read import AGENT, CALL, STEP, TOTALS, USAGE

VERSIONS = tuple(f"ATIF-v1.{number}" for number in range(9))
_CONTENT = (str, [{"type": str}], None)
_RESULT = {"source_call_id?": (str, None), "content?": _CONTENT}
_STEP = STEP.shape(
    "step_id",
    "source",
    "message",
    step_id=int,
    source=one_of("system", "user", "agent"),
    message=(str, [{"type": str}]),
    reasoning_content=(str, None),
    tool_calls=([CALL.shape("tool_call_id", "function_name", "arguments", arguments=dict)], None),
    observation=({"results": [_RESULT]}, None),
    metrics=(USAGE.shape(), None),
)
_DOCUMENT = {
    "schema_version": one_of(*VERSIONS),
    "session_id?": (str, None),
    "agent": AGENT.shape("name", "version", version=str),
    "steps": [_STEP],
    "final_metrics?": (TOTALS.shape(), None),
    "subagent_trajectories?": (list, None),
}
_AGENTS_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def check(row: Any) -> Iterator[Violation]:
    found = list(violations(row, _DOCUMENT))
    yield from found
    if not isinstance(row, dict) or not isinstance(row.get("steps"), list):
        return
    if not row["steps"]:
        yield error("must have at least one step", "steps")
    for place, step in enumerate(row["steps"]):
        if isinstance(step, dict):
            yield from _step(step, place)
    inner = row.get("subagent_trajectories")
    names = set()
    for place, child in enumerate(inner if isinstance(inner, list) else ()):
        where = f"subagent_trajectories[{place}]"
        yield from under(where, check(child))
        name = child.get("trajectory_id") if isinstance(child, dict) else None
        if name is None or name in names:
            yield error("needs a trajectory_id that no other has", where)
        names.add(name)


def _step(step: dict[str, Any], place: int) -> Iterator[Violation]:
    where = f"steps[{place}]"
    if isinstance(step.get("step_id"), int) and step["step_id"] != place + 1:
        yield error(f"must be {place + 1}: steps are numbered from 1", f"{where}.step_id")
    if step.get("source") in ("system", "user"):
        for key in _AGENTS_ONLY:
            if step.get(key) is not None:
                yield error("is allowed in steps of the agent only", f"{where}.{key}")
    # The step itself says that no model was called.
    if step.get("llm_call_count") == 0:
        for key in ("metrics", "reasoning_content"):
            if step.get(key) is not None:
                yield error("is not allowed where no model was called", f"{where}.{key}")
    calls = step.get("tool_calls")
    # Harbor looks for a result's call in the same step only.
    known = {
        str(call.get("tool_call_id"))
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict) and call.get("tool_call_id") is not None
    }
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    for number, result in enumerate(results if isinstance(results, list) else ()):
        if not isinstance(result, dict):
            continue
        spot = f"{where}.observation.results[{number}]"
        if result.get("source_call_id") is not None and str(result["source_call_id"]) not in known:
            yield error("does not match any call in this step", f"{spot}.source_call_id")
        for each in result.get("subagent_trajectory_ref") or ():
            if isinstance(each, dict) and not (each.get("trajectory_id") or each.get("trajectory_path")):
                message = "names no trajectory; since version 1.7 it needs trajectory_id or trajectory_path"
                # Only a warning: a reference by session id is valid in 1.6, but Harbor's newest models refuse it.
                yield warning(message, f"{spot}.subagent_trajectory_ref")
