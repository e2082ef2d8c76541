"""What a sample cost: as its recording reports it, else what its tokens cost by the price table."""

from __future__ import annotations

from pantrace.catalog import catalog, cost_usd
from pantrace.matching.recorded_data import recording_of
from pantrace.metrics.metric import Measurement
from pantrace.metrics.token_usage import Settings, token_usage
from pantrace.model import Sample, Trajectory, Usage, all_trajectories


def cost_of(sample: Sample, usage: Usage | None) -> tuple[float | None, bool]:
    """Dollars for a sample with its sub-agents, and whether they are estimated; None where neither is known."""
    if usage is None:
        return None, False
    if usage.cost_usd is not None:
        return usage.cost_usd, False
    found = token_usage.measure(sample, Settings())
    # The metric never mixes: a cost of the table is one of which every call has a price.
    if isinstance(found, Measurement) and isinstance(found.value, float):
        return found.value, True
    return None, False


def costs_of_steps(trajectory: Trajectory, *, estimated: bool) -> dict[int, float]:
    """Dollars for each model call by the identity of its step, of a sample whose cost is estimated or not."""
    steps = (step for each in all_trajectories(trajectory) for step in each.steps)
    if not estimated:
        usages = ((step, step.usage) for step in steps)
        return {id(step): usage.cost_usd for step, usage in usages if usage is not None and usage.cost_usd is not None}
    found = {}
    # A call that names no model is one of its agent's, as for the metric: the sum is the same.
    for name, step, usage in recording_of(trajectory).model_calls:
        model = catalog().find(name) if name else None
        if model is not None and (usage.input is not None or usage.output is not None):
            found[id(step)] = cost_usd(usage, model, at=step.at)
    return found
