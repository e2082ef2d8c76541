"""The diagnosis of one sample: whether it failed, and all its problems."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pantrace.model import Decision, Record, Sample, Score, is_agents

from .against_reference import reference_findings
from .calls import call_findings
from .ending import ending_findings
from .finding import Finding
from .numbered import Numbered
from .sample_status import SampleStatus, status_of
from .scored import scored_findings
from .waste import Spending


class Diagnosed(Record, frozen=True, kw_only=True):
    """What is kept of a sample. Its recording is not kept, so that memory stays small."""

    number: int
    """0-based place among all samples, in reading order."""
    sample: str
    epoch: int | None = None
    source: str | None = None
    """File or run directory it was read from."""
    verdict: SampleStatus
    findings: tuple[Finding, ...] = ()
    """In the order in which they happened."""


def diagnose_sample(
    sample: Sample,
    scores: Sequence[Score] = (),
    decisions: Sequence[Decision] = (),
    *,
    number: int = 0,
    source: str | None = None,
) -> Diagnosed:
    """Everything that one sample shows on its own. `scores` are those that a run computed for it."""
    numbered = Numbered(sample)
    found = _findings(numbered, scores, decisions)
    return Diagnosed(
        number=number,
        sample=sample.id,
        epoch=sample.epoch,
        source=source,
        verdict=status_of(numbered.sample, decisions, found),
        findings=tuple(found),
    )


def _findings(numbered: Numbered, scores: Sequence[Score], decisions: Sequence[Decision]) -> list[Finding]:
    trajectory = numbered.trajectory
    if trajectory is None:
        return []
    last = next((step.id for step in reversed(trajectory.steps) if is_agents(step)), None)
    found = [
        *ending_findings(numbered.sample),
        *call_findings(numbered.sample),
        *reference_findings(numbered.sample),
        *scored_findings(numbered, scores, decisions, last),
    ]
    # Adding up the spending is needed only if a finding can have waste after it.
    spending = Spending(numbered) if any(each.address and not each.omission for each in found) else None
    located = [_located(each, numbered, spending) for each in found]
    return sorted(located, key=lambda each: numbered.order.get(each.address or "", (len(numbered.order) + 1,)))


def _located(finding: Finding, numbered: Numbered, spending: Spending | None) -> Finding:
    if finding.address is None:
        return finding
    place = numbered.place(finding.address)
    if finding.omission or spending is None:
        return msgspec.structs.replace(finding, place=place)
    return msgspec.structs.replace(finding, place=place, waste=spending.behind(finding.address))
