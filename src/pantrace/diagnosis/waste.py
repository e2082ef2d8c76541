"""Waste: steps, tokens and cost after the step that went wrong."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from pantrace.catalog import catalog, cost_usd
from pantrace.matching.recorded_data import recording_of
from pantrace.model import Usage, total_tokens

from .finding import Waste
from .numbered import Numbered


class Spending:
    """What each step of a sample cost, in the order of events and summed from the end, so that each finding needs only
    one lookup."""

    def __init__(self, numbered: Numbered) -> None:
        self._order = numbered.order
        assert numbered.trajectory is not None
        recording = recording_of(numbered.trajectory)
        self._steps = sorted(self._order[step.id or ""] for step in recording.responses)
        self._silent = sorted(self._order[step.id or ""] for step in recording.silent)
        spent = [
            (self._order[step.id or ""], total_tokens(usage), _cost(usage, model, step.at))
            for model, step, usage in recording.model_calls
        ]
        spent.sort(key=lambda each: each[0])
        self._places = [place for place, _, _ in spent]
        self._tokens = _from_the_end([tokens for _, tokens, _ in spent])
        self._costs = _from_the_end([cost for _, _, cost in spent])

    def behind(self, address: str) -> Waste:
        """Everything that was spent after a step."""
        place = self._order[address]
        steps = len(self._steps) - bisect_right(self._steps, place)
        if not self._places:
            return Waste(steps=steps)
        first = bisect_right(self._places, place)
        calls = len(self._places) - first
        (tokens, without_tokens), (cost, without_cost) = self._tokens[first], self._costs[first]
        silent = len(self._silent) - bisect_right(self._silent, place)
        return Waste(
            steps=steps,
            # If no call reports its tokens, the sum is unknown and not 0.
            tokens=None if calls and without_tokens == calls else int(tokens),
            cost_usd=None if calls and without_cost == calls else cost,
            partial=bool(silent or without_tokens or 0 < without_cost < calls),
        )


def _from_the_end(numbers: Sequence[float | None]) -> list[tuple[float, int]]:
    """For each position, the sum of the known numbers from there on, and how many are unknown; 0 after the last."""
    found: list[tuple[float, int]] = [(0, 0)]
    for number in reversed(numbers):
        total, unknown = found[-1]
        found.append((total, unknown + 1) if number is None else (total + number, unknown))
    return found[::-1]


def _cost(usage: Usage, model: str | None, at: float | None) -> float | None:
    """By the price table, otherwise as reported. A reported 0 may mean that the program knew no price."""
    priced = catalog().find(model)
    if priced is not None and (usage.input is not None or usage.output is not None):
        return cost_usd(usage, priced, at=at)
    return usage.cost_usd or None
