"""Listing: one line for each sample, with what a person asks first: when, who, how much, how it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pantrace.metrics import by_name
from pantrace.model import Record, Sample, all_trajectories, call_pairs, has_failed, turns


class Listed(Record, frozen=True, kw_only=True):
    """A sample in a list."""

    id: str
    epoch: int | None = None
    created: float | None = None
    agent: str | None = None
    model: str | None = None
    turns: int | None = None
    calls: int | None = None
    """Tool calls, those of sub-agents included."""
    errors: int | None = None
    """Tool calls that failed, and steps that ended in an error."""
    tokens: int | None = None
    """All that were spent: branches that were given up and interrupted responses, too."""
    cost: float | None = None
    """Of these tokens in US dollars, as the metric token_usage tells it."""
    outcome: str | None = None
    reason: str | None = None
    """Why the outcome is what it is, where the source says it."""
    title: str | None = None


SORTS = ("id", "time", "agent", "model", "turns", "calls", "errors", "tokens", "cost", "outcome", "title")
"""What a list can be sorted by."""
_LARGEST_FIRST = ("turns", "calls", "errors", "tokens", "cost")


def listed(sample: Sample) -> Listed:
    """The line of a sample."""
    trajectory = sample.trajectory
    if trajectory is None:
        return Listed(id=sample.id, epoch=sample.epoch, agent=sample.case.agent if sample.case else None)
    pairs = call_pairs(trajectory, children=True)
    steps = [step for each in all_trajectories(trajectory) for step in each.steps]
    failed = sum(pair.result is not None and has_failed(pair.result) for pair in pairs)
    usage = by_name("token_usage").score(sample).values
    # Whoever asks what a session took has paid for branches that he gave up, too.
    tokens, cost = usage.get("spent_tokens"), usage.get("spent_usd")
    outcome = trajectory.outcome
    return Listed(
        id=sample.id,
        epoch=sample.epoch,
        created=trajectory.created,
        agent=_first([step.agent for step in steps] or [], sample.case.agent if sample.case else None)
        or _first([each.name for each in trajectory.agents], None),
        model=_first([step.model for step in steps], None) or _first([each.model for each in trajectory.agents], None),
        turns=sum(turn.number > 0 for turn in turns(trajectory)),
        calls=len(pairs),
        errors=failed + sum(step.error is not None for step in steps),
        tokens=None if tokens is None else int(tokens),
        cost=cost,
        outcome=outcome.status if outcome is not None else None,
        reason=outcome.reason if outcome is not None else None,
        title=trajectory.title,
    )


def _first(names: Iterable[str | None], otherwise: str | None) -> str | None:
    """The first of several names, and how many others there are."""
    found = list(dict.fromkeys(name for name in names if name)) or ([otherwise] if otherwise else [])
    return found[0] + (f" +{len(found) - 1}" if len(found) > 1 else "") if found else None


def ordered(rows: Iterable[Listed], by: str, *, reverse: bool = False) -> list[Listed]:
    """Sorted: numbers largest first, all else from the start; what has no value comes last."""
    name = "created" if by == "time" else by
    found = list(rows)
    known = [row for row in found if getattr(row, name) is not None]
    known.sort(key=lambda row: getattr(row, name), reverse=(by in _LARGEST_FIRST) != reverse)
    return known + [row for row in found if getattr(row, name) is None]


class Totals(Record, frozen=True, kw_only=True):
    """All lines of a list together."""

    samples: int
    turns: int
    calls: int
    errors: int
    tokens: int | None
    cost: float | None
    without_tokens: int
    """Samples that tell no tokens: the sum is over the others."""
    without_cost: int
    outcomes: dict[str, int]


def totals(rows: Iterable[Listed]) -> Totals:
    """The sums; what is not reported is left out and counted."""
    found = list(rows)
    tokens = [row.tokens for row in found if row.tokens is not None]
    costs = [row.cost for row in found if row.cost is not None]
    return Totals(
        samples=len(found),
        turns=sum(row.turns or 0 for row in found),
        calls=sum(row.calls or 0 for row in found),
        errors=sum(row.errors or 0 for row in found),
        tokens=sum(tokens) if tokens else None,
        cost=sum(costs) if costs else None,
        without_tokens=len(found) - len(tokens),
        without_cost=len(found) - len(costs),
        outcomes=dict(Counter(row.outcome for row in found if row.outcome).most_common()),
    )
