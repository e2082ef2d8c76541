"""Decisions in words: what a gate asks for first, the share over cases, then the counts of samples beside it."""

from __future__ import annotations

from collections.abc import Collection
from math import fsum

from pantrace.model import in_words

from .summary import DecisionSummary


def decision_words(decisions: Collection[DecisionSummary]) -> str:
    """7 of 10 samples passed demo-profile (70 %, 95 % interval 40 to 89), 3 failed. Where cases were repeated: 50 % of
    2 cases passed demo-profile, repeats averaged (95 % interval 10 to 90); of 10 samples, 9 passed, 1 failed."""
    passed, failed, undecided = _counts(decisions)
    total = passed + failed + undecided
    only = next(iter(decisions)) if len(decisions) == 1 else None
    by = f" {only.profile}" if only is not None else ""
    if (first := over_cases(decisions)) is not None:
        rate = _rate(only, first=False) if only is not None else ""
        return f"{first} passed{by}, repeats averaged{rate}; of {total:,} samples, {_told(decisions)}"
    rate = _rate(only, first=True) if only is not None else ""
    told = [f"{passed:,} of {total:,} sample{'' if total == 1 else 's'} passed{by}{rate}"]
    told += [f"{failed:,} failed"] if failed else []
    told += [f"{undecided:,} could not be decided"] if undecided else []
    return ", ".join(told)


def verdict_words(decision: DecisionSummary) -> str:
    """demo-profile: 7 passed, 3 failed. Where cases were repeated, their share stands first."""
    first = over_cases([decision])
    if first is None:
        return f"{decision.profile}: {_told([decision])}"
    return (
        f"{decision.profile}: {first}, repeats averaged; of {sum(_counts([decision])):,} samples, {_told([decision])}"
    )


def over_cases(decisions: Collection[DecisionSummary]) -> str | None:
    """50 % of 2 cases: what a gate asks for. None where no case was repeated, and samples are
    cases."""
    cases = sum(each.cases for each in decisions)
    if sum(_counts(decisions)) <= cases:
        return None
    least = fsum(each.pass_rate * each.cases for each in decisions) / cases
    return f"{in_words(least, 'share')} of {cases:,} case{'' if cases == 1 else 's'}"


def _counts(decisions: Collection[DecisionSummary]) -> tuple[int, int, int]:
    return (
        sum(each.passed for each in decisions),
        sum(each.failed for each in decisions),
        sum(each.undecided for each in decisions),
    )


def _told(decisions: Collection[DecisionSummary]) -> str:
    counts = zip(_counts(decisions), ("passed", "failed", "could not be decided"), strict=True)
    return ", ".join(f"{count:,} {words}" for count, words in counts if count)


def _rate(decision: DecisionSummary, *, first: bool) -> str:
    """The share of those decided with its interval; the share itself only where nothing before has said it."""
    rate = decision.rate
    if rate is None:
        return ""
    told = []
    if first or decision.undecided:
        told.append(in_words(rate.value, "share") + (" of those decided" if decision.undecided else ""))
    if rate.low is not None and rate.high is not None:
        low, high = (in_words(end, "share").removesuffix(" %") for end in (rate.low, rate.high))
        told.append(f"95 % interval {low} to {high}")
    return f" ({', '.join(told)})" if told else ""
