"""Benchmark run directories of openadapt-evals: metadata.json, tasks/<id>/task.json and execution.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pantrace.wire.extra_keys import rest_of
from pantrace.wire.json import unknown_keys
from pantrace.wire.optional import present, text_of
from pantrace.wire.shape import must_fit
from pantrace.wire.whole_document import object_in

from .field_names import SOURCES
from .logs import verdict_of
from .older_shapes import flat_action
from .turns import Episode, Turn


def is_execution(row: Any) -> bool:
    """Whether an object is an execution.json."""
    return (
        isinstance(row, dict)
        and "task_id" in row
        and "num_steps" in row
        and "total_time_seconds" in row
        and isinstance(row.get("steps"), list)
    )


def object_if_there(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is no such file."""
    return object_in(path) if path.exists() else {}


_EXECUTION = {"task_id", "model_id", "success", "score", "error", "error_type", "reason", "steps"}
_TASK = {"task_id", "instruction", "domain"}
_STEP = {"step_idx", "screenshot_path", "action", "reasoning"}


def execution_episode(execution: dict[str, Any], task: dict[str, Any], run: dict[str, Any]) -> Episode:
    """One task of a run. Its id is taken from the file: the folder's name has "_" for every special character."""
    must_fit(execution, {"task_id": (str, int), "steps": [dict]})
    benchmark = run.get("benchmark_name")
    metadata = {
        "domain": task.get("domain"),
        "task": unknown_keys(task, _TASK) or None,
        "execution": unknown_keys(execution, _EXECUTION) or None,
    }
    verdict, outcome = verdict_of(execution)
    fields = {
        "episode_id": str(execution["task_id"]),
        "task_id": str(execution["task_id"]),
        "instruction": text_of(task.get("instruction")) or "",
        **verdict,
        # OpenAdapt's schema allows only these; with another name it would refuse the episode.
        "source": benchmark if benchmark in SOURCES else None,
        "agent_model": execution.get("model_id"),
        "metadata": present(metadata) or None,
    }
    turns = [_turn(step, place) for place, step in enumerate(execution["steps"])]
    return Episode(row=fields, turns=turns, outcome=outcome)


def _turn(row: dict[str, Any], place: int) -> Turn:
    """A step; its screenshot is what the agent saw before acting."""
    action = row.get("action")
    step = {
        "step_index": row.get("step_idx", place),
        "observation": present({"screenshot_path": row.get("screenshot_path") or None}),
        "reasoning": row.get("reasoning"),
    }
    # An action that is not an object is kept as it is: dropping the step would shift the screenshots after it.
    done = flat_action(action if isinstance(action, dict) else {"raw": action})
    return Turn(row={**present(step), **rest_of(row, _STEP)}, actions=[done])
