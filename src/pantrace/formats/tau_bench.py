"""Results of tau-bench: one row for each trial of a task, with the conversation and its reward.

Spec: github.com/sierra-research/tau-bench, `EnvRunResult` of tau_bench/types.py; a JSON array.
Detect: `task_id`, `reward`, an object `info` and an array `traj` in one row.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import (
    Case,
    ExpectedCall,
    Maker,
    Outcome,
    Sample,
    Scale,
    Score,
    Step,
    Text,
    ToolResult,
    Trajectory,
    Violation,
)
from pantrace.wire.extra_keys import as_extra
from pantrace.wire.head import Head
from pantrace.wire.json import unknown_keys
from pantrace.wire.openai_chat import MESSAGE, steps_from
from pantrace.wire.shape import ANY, violations
from pantrace.wire.violation import warning

from .format import Format

NAME = "tau-bench"

SUCCESS = 1 - 1e-6
"""Rewards from here on count as a success, as in tau-bench's own table."""

STOP = "###STOP###"
"""The simulated user ends the conversation. The agent never sees a message with this, so it is a note, no prompt."""


def detect(head: Head) -> str | None:
    row = head.record
    # The first two keys alone are in many results.
    fits = {"task_id", "reward"} <= row.keys() and isinstance(row.get("info"), dict)
    return "" if fits and isinstance(row.get("traj"), list) else None


def load(row: Any) -> Sample:
    if not isinstance(row, dict) or not isinstance(row.get("traj"), list) or "task_id" not in row:
        raise ReadError("a row needs task_id and traj")
    info = row.get("info") or {}
    if not isinstance(info, dict):
        raise ReadError("info must be an object")
    trial = row.get("trial")
    outcome, score = _outcome_and_score(row, info)
    return Sample(
        id=str(row["task_id"]),
        # Trials are counted from 0, epochs from 1.
        epoch=trial + 1 if isinstance(trial, int) and not isinstance(trial, bool) else None,
        case=_case(str(row["task_id"]), info.get("task")),
        trajectory=Trajectory(
            steps=tuple(_with_ending(step) for step in steps_from(row["traj"], NAME)),
            outcome=outcome,
            extra=as_extra(NAME, unknown_keys(info, {"task", "reward_info", "error"})),
        ),
        scores=(score,) if "reward" in row else (),
        extra={NAME: unknown_keys(row, {"reward", "info", "traj"})},
    )


def _case(case_id: str, task: Any) -> Case:
    if not isinstance(task, dict):
        return Case(id=case_id, extra={NAME: {"task": task}} if task is not None else {})
    actions = task.get("actions")
    return Case(
        id=case_id,
        question=task.get("instruction"),
        expected_calls=tuple(_expected(action) for action in actions) if isinstance(actions, list) else None,
        extra=as_extra(NAME, unknown_keys(task, {"instruction", "actions"})),
    )


def _expected(action: dict[str, Any]) -> ExpectedCall:
    rest = unknown_keys(action, {"name", "kwargs"})
    return ExpectedCall(name=action["name"], arguments=action.get("kwargs"), extra=as_extra(NAME, rest))


def _with_ending(step: Step) -> Step:
    """A step with what tau-bench says only in the text: that a call failed, or that the simulated user hung up."""
    match step.parts:
        case (Text(text=text),) if step.role == "user" and STOP in text:
            return msgspec.structs.replace(step, kind="note")
        case (ToolResult(output=str(output)) as result,) if output.startswith(("Error:", "Unknown action ")):
            # tau-bench has no field for a failure: its tools answer with these texts.
            failure = "invalid_tool" if output.startswith("Unknown action ") else "error"
            failed = msgspec.structs.replace(result, error=output, failure=failure)
            return msgspec.structs.replace(step, parts=(failed,))
    return step


def _reward(row: dict[str, Any]) -> float | None:
    reward = row.get("reward")
    number = isinstance(reward, (int, float)) and not isinstance(reward, bool) and isfinite(reward)
    return float(reward) if number and reward is not None else None


def _outcome_and_score(row: dict[str, Any], info: dict[str, Any]) -> tuple[Outcome, Score]:
    """How a trial ended, and its reward as a score."""
    reward, score = _reward(row), Score(name="reward", maker=Maker(name=NAME), scale=Scale(low=0.0, high=1.0))
    if info.get("error") is not None:
        # The runner stores 0 if a run broke down; that is not a reward.
        why = f"the run broke down: {info['error']}"
        outcome = Outcome(status="error", reason=str(info["error"]), extra={NAME: {"reward": row.get("reward")}})
        return outcome, msgspec.structs.replace(score, status="failed", explanation=why)
    if reward is None:
        outcome = Outcome(status="unscored", extra={NAME: {"reward": row["reward"]}} if row.get("reward") else {})
        return outcome, msgspec.structs.replace(score, status="unscored", explanation="no reward stored")
    passed, reasons = reward >= SUCCESS, info.get("reward_info")
    outcome = Outcome(status="passed" if passed else "failed", reward=reward)
    # Rewards are computed when the conversation ends; null means that the steps ran out before.
    if "reward_info" in info and reasons is None:
        outcome = Outcome(status="limit", reason="the conversation did not end within the steps allowed", reward=reward)
    rest: dict[str, Any] = {} if reasons is None else {"reward_info": reasons}
    details: dict[str, Any] = {}
    if isinstance(reasons, dict):
        details = reasons["info"] if isinstance(reasons.get("info"), dict) else {}
        # reward_info repeats these; a copy is kept only if it differs.
        repeated = {"reward": row["reward"], "actions": (info.get("task") or {}).get("actions"), "info": details}
        rest = {key: value for key, value in reasons.items() if key not in repeated or value != repeated[key]}
    extra = as_extra(NAME, rest)
    return outcome, msgspec.structs.replace(score, value=reward, passed=passed, details=details, extra=extra)


_TASK = {"instruction?": str, "actions?": [{"name": str, "kwargs?": dict}]}
_ROW = {
    "task_id": ANY,
    "trial?": int,
    "reward": (float, None),
    "info": {"task?": (_TASK, None)},
    "traj": [MESSAGE],
}


def check(row: Any) -> Iterable[Violation]:
    yield from violations(row, _ROW)
    reward = _reward(row) if isinstance(row, dict) else None
    if reward is not None and not 0 <= reward <= 1:
        yield warning(f"{reward} is not within 0..1", "reward")


FORMAT = Format(
    name=NAME,
    title="tau-bench results: conversations with their rewards, several trials of each task",
    spec="github.com/sierra-research/tau-bench, tau_bench/types.py",
    detect=detect,
    load=load,
    check=check,
    layout="array",
    suffix=".json",
)
