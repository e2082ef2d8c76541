"""Reliability: pass@k and pass^k of cases that were tried several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pantrace.model import Record
from pantrace.stats import Estimate, pass_at_k, pass_hat_k
from pantrace.stats.passk import pass_k_of_counts
from pantrace.wire.plural import few

LONGEST = 20
"""The largest k that is reported."""


class Reliability(Record, frozen=True, kw_only=True):
    """How often one of k trials of a case succeeds, and how often all do."""

    cases: int
    trials: int
    pass_at: dict[str, Estimate]
    """k -> pass@k, the chance that at least one of k trials succeeds, over the cases with that many."""
    pass_hat: dict[str, Estimate]
    """k -> pass^k, the chance that all of k trials succeed."""


def reliability_of(counted: Iterable[tuple[int, int, int]]) -> Reliability | None:
    """From (trials, successes, number of cases). None if no case was tried twice."""
    tasks: Counter[tuple[int, int]] = Counter()
    for trials, successes, cases in counted:
        tasks[trials, successes] += cases
    longest = min(max((trials for trials, _ in tasks), default=0), LONGEST)
    if longest < 2:
        return None
    return Reliability(
        cases=tasks.total(),
        trials=sum(trials * cases for (trials, _), cases in tasks.items()),
        pass_at={str(k): pass_k_of_counts(tasks, k, pass_at_k) for k in range(1, longest + 1)},
        pass_hat={str(k): pass_k_of_counts(tasks, k, pass_hat_k) for k in range(1, longest + 1)},
    )


def reliability_words(found: Reliability) -> str:
    """pass^1 42 %, pass^4 20 % [11, 33]; pass@4 60 %."""

    def words(sign: str, k: str, estimate: Estimate) -> str:
        span = ""
        if estimate.low is not None and estimate.high is not None:
            span = f" [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"
        return f"pass{sign}{k} {100 * estimate.value:.1f} %{span}"

    last = list(found.pass_hat)[-1]
    shown = list(dict.fromkeys(["1", "2", last]))
    all_of = ", ".join(words("^", k, found.pass_hat[k]) for k in shown)
    # pass@1 is pass^1, so it is not repeated.
    one_of = ", ".join(words("@", k, found.pass_at[k]) for k in shown[1:])
    return f"{all_of}; {one_of} ({few(found.cases, 'case')}, {few(found.trials, 'trial')})"
