"""Compare's verdicts: how a sample ended, and whether it passed, as scores that follow from what it has."""

from __future__ import annotations

from msgspec.structs import replace

from pantrace.metrics import by_name
from pantrace.model import Sample, Scale, Score

OUTCOME = "outcome"
"""The metric of how a run ended, which recordings tell without being measured."""

MISHAPS = ("outcome.limit", "outcome.broken")
"""Measures of what should not happen, which are compared where it did."""

PASSED = "passed"
"""Whether a sample's one verdict, which came with it, is a pass."""


def with_outcome(sample: Sample) -> Sample:
    """A recording's sample with how it ended, and whether its one stored verdict is a pass, as scores; what was
    measured before stays as it is."""
    added: list[Score] = []
    names = {score.name for score in sample.scores}
    if OUTCOME not in names:
        found = by_name(OUTCOME).score(sample)
        told = sample.trajectory is not None and sample.trajectory.outcome is not None
        if not told or "reward" in names:
            # The scores that it stores say the same; two tests of one number would make both harder to prove.
            mishaps = {name: number for name, number in found.values.items() if f"{OUTCOME}.{name}" in MISHAPS}
            found = replace(found, value=None, status="not_applicable", values=mishaps)
        added.append(found)
    verdicts = [score.passed for score in sample.scores if score.passed is not None and score.status == "scored"]
    if len(verdicts) == 1 and PASSED not in names:
        added.append(passed_score(verdicts[0]))
    return replace(sample, scores=(*sample.scores, *added)) if added else sample


def passed_score(passed: bool) -> Score:
    """A verdict as a score."""
    return Score(name=PASSED, value=passed, scale=Scale(low=0, high=1))
