"""What a sample cost: as its recording reports it, else what its tokens cost by the price table."""

from __future__ import annotations

from pantrace.catalog import catalog, cost_usd
from pantrace.metrics.metric import Measurement
from pantrace.metrics.token_usage import Settings, token_usage
from pantrace.model import Sample, Step, Usage


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


def cost_of_step(step: Step, *, estimated: bool) -> float | None:
    """Dollars for one model call, of a sample whose cost is estimated or not."""
    if step.usage is None or not estimated:
        return step.usage.cost_usd if step.usage is not None else None
    model = catalog().find(step.model) if step.model else None
    known = step.usage.input is not None or step.usage.output is not None
    return cost_usd(step.usage, model, at=step.at) if model is not None and known else None
