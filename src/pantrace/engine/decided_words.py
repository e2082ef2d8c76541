"""Decisions in words: first the share of cases, which a gate uses, then the counts of samples."""

from __future__ import annotations

from collections.abc import Collection
from math import fsum

from pantrace.model import in_words

from .summary import DecisionSummary, EvalSummary, pass_rates


def decision_words(decisions: Collection[DecisionSummary]) -> str:
    """7 of 10 samples passed demo-profile (70 %, 95 % interval 40 to 89), 3 failed. If cases were repeated: 50 % of 2
    cases passed demo-profile, repeats averaged (95 % interval 10 to 90); of 10 samples, 9 passed, 1 failed."""
    passed, failed, undecided = _counts(decisions)
    total = passed + failed + undecided
    only = next(iter(decisions)) if len(decisions) == 1 else None
    by = f" {only.profile}" if only is not None else ""
    if (first := over_cases(decisions)) is not None:
        rate = _rate(only, first=False) if only is not None else ""
        return f"{first} passed{by}, repeats averaged{rate}; of {total:,} samples, {_count_words(decisions)}"
    rate = _rate(only, first=True) if only is not None else ""
    words = [f"{passed:,} of {total:,} sample{'' if total == 1 else 's'} passed{by}{rate}"]
    words += [f"{failed:,} failed"] if failed else []
    words += [f"{undecided:,} could not be decided"] if undecided else []
    return ", ".join(words)


def verdict_words(decision: DecisionSummary) -> str:
    """demo-profile: 7 passed, 3 failed. If cases were repeated, their share comes first."""
    first = over_cases([decision])
    if first is None:
        return f"{decision.profile}: {_count_words([decision])}"
    samples = f"of {sum(_counts([decision])):,} samples, {_count_words([decision])}"
    return f"{decision.profile}: {first}, repeats averaged; {samples}"


def rate_words(summary: EvalSummary) -> str:
    """28.6 % passed, up to 71.4 % if the 3 undecided pass: what a gate compares with its rate. Empty if the counts of
    one profile say it already."""
    _, _, undecided = _counts(summary.decisions)
    undecided += summary.denominator.refused
    if not summary.decisions or (not undecided and len(summary.decisions) == 1):
        return ""
    least, most = pass_rates(summary)
    words = f"{in_words(least, 'share')} passed"
    if not undecided:
        return words
    which = "the undecided one passes" if undecided == 1 else f"the {undecided:,} undecided pass"
    return f"{words}, up to {in_words(most, 'share')} if {which}"


def why_none_decided(summary: EvalSummary) -> str:
    """Why a summary has no decision, the first cause first."""
    denominator = summary.denominator
    if summary.samples:
        return "no case names a profile"
    if left := sum(denominator.left_out.values()):
        samples = f"{left:,} sample{' was' if left == 1 else 's were'}"
        return f"nothing was evaluated: {samples} left out ({', '.join(denominator.left_out)})"
    if denominator.refused:
        return f"nothing was evaluated: {denominator.refused:,} could not be read"
    return "nothing was evaluated: there is no sample"


def over_cases(decisions: Collection[DecisionSummary]) -> str | None:
    """50 % of 2 cases: what a gate uses. None if no case was repeated, so that samples are cases."""
    cases = sum(each.cases for each in decisions)
    # Without repeats, samples and cases are the same, and two numbers would only confuse.
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


def _count_words(decisions: Collection[DecisionSummary]) -> str:
    counts = zip(_counts(decisions), ("passed", "failed", "could not be decided"), strict=True)
    return ", ".join(f"{count:,} {words}" for count, words in counts if count)


def _rate(decision: DecisionSummary, *, first: bool) -> str:
    """The share of decided samples with its interval; the share itself only if the sentence does not have it yet."""
    rate = decision.rate
    if rate is None:
        return ""
    words = []
    if first or decision.undecided:
        words.append(in_words(rate.value, "share") + (" of those decided" if decision.undecided else ""))
    if rate.low is not None and rate.high is not None:
        low, high = (in_words(end, "share").removesuffix(" %") for end in (rate.low, rate.high))
        words.append(f"95 % interval {low} to {high}")
    return f" ({', '.join(words)})" if words else ""
