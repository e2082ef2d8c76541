"""Choosing: which of the problems in a failed sample is called its cause.

What ended the run comes first, then what a reference or a rule proves, then what visibly went wrong. Samples that
passed are the control group: a problem that is as common in them is not a cause, and of several the rarest in them is
chosen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pantrace.model import Record

from .finding import ABOUT_REFERENCE, ABOUT_TOOLS, NOTHING_EXPECTED, Finding
from .sample import Diagnosed

Key = tuple[str, str]
"""Cause and subject."""

ENOUGH = 5
"""With fewer passed samples, a problem that is as common in them is not yet called harmless."""
HARMLESS_EXTRA = 0.05
"""If more than this share of the passed samples has an unexpected call, it cannot be a cause."""
OFTEN = 3
"""In fewer samples than this, the frequency of a problem says nothing."""
LITTLE = 0.2
"""Up to this doubt, a finding counts as if no passed sample had it."""
RARE = 0.5
"""The doubt of an unexpected call that is too rare to judge by its frequency."""
HARMLESS = float("inf")
KEPT = 100
"""How many findings of samples without a verdict are kept, of each kind."""
_ENDINGS = ("run_error", "blocked", "cancelled")
_WEAK = ("loop", *ABOUT_TOOLS, "open_call", "no_answer", *ABOUT_REFERENCE)
"""Problems that good runs may have, too."""
_ORDER = (
    *_ENDINGS,
    *ABOUT_REFERENCE,
    "contract",
    "rule",
    "loop",
    *ABOUT_TOOLS,
    "gave_up",
    "claimed_done",
    "limit",
    "open_call",
    "abandoned",
    "no_answer",
    "stated",
    "partly_done",
    "answer",
)
"""What explains most comes first: what ended the run, what a reference or a rule proves, what visibly went wrong, how
it ended, who was not satisfied."""
UNKNOWN = Finding(cause="unknown")


class Failure(Record, frozen=True, kw_only=True):
    """A failed sample, with the cause that was chosen for it."""

    diagnosed: Diagnosed
    main: Finding


@dataclass
class Tally:
    """Counts samples while they are read. Of passed samples only counts are kept, so that memory stays small."""

    failed: list[Diagnosed] = field(default_factory=list)
    passed: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)
    """Why samples could not be judged -> how many."""
    unjudged_examples: dict[str, list[str]] = field(default_factory=dict)
    not_run: int = 0
    seen_in_passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen_in_unjudged: Counter[Key] = field(default_factory=Counter)
    """Problems in samples that could not be judged, even if they were corrected later."""
    unjudged_findings: dict[Key, list[tuple[Diagnosed, Finding]]] = field(default_factory=dict)
    """Some of these problems, with their samples."""

    def add(self, found: Diagnosed) -> None:
        status = found.verdict.status
        if status == "failed":
            self.failed.append(found)
        elif status == "passed":
            self.passed += 1
            self.seen_in_passed.update({each.key for each in found.findings if not each.mended})
        elif status == "not_run":
            self.not_run += 1
        else:
            self.unjudged[found.verdict.why] += 1
            examples = self.unjudged_examples.setdefault(found.verdict.why, [])
            if len(examples) < OFTEN:
                examples.append(found.sample)
            # Each kind once for a sample: reversed, so that the first of its kind wins.
            for each in {one.key: one for one in reversed(found.findings)}.values():
                self.seen_in_unjudged[each.key] += 1
                known = self.unjudged_findings.setdefault(each.key, [])
                if len(known) < KEPT:
                    known.append((found, each))

    def failures(self) -> list[Failure]:
        """The failed samples, each with its cause."""
        seen = Counter(key for each in self.failed for key in {one.key for one in each.findings if not one.mended})
        doubts = {key: self._doubt(key, count) for key, count in seen.items()}
        return [Failure(diagnosed=each, main=_main(each, doubts)) for each in self.failed]

    def _doubt(self, key: Key, failed: int) -> float:
        """How common a problem is in passed samples, relative to failed ones: 0 if no passed sample has it, HARMLESS if
        it cannot be a cause."""
        passed = self.seen_in_passed[key]
        doubt = passed / max(self.passed, 1) / (failed / len(self.failed))
        if self.passed >= ENOUGH and passed >= OFTEN and key[0] in _WEAK and doubt >= 1:
            return HARMLESS
        if key[0] == "extra_call":
            if self.passed >= ENOUGH and passed / self.passed > HARMLESS_EXTRA:
                return HARMLESS
            # Most unexpected calls only look something up. Only many samples can tell which of them do harm.
            return doubt if self.passed >= ENOUGH and failed >= OFTEN else RARE
        return doubt


def _main(found: Diagnosed, doubts: dict[Key, float]) -> Finding:
    seen = [each for each in found.findings if not each.mended and doubts[each.key] < HARMLESS]
    expected = {each.subject for each in seen if each.cause in ("wrong_call", "missing_call")}
    stopped = any(each.cause == "limit" and each.hard for each in seen)
    # A run that was stopped by a limit is explained by what kept it busy, not by the expected calls it did not reach.
    order = list(dict.fromkeys((*_ENDINGS, "loop", "tool_error", "limit", *_ORDER))) if stopped else list(_ORDER)

    def rank(finding: Finding) -> tuple[float, float]:
        cause = "wrong_call" if finding.cause in ABOUT_REFERENCE else finding.cause
        doubt = doubts[finding.key] if doubts[finding.key] > LITTLE else 0.0
        place: float = order.index("tool_error" if cause in ABOUT_TOOLS else cause)
        if cause in ABOUT_TOOLS and finding.subject in expected and not stopped:
            # If an expected call was tried and failed, its failure is the explanation, so it ranks just before.
            place = order.index("wrong_call") - 0.5
        elif finding.cause == "extra_call" and doubt and finding.what != NOTHING_EXPECTED:
            place = order.index("stated") - 0.5
        return place, doubt

    # Findings are in the order of events, and `min` returns the first of equal rank: what happened first.
    return min(seen, key=rank, default=UNKNOWN)
