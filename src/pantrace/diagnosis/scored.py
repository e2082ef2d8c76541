"""What scores and decisions say: broken contracts and rules, and numbers that are not good enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pantrace.metrics import by_name
from pantrace.model import Decision, Sample, Score
from pantrace.wire.inspect_grades import GRADES

from .finding import Finding
from .numbered import Numbered
from .signature import shortened, signature

CONTRACT = "output_contract"


def scored_findings(
    numbered: Numbered, scores: Sequence[Score], decisions: Sequence[Decision], last: str | None
) -> Iterator[Finding]:
    """All findings of a sample from its own scores and those of the run."""
    sample = numbered.sample
    every = (*sample.scores, *scores)
    yield from _contract(sample, every, last)
    for score in scores:
        if score.passed is False and "rule" in score.details:
            steps = [address for each in score.evidence if (address := numbered.address_of(each)) is not None]
            first = min(steps, key=numbered.order.__getitem__, default=None)
            text = score.explanation or "broken"
            yield Finding(
                cause="rule",
                subject=score.name,
                what=signature(text),
                detail=shortened(text),
                address=first or last,
                hard=True,
                omission=first is None,
            )
    # A decision names its reasons, so single low scores would only repeat it.
    failing = [reason for each in decisions if each.passed is False for reason in each.reasons]
    if failing:
        names = dict.fromkeys(name for each in decisions if each.passed is False for name in _named(each, every))
        yield _low(", ".join(names) or decisions[0].profile, "; ".join(failing), last)
        return
    outcome = sample.trajectory.outcome if sample.trajectory is not None else None
    reward = outcome.reward if outcome is not None else None
    # A score that only repeats the reward does not explain why the sample failed.
    low = [score for score in sample.scores if failed_by(score) is True and (reward is None or score.value != reward)]
    if low:
        text = "; ".join(f"{each.name}: {each.explanation or each.value}" for each in low)
        yield _low(", ".join(dict.fromkeys(each.name for each in low)), text, last)


def _low(names: str, text: str, last: str | None) -> Finding:
    return Finding(
        cause="answer", subject=names, what=signature(text), detail=shortened(text), address=last, omission=True
    )


def _named(decision: Decision, scores: Sequence[Score]) -> Iterator[str]:
    """Names of the scores that a decision's reasons mention."""
    reasons = " ".join(decision.reasons)
    for name in dict.fromkeys((*decision.deciding, *(score.name for score in scores))):
        if f"{name}=" in reasons or f"{name} " in reasons:
            yield name


def failed_by(score: Score) -> bool | None:
    """Whether a score of the source says that the sample failed; None if it does not say."""
    # A number without a threshold says nothing: 0.4 may be good. Only `passed` and Inspect's C and I are verdicts.
    if score.status != "scored" or (score.maker is not None and score.maker.kind == "check"):
        return None
    if score.passed is not None:
        return not score.passed
    return {"C": False, "I": True}.get(score.value) if isinstance(score.value, str) and score.value in GRADES else None


def _contract(sample: Sample, scores: Sequence[Score], last: str | None) -> Iterator[Finding]:
    score = next((each for each in scores if each.name == CONTRACT), None)
    if score is None:
        if sample.case is None or sample.case.contract is None:
            return
        # No run has checked the contract, and checking it is cheap.
        score = by_name(CONTRACT).score(sample)
    if score.status != "scored" or score.value is not False:
        return
    violations = score.details.get("violations")
    first = violations[0] if isinstance(violations, list) and violations else {}
    message = str(first.get("message") or score.explanation or "broken") if isinstance(first, dict) else "broken"
    yield Finding(
        cause="contract",
        subject=str(score.details.get("contract") or (sample.case and sample.case.contract) or ""),
        what=signature(message),
        detail=shortened(score.explanation or message),
        address=last,
        hard=True,
        omission=True,
    )
