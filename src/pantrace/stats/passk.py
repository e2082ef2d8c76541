"""Repeated trials: pass@k (one of k succeeds) and pass^k (all k succeed), per task and over tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import comb, fsum

from msgspec.structs import replace

from .estimate import CONFIDENCE, Estimate, TooFew
from .proportions import _clustered_share


def pass_at_k(trials: int, successes: int, k: int) -> float:
    """Chance that at least one of k trials succeeds, from a task's own counts."""
    _enough(trials, k)
    # Not 1 - (1 - p)^k, which is biased for few trials. Integers are exact, and comb is 0 if there are fewer than k
    # failures.
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
    """The mean over tasks (trials, successes) with at least k trials; a note says how many have fewer."""
    return pass_k_of_counts(Counter(tasks), k, of, confidence)


def pass_k_of_counts(
    counted: Mapping[tuple[int, int], int],
    k: int,
    of: Callable[[int, int, int], float],
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The same from the number of tasks with each (trials, successes): there may be a million tasks, but few pairs."""
    # Each task's own number of trials counts. One number for all tasks (as tau-bench does) is wrong if trials are
    # missing.
    enough = [(of(*each, k), each[0], count) for each, count in counted.items() if each[0] >= k]
    cases = sum(count for _, _, count in enough)
    if not cases:
        raise TooFew(f"no task has {k} trials")
    value = fsum(share * count for share, _, count in enough) / cases
    squares = fsum((share - value) ** 2 * count for share, _, count in enough)
    error = squares / (cases - 1) / cases if cases > 1 else 0.0
    trials = sum(each * count for _, each, count in enough)
    found = _clustered_share(value, error, cases, trials, "Wilson over tasks", confidence)
    left = sum(counted.values()) - cases
    return replace(found, note=f"{left} tasks have fewer than {k} trials") if left else found
