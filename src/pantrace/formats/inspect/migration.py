"""Migrations: turn the shapes of early logs into current ones. The input is not changed."""

from __future__ import annotations

from typing import Any

PLACEHOLDER = "88F74D2C"
"""The name that Inspect gives to the score of an early log, in which a sample had only one."""


def sample_today(row: dict[str, Any]) -> dict[str, Any]:
    """A sample in the current shape."""
    if not ({"score", "transcript", "message_pool", "sandbox"} & row.keys()):
        return row
    row = dict(row)
    if "score" in row and "scores" not in row:
        score = row.pop("score")
        if score is not None:
            # The scorer's name is only in the header: see `named_scores`.
            row["scores"] = {PLACEHOLDER: score}
    if isinstance(transcript := row.get("transcript"), dict):
        del row["transcript"]
        row["events"] = transcript.get("events") or []
        row["attachments"] = transcript.get("content") or {}
    if isinstance(pool := row.get("message_pool"), list):
        del row["message_pool"]
        if row.get("events_data") is None:
            row["events_data"] = {"messages": pool, "calls": []}
    row["sandbox"] = sandbox_today(row.get("sandbox"))
    return {key: value for key, value in row.items() if key != "sandbox" or value is not None}


def sandbox_today(sandbox: Any) -> Any:
    """A sandbox as an object; early logs had a list, `["docker", "compose.yaml"]`."""
    if isinstance(sandbox, list) and sandbox:
        return {"type": sandbox[0], "config": sandbox[1] if len(sandbox) > 1 else None}
    return sandbox


def header_today(header: dict[str, Any]) -> dict[str, Any]:
    """A header in the current shape."""
    header = dict(header)
    if isinstance(results := header.get("results"), dict):
        results = dict(results)
        if isinstance(scorer := results.get("scorer"), dict) and "scores" not in results:
            del results["scorer"]
            score = {**scorer, "scorer": scorer.get("name")}
            if (metrics := results.pop("metrics", None)) is not None:
                score["metrics"] = metrics
            results["scores"] = [score]
        if "sample_reductions" in results:
            reductions = results.pop("sample_reductions")
            header.setdefault("reductions", reductions)
        header["results"] = results
    if isinstance(spec := header.get("eval"), dict):
        header["eval"] = _spec_today(spec)
    if isinstance(plan := header.get("plan"), dict) and isinstance(steps := plan.get("steps"), list):
        header["plan"] = {**plan, "steps": [_plan_step_today(step) for step in steps]}
    return header


def _spec_today(spec: dict[str, Any]) -> dict[str, Any]:
    spec = dict(spec)
    if "sandbox" in spec:
        spec["sandbox"] = sandbox_today(spec["sandbox"])
    # Inspect's own reader fills these in the same way.
    for passed, known in (("task_args_passed", "task_args"), ("solver_args_passed", "solver_args")):
        if passed not in spec and spec.get(known) is not None:
            spec[passed] = spec[known]
    config = spec.get("config")
    if isinstance(config, dict) and "max_messages" in config and "message_limit" not in config:
        spec["config"] = {"message_limit" if key == "max_messages" else key: value for key, value in config.items()}
    return spec


def _plan_step_today(step: Any) -> Any:
    if isinstance(step, dict) and "params_passed" not in step and "params" in step:
        return {**step, "params_passed": step["params"]}
    return step


def named_scores(row: dict[str, Any], scorer: str | None) -> dict[str, Any]:
    """A sample whose one score is named after the run's first scorer."""
    scores = row.get("scores")
    if scorer is None or not isinstance(scores, dict) or PLACEHOLDER not in scores:
        return row
    return {**row, "scores": {scorer if key == PLACEHOLDER else key: value for key, value in scores.items()}}
