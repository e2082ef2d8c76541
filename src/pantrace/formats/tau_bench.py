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
from pantrace.wire.head import Head
from pantrace.wire.json import unknown_keys
from pantrace.wire.openai_chat import steps_from
from pantrace.wire.shape import ANY, violations

from .format import Format

NAME = "tau-bench"

SUCCESS = 1 - 1e-6
"""From here on a reward counts as success, as in tau-bench's own table."""

STOP = "###STOP###"
"""The simulated user hangs up: the agent never sees the message that holds this, so it is a note and no prompt."""


def detect(head: Head) -> str | None:
    row = head.record
    fits = {"task_id", "reward"} <= row.keys() and isinstance(row.get("info"), dict)
    return "" if fits and isinstance(row.get("traj"), list) else None


def load(row: Any) -> Sample:
    if not isinstance(row, dict) or not isinstance(row.get("traj"), list) or "task_id" not in row:
        raise ReadError("a row needs task_id and traj")
    info = row.get("info") or {}
    if not isinstance(info, dict):
        raise ReadError("info must be an object")
    trial = row.get("trial")
    kept = {"task_id": row["task_id"], **({"trial": trial} if "trial" in row else {})}
    kept.update(unknown_keys(row, {"task_id", "trial", "reward", "info", "traj"}))
    beside = unknown_keys(info, {"task", "reward_info", "error"})
    case_id = str(row["task_id"])
    return Sample(
        id=case_id,
        epoch=trial + 1 if isinstance(trial, int) and not isinstance(trial, bool) else None,
        case=_case(case_id, info.get("task")),
        trajectory=Trajectory(
            steps=tuple(_told(step) for step in steps_from(row["traj"], NAME)),
            outcome=_outcome(row, info),
            extra={NAME: beside} if beside else {},
        ),
        scores=(_score(row, info),) if "reward" in row else (),
        extra={NAME: kept},
    )


def _case(case_id: str, task: Any) -> Case:
    if not isinstance(task, dict):
        return Case(id=case_id, extra={NAME: {"task": task}} if task is not None else {})
    actions = task.get("actions")
    rest = unknown_keys(task, {"instruction", "actions"})
    return Case(
        id=case_id,
        question=task.get("instruction"),
        expected_calls=tuple(_expected(action) for action in actions) if isinstance(actions, list) else None,
        extra={NAME: rest} if rest else {},
    )


def _expected(action: dict[str, Any]) -> ExpectedCall:
    rest = unknown_keys(action, {"name", "kwargs"})
    return ExpectedCall(name=action["name"], arguments=action.get("kwargs"), extra={NAME: rest} if rest else {})


def _told(step: Step) -> Step:
    """A step with what tau-bench says only in words: a failed call, and that the simulated user has hung up."""
    match step.parts:
        case (Text(text=text),) if step.role == "user" and STOP in text:
            return msgspec.structs.replace(step, kind="note")
        case (ToolResult(output=str(output)) as result,) if output.startswith(("Error:", "Unknown action ")):
            failure = "invalid_tool" if output.startswith("Unknown action ") else "error"
            failed = msgspec.structs.replace(result, error=output, failure=failure)
            return msgspec.structs.replace(step, parts=(failed,))
    return step


def _reward(row: dict[str, Any]) -> float | None:
    reward = row.get("reward")
    number = isinstance(reward, (int, float)) and not isinstance(reward, bool) and isfinite(reward)
    return float(reward) if number and reward is not None else None


def _outcome(row: dict[str, Any], info: dict[str, Any]) -> Outcome:
    reward = _reward(row)
    if info.get("error") is not None:
        # The runner stores 0 where a run broke down; nobody gave that reward.
        return Outcome(status="error", reason=str(info["error"]), extra={NAME: {"reward": row.get("reward")}})
    if reward is None:
        return Outcome(status="unscored", extra={NAME: {"reward": row["reward"]}} if row.get("reward") else {})
    if "reward_info" in info and info["reward_info"] is None:
        return Outcome(status="limit", reason="the conversation did not end within the steps allowed", reward=reward)
    return Outcome(status="passed" if reward >= SUCCESS else "failed", reward=reward)


def _score(row: dict[str, Any], info: dict[str, Any]) -> Score:
    maker, scale = Maker(name=NAME), Scale(low=0.0, high=1.0)
    if info.get("error") is not None:
        reason = f"the run broke down: {info['error']}"
        return Score(name="reward", status="failed", explanation=reason, maker=maker, scale=scale)
    reward = _reward(row)
    if reward is None:
        return Score(name="reward", status="unscored", explanation="no reward stored", maker=maker, scale=scale)
    reasons = info.get("reward_info")
    details: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    if isinstance(reasons, dict):
        details = reasons["info"] if isinstance(reasons.get("info"), dict) else {}
        said = {"reward": row["reward"], "actions": (info.get("task") or {}).get("actions"), "info": details}
        rest = {key: value for key, value in reasons.items() if key not in said or value != said[key]}
    elif reasons is not None:
        rest = {"reward_info": reasons}
    return Score(
        name="reward",
        value=reward,
        scale=scale,
        details=details,
        maker=maker,
        passed=reward >= SUCCESS,
        extra={NAME: rest} if rest else {},
    )


_CALL = {"id?": (str, None), "type?": str, "function": {"name": str, "arguments?": (str, dict, None)}}
_MESSAGE = {
    "role": str,
    "content?": (str, list, None),
    "tool_calls?": ([_CALL], None),
    "tool_call_id?": (str, None),
    "name?": (str, None),
}
_TASK = {"instruction?": str, "actions?": [{"name": str, "kwargs?": dict}]}
_ROW = {
    "task_id": ANY,
    "trial?": int,
    "reward": (float, None),
    "info": {"task?": (_TASK, None)},
    "traj": [_MESSAGE],
}


def check(row: Any) -> Iterable[Violation]:
    yield from violations(row, _ROW)
    reward = _reward(row) if isinstance(row, dict) else None
    if reward is not None and not 0 <= reward <= 1:
        yield Violation(level="warning", message=f"{reward} is not within 0..1", place="reward")


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
