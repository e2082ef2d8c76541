"""The report of openadapt-evals' TraceAnalyzer on GUI runs, in its shape: summary, failure modes, action distribution.

It differs on purpose in three ways. A run with a recorded result counts even if its folder's name is not its id. The
cost is that of the reported tokens, and null if there are none, never a guess by the number of steps. What was not
recorded is null, never 0."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pantrace.matching.repetition import AROUND
from pantrace.matching.tally import tally_by_frequency
from pantrace.metrics import by_name
from pantrace.model import Action, Record, Sample

MAX_STEPS = 15
"""From this many steps on, TraceAnalyzer counts a run as stopped, by default."""
_SERVER = re.compile(r"connection|timeout|unreachable|50[0234]|refused|broken.pipe|reset.by.peer", re.IGNORECASE)
_UNSCORED = {"infrastructure": "infra_error", "evaluation": "evaluation_error"}


class Episode(Record, frozen=True, kw_only=True):
    """One run, in TraceAnalyzer's terms."""

    id: str
    status: str
    """passed, failed, error, infra_error or evaluation_error."""
    mode: str | None
    score: float | None
    steps: int
    seconds: float | None
    cost: float | None
    model: str | None
    actions: tuple[str, ...]

    @property
    def has_outcome(self) -> bool:
        return self.status not in _UNSCORED.values()


def trace_analysis(samples: Iterable[Sample], *, max_steps: int = MAX_STEPS) -> dict[str, Any]:
    """Summary, failure modes, action distribution and step statistics of GUI runs."""
    episodes = [episode_of(sample, max_steps) for sample in samples]
    modes: dict[str, list[str]] = {}
    for each in episodes:
        if each.mode is not None:
            modes.setdefault(each.mode, []).append(each.id)
    failed = sum(map(len, modes.values()))
    return {
        "summary": _summary(episodes),
        "failure_modes": [
            {"mode": mode, "count": len(ids), "episode_ids": ids, "percentage": round(100 * len(ids) / failed, 1)}
            for mode, ids in sorted(modes.items(), key=lambda item: -len(item[1]))
        ],
        "action_distribution": tally_by_frequency(kind for each in episodes for kind in each.actions),
        "step_statistics": _step_statistics(episodes),
    }


def episode_of(sample: Sample, max_steps: int = MAX_STEPS) -> Episode:
    """A sample in TraceAnalyzer's terms."""
    trajectory = sample.trajectory
    outcome = trajectory.outcome if trajectory is not None else None
    acted = [part for step in (trajectory.steps if trajectory else ()) for part in step.parts if type(part) is Action]
    stated = {score.name: score.value for score in sample.scores if isinstance(score.value, (int, float))}
    recorded = outcome.extra.get("openadapt-episodes") if outcome is not None else None
    kind = recorded.get("error_type") if isinstance(recorded, dict) else None
    reason = (outcome.reason or "") if outcome is not None else ""
    if outcome is None or outcome.status == "unscored":
        status = "evaluation_error"
    # openadapt-evals 0.98 leaves errors of the infrastructure and of the evaluation out of its denominators.
    elif outcome.status == "error":
        status = _UNSCORED.get(str(kind), "error")
    else:
        status = "passed" if outcome.status == "passed" else "error" if reason else "failed"
    stopped = outcome is not None and outcome.status == "limit"
    reward = outcome.reward if outcome is not None else None
    steps = int(stated.get("num_steps", len(acted)))
    seconds = stated.get("elapsed_seconds")
    cost = by_name("token_usage").score(sample).values.get("estimated_cost_usd")
    return Episode(
        id=sample.id,
        status=status,
        mode=None if status == "passed" else _mode(str(kind), reason, reward, stopped or steps >= max_steps, acted),
        score=float(reward) if reward is not None else None,
        steps=steps,
        seconds=float(seconds) if seconds is not None else None,
        cost=float(cost) if cost is not None else None,
        model=next((agent.model for agent in trajectory.agents if agent.model), None) if trajectory else None,
        actions=tuple(action.kind for action in acted),
    )


def _mode(kind: str, reason: str, reward: float | None, stopped: bool, actions: Sequence[Action]) -> str:
    """Why a run failed, by TraceAnalyzer's rules and in their order."""
    if reward is not None and 0 < reward < 1:
        return "task_incomplete"
    if kind == "infrastructure" or _SERVER.search(reason):
        return "server_error"
    if kind == "agent":
        return "agent_error"
    if stopped:
        return "timeout"
    aims = [(action.kind, action.target.description if action.target is not None else None) for action in actions]
    for start in range(len(aims) - AROUND + 1):
        # Without a description of the target, equal actions can be aimed at different elements.
        if aims[start][1] and len(set(aims[start : start + AROUND])) == 1:
            return "loop_detected"
    return "planner_wrong_target" if any(action.kind == "fail" for action in actions) else "unknown_failure"


def _summary(episodes: Sequence[Episode]) -> dict[str, Any]:
    scored = [each for each in episodes if each.has_outcome]
    scores = [each.score for each in scored if each.score is not None]
    times = [each.seconds for each in episodes if each.seconds is not None]
    costs = [each.cost for each in episodes if each.cost is not None]
    steps = sum(each.steps for each in episodes)
    return {
        "total_episodes": len(episodes),
        "outcome_episodes": len(scored),
        "unscored_episodes": len(episodes) - len(scored),
        "total_steps": steps,
        "success_rate": _mean([each.status == "passed" for each in scored], 4),
        "avg_score": _mean(scores, 4),
        "avg_steps_per_episode": round(steps / len(episodes), 2) if episodes else None,
        "avg_time_per_episode": _mean(times, 2),
        "total_time": round(sum(times), 2) if times else None,
        "cost_estimate_usd": round(sum(costs), 4) if costs else None,
        "episodes_by_status": dict(Counter(each.status for each in episodes)),
        "model": next((each.model for each in episodes if each.model is not None), None),
    }


def _step_statistics(episodes: Sequence[Episode]) -> dict[str, Any]:
    """The lengths of runs that passed, and of those that did not."""
    found = {}
    for name, wanted in (("passed", True), ("not_passed", False)):
        steps = sorted(each.steps for each in episodes if (each.status == "passed") is wanted)
        middle = len(steps) // 2
        found[name] = {
            "episodes": len(steps),
            "min": steps[0] if steps else None,
            "median": (steps[middle] + steps[~middle]) / 2 if steps else None,
            "max": steps[-1] if steps else None,
        }
    return found


def _mean(values: Sequence[float], digits: int) -> float | None:
    return round(sum(values) / len(values), digits) if values else None
