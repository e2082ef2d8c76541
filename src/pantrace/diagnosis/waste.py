"""Waste: steps, tokens and cost behind the step at which a run went wrong."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from pantrace.catalog import catalog, cost_usd
from pantrace.matching.recording import recording_of
from pantrace.model import Usage, total_tokens

from .finding import Waste
from .numbered import Numbered


class Spending:
    """What each step of a sample cost, in the order of events."""

    def __init__(self, numbered: Numbered) -> None:
        self._order = numbered.order
        assert numbered.trajectory is not None
        recording = recording_of(numbered.trajectory)
        self._steps = sorted(self._order[step.id or ""] for step in recording.responses)
        spent = [
            (self._order[step.id or ""], total_tokens(usage), _cost(usage, model, step.at))
            for model, step, usage in recording.model_calls
        ]
        self._spent = sorted(spent, key=lambda each: each[0])
        self._silent = sorted(self._order[step.id or ""] for step in recording.silent)

    def behind(self, address: str) -> Waste:
        """All that was spent after a step."""
        place = self._order[address]
        steps = len(self._steps) - bisect_right(self._steps, place)
        if not self._spent:
            return Waste(steps=steps)
        spent = self._spent[bisect_right(self._spent, place, key=lambda each: each[0]) :]
        tokens = [each[1] for each in spent]
        costs = [each[2] for each in spent]
        silent = len(self._silent) - bisect_right(self._silent, place)
        return Waste(
            steps=steps,
            tokens=_sum(tokens),
            cost_usd=_sum(costs),
            partial=bool(silent or None in tokens or (None in costs and any(each is not None for each in costs))),
        )


def _sum(numbers: Sequence[Any]) -> Any:
    """The sum of those that are known; None where some should be and none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known or not numbers else None


def _cost(usage: Usage, model: str | None, at: float | None) -> float | None:
    """By the price table, else as reported; a reported 0 may mean that the program knew no price."""
    priced = catalog().find(model)
    if priced is not None and (usage.input is not None or usage.output is not None):
        return cost_usd(usage, priced, at=at)
    return usage.cost_usd or None
