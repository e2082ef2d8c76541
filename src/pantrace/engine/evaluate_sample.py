"""Evaluate one sample: measure, check, decide."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pantrace.judges import Calibrations
from pantrace.metrics import measure_named
from pantrace.model import Case, Decision, Measure, Sample, Score
from pantrace.policy import Profile, decide
from pantrace.rules import rule_scores

from .all_scores import all_scores
from .measure import scores_of
from .plan import Ready, profile_for


def evaluate_sample(sample: Sample, ready: Ready, judged: Iterable[Score] = ()) -> tuple[list[Score], list[Decision]]:
    """Our scores for a sample together with those of the judges, and the resulting decisions."""
    scores = scores_of(sample, ready.checks)
    for rules in ready.rules:
        scores += rule_scores(sample, rules)
    scores += judged
    # A required eval without any score must be visible, or a case would pass because nobody judged it.
    scores += scores_still_missing(sample, scores)
    decision = decision_of(sample, scores, ready)
    return scores, [decision] if decision is not None else []


def scores_still_missing(sample: Sample, scores: Iterable[Score]) -> list[Score]:
    """An unscored score for each eval that the case requires and that has no score."""
    required = sample.case.required_evals if sample.case is not None else None
    have = {score.name for score in scores} | {score.name for score in sample.scores}
    return [
        Score(name=name, status="unscored", explanation="no judge configured")
        for name in required or ()
        if name not in have
    ]


def decision_of(sample: Sample, scores: Iterable[Score], ready: Ready) -> Decision | None:
    """The decision by the profile that the case names, otherwise by the plan's; None if there is nothing to decide."""
    named = sample.case.profile if sample.case is not None else None
    profile = profile_for(ready, named)
    if profile is None:
        if named is None or not ready.plan.decide.case_profiles:
            return None
        # An unknown profile must not fall back to another one: then it cannot be decided.
        return Decision(
            sample=sample.id, profile=named, passed=None, reasons=(f"there is no profile {named!r} to decide by",)
        )
    return decide_sample(sample, scores, profile, ready.calibrations)


def decide_sample(sample: Sample, scores: Iterable[Score], profile: Profile, calibrations: Calibrations) -> Decision:
    """The decision on a sample by our scores and those of its source, with what its case requires."""
    case = sample.case or Case()
    return decide(
        sample.id,
        calibrations.stamped(all_scores(sample, scores)),
        profile,
        required=case.required_evals or (),
        contract=case.contract,
        measures=_measures(profile),
    )


@lru_cache(maxsize=64)
def _measures_by_name(names: tuple[str, ...]) -> dict[str, Measure]:
    return {name: found for name in names if (found := measure_named(name)) is not None}


def _measures(profile: Profile) -> dict[str, Measure]:
    """The measure that each name in a profile means; names of rubrics, rules and plugins mean their scores."""
    return _measures_by_name(tuple(profile.metrics))
