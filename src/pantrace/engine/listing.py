"""Listing: one line for each sample, with what people ask first: when, which agent, how much, how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeVar

from pantrace.metrics.token_usage import cost_of, token_usage
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
    """Tool calls, including those of sub-agents."""
    errors: int | None = None
    """Tool calls that failed, and steps that ended in an error."""
    tokens: int | None = None
    """All tokens that were spent, including abandoned branches and interrupted responses."""
    cost: float | None = None
    """Of these tokens in US dollars: as recorded, otherwise by the price table."""
    cost_source: Literal["reported", "estimated"] | None = None
    """Whether the source records the cost, or the price table gives it."""
    outcome: str | None = None
    reason: str | None = None
    """The reason for the outcome, if the source states it."""
    title: str | None = None


SORTS = ("id", "time", "agent", "model", "turns", "calls", "errors", "tokens", "cost", "outcome", "title")
"""What a list can be sorted by."""
T = TypeVar("T")
_LARGEST_FIRST = ("turns", "calls", "errors", "tokens", "cost")


def listed(sample: Sample) -> Listed:
    """The line of a sample."""
    trajectory = sample.trajectory
    if trajectory is None:
        return Listed(id=sample.id, epoch=sample.epoch, agent=sample.case.agent if sample.case else None)
    pairs = call_pairs(trajectory, children=True)
    steps = [step for each in all_trajectories(trajectory) for step in each.steps]
    failed = sum(pair.result is not None and has_failed(pair.result) for pair in pairs)
    # Abandoned branches were paid for, too.
    tokens = token_usage.score(sample).values.get("spent_tokens")
    cost, estimated = cost_of(sample, spent=True)
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
        cost_source=None if cost is None else "estimated" if estimated else "reported",
        outcome=outcome.status if outcome is not None else None,
        reason=outcome.reason if outcome is not None else None,
        title=trajectory.title,
    )


def _first(names: Iterable[str | None], otherwise: str | None) -> str | None:
    """The first of several names, and how many others there are."""
    found = list(dict.fromkeys(name for name in names if name)) or ([otherwise] if otherwise else [])
    return found[0] + (f" +{len(found) - 1}" if len(found) > 1 else "") if found else None


def ordered(
    lines: Iterable[tuple[Listed, T]], by: str, *, reverse: bool = False, limit: int | None = None
) -> list[tuple[Listed, T]]:
    """Rows, each with what belongs to it, sorted: numbers from the largest, everything else in ascending order; rows
    without a value come last. With a limit the first N, and never more than twice as many are kept in memory."""
    name = "created" if by == "time" else by

    def sort(found: list[tuple[Listed, T]]) -> list[tuple[Listed, T]]:
        # None cannot be compared with a number, and "unknown" is neither the largest nor the smallest.
        known = [line for line in found if getattr(line[0], name) is not None]
        known.sort(key=lambda line: getattr(line[0], name), reverse=(by in _LARGEST_FIRST) != reverse)
        return (known + [line for line in found if getattr(line[0], name) is None])[:limit]

    found: list[tuple[Listed, T]] = []
    for line in lines:
        found.append(line)
        if limit is not None and len(found) > 2 * limit:
            found = sort(found)
    return sort(found)


class Totals(Record, frozen=True, kw_only=True):
    """The sums of a list."""

    samples: int
    turns: int
    calls: int
    errors: int
    tokens: int | None
    cost: float | None
    estimated: int
    """Samples whose cost is an estimate."""
    without_tokens: int
    """Samples without token counts; the sum is over the others."""
    without_cost: int
    outcomes: dict[str, int]


def totals(rows: Iterable[Listed]) -> Totals:
    """The sums; missing numbers are left out and counted."""
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
        estimated=sum(row.cost_source == "estimated" for row in found),
        without_tokens=len(found) - len(tokens),
        without_cost=len(found) - len(costs),
        outcomes=dict(Counter(row.outcome for row in found if row.outcome).most_common()),
    )
