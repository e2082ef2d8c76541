"""Verdicts for a comparison: how a sample ended and whether it passed, as scores derived from what it has."""

from __future__ import annotations

from msgspec.structs import replace

from pantrace.metrics import by_name
from pantrace.model import Sample, Scale, Score

OUTCOME = "outcome"
"""The metric of how a run ended, which a recording states without being measured."""

MISHAPS = ("outcome.limit", "outcome.broken")
"""Measures of mishaps, which are compared only if one happened."""

SUCCESS = "outcome.success"
"""The measure of whether a run succeeded."""

PASSED = "passed"
"""Whether the only verdict in a sample's source is a pass."""


def with_outcome(sample: Sample) -> Sample:
    """A sample with how it ended, and whether its only stored verdict is a pass, as additional scores; existing scores
    stay as they are."""
    added: list[Score] = []
    names = {score.name for score in sample.scores}
    if OUTCOME not in names:
        found = by_name(OUTCOME).score(sample)
        stated = sample.trajectory is not None and sample.trajectory.outcome is not None
        if not stated or "reward" in names:
            # Its stored scores say the same, and two tests of one number would make both harder to prove.
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
