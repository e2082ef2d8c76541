"""Line logs as episodes: step logs with predictions and ground truth, planner trajectories, full evaluations."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Action, Outcome, Target
from pantrace.wire.extra_keys import rest_of, said_again
from pantrace.wire.field_map import is_number
from pantrace.wire.gui_dsl import parse_reply
from pantrace.wire.json import decode_patiently
from pantrace.wire.optional import present, text_of
from pantrace.wire.shape import must_fit

from .field_names import NAME
from .older_shapes import flat_action, with_tree
from .turns import Episode, Turn


def is_step_log(row: dict[str, Any]) -> bool:
    """Whether an object is a line of `eval_policy --log-samples`."""
    return "pred_action" in row and "ground_truth_action" in row and "episode_id" in row


def is_planner(row: dict[str, Any]) -> bool:
    """Whether an object is a line of a planner's trajectories.jsonl."""
    return "planner_output" in row and "episode_id" in row and "step_index" in row


def is_meta(row: dict[str, Any]) -> bool:
    """Whether an object is the first line of a full evaluation."""
    return row.get("_meta") is True and ("planner_model" in row or "grounder_model" in row)


def is_task_result(row: dict[str, Any]) -> bool:
    """Whether an object is a task's line of a full evaluation."""
    return {"task_id", "score", "success", "elapsed_seconds"} <= row.keys()


_STEP_LOG = {
    "episode_id",
    "step_index",
    "goal",
    "model_output_raw",
    "pred_action",
    "ground_truth_action",
}


def step_log_episode(rows: list[dict[str, Any]]) -> Episode:
    """The lines of one episode: predictions are what was done, ground truth what was expected."""
    must_fit(rows, [{"pred_action": dict, "ground_truth_action": dict}])
    return Episode(
        # The log calls the instruction `goal`, as legacy episodes do.
        row={"episode_id": rows[0]["episode_id"], "instruction": rows[0].get("goal") or ""},
        turns=[_predicted_turn(row, place) for place, row in enumerate(rows)],
        expected=[_expected_turn(row, place) for place, row in enumerate(rows)],
    )


def _predicted_turn(row: dict[str, Any], place: int) -> Turn:
    output = text_of(row.get("model_output_raw"))
    known = _STEP_LOG - {"model_output_raw"} if output is None else _STEP_LOG
    reply = parse_reply(output) if output is not None else None
    action = flat_action(row["pred_action"])
    if reply is not None:
        action = msgspec.structs.replace(action, raw=output)
        # OpenAdapt writes `fail` for an answer it could not parse, which would look like a model that gave up.
        if action.kind == "fail" and reply.action.kind == "unparsed":
            action = msgspec.structs.replace(action, kind="unparsed")
    step = {
        "step_index": row.get("step_index", place),
        "reasoning": reply.thought if reply is not None else None,
        **rest_of(row, known),
    }
    return Turn(row=step, actions=[action])


def _expected_turn(row: dict[str, Any], place: int) -> Turn:
    return Turn(row={"step_index": row.get("step_index", place)}, actions=[flat_action(row["ground_truth_action"])])


_PLANNER = {
    "episode_id",
    "step_index",
    "screenshot_path",
    "a11y_tree",
    "planner_output",
}


def planner_episode(rows: list[dict[str, Any]]) -> Episode:
    """The lines of one planner episode; each of them repeats its reward."""
    first, reward = rows[0], rows[-1].get("episode_reward")
    fields = {
        "episode_id": first["episode_id"],
        "instruction": first.get("task_instruction") or "",
        "success": success_of(reward),
        "final_reward": reward,
    }
    # Said once, unless a line says something else.
    again = {"task_instruction": first.get("task_instruction"), "episode_reward": reward}
    return Episode(row=fields, turns=[_planned_turn(row, place, again) for place, row in enumerate(rows)])


def success_of(reward: Any) -> bool | None:
    """Whether a reward from 0 to 1 is a success: only a full one is. None if there is no reward."""
    return bool(reward >= 1) if is_number(reward) else None


def _planned_turn(row: dict[str, Any], place: int, again: dict[str, Any]) -> Turn:
    output = row.get("planner_output")
    output = output if isinstance(output, dict) else {"output": output}
    description = text_of(output.get("target_description")) or None
    decision = str(output.get("decision") or "").lower()
    # The decision goes first: a planner that stops or waits does not act.
    kind = decision if decision in ("done", "fail", "wait") else text_of(output.get("action_type")) or "unknown"
    action = Action(
        kind=kind.lower(), target=Target(description=description) if description is not None else None, raw=output
    )
    seen = present({"screenshot_path": row.get("screenshot_path") or None})
    step = {
        "step_index": row.get("step_index", place),
        "observation": with_tree(seen, _tree(row.get("a11y_tree"))),
        "reasoning": text_of(output.get("reasoning")),
        **rest_of(row, (*_PLANNER, *said_again(row, **again))),
    }
    return Turn(row=step, actions=[action])


def _tree(value: Any) -> Any:
    """The tree as an object if its text is complete; the logger cuts it off at 4,000 characters."""
    if not isinstance(value, str):
        return value
    try:
        tree = decode_patiently(value.encode("utf-8", "surrogatepass"))
    except ReadError:
        return value
    return tree if isinstance(tree, dict) else value


def task_result_episode(row: dict[str, Any], model: str | None) -> Episode:
    """A task's line of a full evaluation: an episode whose steps were not recorded."""
    verdict, outcome = verdict_of(row)
    used = {"task_id", "score", "success", "error", "error_type", "reason", "started_at"}
    fields = {
        "episode_id": str(row["task_id"]),
        "task_id": str(row["task_id"]),
        "instruction": "",
        **verdict,
        "agent_model": model,
        "created_at": row.get("started_at"),
        "metadata": rest_of(row, used) or None,
    }
    return Episode(row=fields, turns=[], outcome=outcome)


def verdict_of(row: dict[str, Any]) -> tuple[dict[str, Any], Outcome | None]:
    """Success and reward of a benchmark result, and its outcome if that says more. If the infrastructure or the
    evaluation broke, `success: false` and `score: 0` are not a verdict."""
    error, kind, reason = row.get("error"), row.get("error_type"), row.get("reason")
    success, score = row.get("success"), row.get("score")
    if error is None and reason is None and kind is None:
        return {"success": success, "final_reward": score}, None
    # `error_type` came with openadapt-evals 0.98; before that, an error without success is taken for a broken run.
    broke = kind in ("infrastructure", "evaluation") or (kind is None and error is not None and success is not True)
    recorded = present({"error": error, "error_type": kind, "reason": reason})
    why = next((str(each) for each in (error, reason, kind) if each), "")
    if broke:
        recorded |= present({"success": success, "score": score})
        return {}, Outcome(status="error", reason=why, extra={NAME: recorded})
    reward = score if is_number(score) else None
    status: Any = "passed" if success is True else "failed"
    stated = {"success": success is True, "final_reward": score}
    return stated, Outcome(status=status, reason=why, reward=reward, extra={NAME: recorded})
