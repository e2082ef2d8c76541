"""Repeated trials: pass@k (one of k succeeds) and pass^k (all k succeed), per task and over tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import comb

from .estimate import CONFIDENCE, Estimate, TooFew
from .proportions import share_over_cases


def pass_at_k(trials: int, successes: int, k: int) -> float:
    """Chance that at least one of k trials succeeds, from a task's own counts."""
    _enough(trials, k)
    return 1.0 - comb(trials - successes, k) / comb(trials, k)


def pass_hat_k(trials: int, successes: int, k: int) -> float:
    """Chance that all of k trials succeed (pass^k), from a task's own counts."""
    _enough(trials, k)
    return comb(successes, k) / comb(trials, k)


def _enough(trials: int, k: int) -> None:
    if k < 1 or trials < k:
        raise TooFew(f"{trials} trials do not allow k = {k}")


def pass_k(
    tasks: Iterable[tuple[int, int]], k: int, of: Callable[[int, int, int], float], confidence: float = CONFIDENCE
) -> Estimate:
    """The mean over tasks (trials, successes) that have at least k trials; how many have not is noted."""
    counted = list(tasks)
    enough = [(trials, successes) for trials, successes in counted if trials >= k]
    # Many tasks have the same counts: each pair of them is asked for once.
    chances = {each: of(*each, k) for each in set(enough)}
    values = [chances[each] for each in enough]
    if not values:
        raise TooFew(f"no task has {k} trials")
    found = share_over_cases(values, sum(trials for trials, _ in enough), confidence)
    left = len(counted) - len(values)
    note = f"{left} tasks have fewer than {k} trials" if left else found.note
    return Estimate(value=found.value, low=found.low, high=found.high, n=found.n, method="Wilson over tasks", note=note)
