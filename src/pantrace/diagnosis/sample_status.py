"""The status of a sample: did it fail, and who says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pantrace.matching.recorded_data import recording_of
from pantrace.metrics import by_name
from pantrace.model import Decision, Record, Sample

from .finding import ABOUT_REFERENCE, Finding
from .scored import failed_by

Says = Literal["decision", "outcome", "error", "score", "reference", "finding"]


class SampleStatus(Record, frozen=True, kw_only=True):
    """Whether a sample failed."""

    status: Literal["failed", "passed", "unjudged", "not_run"]
    by: Says | None = None
    """What says so: a decision of the run, the recorded outcome, an error that ended it, a score of the source, the
    reference, or something in the recording that a good run cannot have. None: nothing does."""
    why: str = ""


def status_of(sample: Sample, decisions: Sequence[Decision], findings: Sequence[Finding]) -> SampleStatus:
    """The first answer in this order: a decision, the source, the recording itself."""
    found = _first_answer(sample, decisions, findings)
    undecided = next((each for each in decisions if each.passed is None), None)
    # As in a gate, what could not be decided has not passed; but what went wrong in it is still worth explaining.
    if undecided is not None and found.status in ("passed", "unjudged"):
        return SampleStatus(status="unjudged", why=f"{undecided.profile} could not decide")
    return found


def _first_answer(sample: Sample, decisions: Sequence[Decision], findings: Sequence[Finding]) -> SampleStatus:
    if sample.trajectory is None:
        return SampleStatus(status="not_run", why="the case was not run")
    decided = [each.passed for each in decisions]
    if False in decided:
        against = next(each for each in decisions if each.passed is False)
        return SampleStatus(status="failed", by="decision", why=f"{against.profile}: {'; '.join(against.reasons)}")
    if decided and all(each is True for each in decided):
        return SampleStatus(status="passed", by="decision")
    outcome = sample.trajectory.outcome
    # The metric `outcome` does not apply to a run that broke down, but a diagnosis has to explain it.
    if outcome is not None and outcome.status in ("error", "cancelled"):
        return SampleStatus(status="failed", by="error", why=outcome.reason or outcome.status)
    recorded = by_name("outcome").score(sample)
    if recorded.status == "scored" and outcome is not None:
        why = outcome.reason or outcome.status
        return SampleStatus(status="passed" if recorded.value else "failed", by="outcome", why=why)
    stored = [(score.name, failed) for score in sample.scores if (failed := failed_by(score)) is not None]
    if stored:
        low = [name for name, failed in stored if failed]
        return SampleStatus(status="failed" if low else "passed", by="score", why=", ".join(low))
    if recorded.status == "scored" and len(sample.scores) == 1:
        return SampleStatus(status="passed" if recorded.value else "failed", by="score", why=sample.scores[0].name)
    # Nobody has judged the sample: it failed only if the recording shows something that a good run cannot have.
    hard = [each for each in findings if each.hard and not each.mended]
    if hard:
        by: Says = "finding"
        if all(each.cause in ABOUT_REFERENCE for each in hard):
            by = "reference"
        elif hard[0].cause in ("run_error", "blocked"):
            by = "error"
        return SampleStatus(status="failed", by=by, why=hard[0].detail)
    why = "the recording does not say how it ended, and nothing in it is clearly wrong"
    if not recording_of(sample.trajectory).has_acted:
        why = "the recording has nothing that the agent did"
    return SampleStatus(status="unjudged", why=why)
