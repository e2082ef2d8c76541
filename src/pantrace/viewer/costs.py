"""What each model call cost: as its recording reports it, otherwise by the price table."""

from __future__ import annotations

from pantrace.catalog import catalog, cost_usd
from pantrace.matching.recorded_data import recording_of
from pantrace.model import Trajectory, all_trajectories


def costs_of_steps(trajectory: Trajectory, *, estimated: bool) -> dict[int, float]:
    """Dollars for each model call by the identity of its step, of a sample whose cost is estimated or not."""
    steps = (step for each in all_trajectories(trajectory) for step in each.steps)
    if not estimated:
        usages = ((step, step.usage) for step in steps)
        return {id(step): usage.cost_usd for step, usage in usages if usage is not None and usage.cost_usd is not None}
    found = {}
    # A call without a model counts for its agent's model, as in the metric, so that both sums are the same.
    for name, step, usage in recording_of(trajectory).model_calls:
        model = catalog().find(name) if name else None
        if model is not None and (usage.input is not None or usage.output is not None):
            found[id(step)] = cost_usd(usage, model, at=step.at)
    return found
