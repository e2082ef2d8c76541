"""The diagnosis of all samples: how many failed, who says so, and the groups of causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from pantrace.model import Record

from .choosing import Failure, Tally
from .finding import Finding, Waste
from .groups import Example, Group, group, unjudged_groups


class Opinion(Record, frozen=True, kw_only=True):
    """What a judge says about a group."""

    root_cause: str | None = None
    change: str | None = None
    """What to change."""
    where: str | None = None
    """Where the change has to be made: prompt, tool, code, environment, reference, other."""
    evidence: tuple[dict[str, Any], ...] = ()
    """Steps that support it: sample, epoch, step, agent. Each was shown to the judge."""
    unfounded: int = 0
    """Steps that the judge named although it was not shown them."""
    model: str | None = None
    problem: str | None = None
    """Why there is no opinion."""


class Diagnosis(Record, frozen=True, kw_only=True):
    """Why samples failed."""

    samples: int
    failed: int
    passed: int
    unjudged: int
    """Samples for which nothing says whether they failed."""
    not_run: int
    failed_by: dict[str, int]
    """Who says so -> how many: decision, outcome, error, score, reference, finding."""
    unjudged_because: dict[str, int]
    unjudged_examples: dict[str, list[str]]
    seen_in_unjudged: tuple[Group, ...]
    """Problems in these samples, even if they were corrected; a sample can be in several groups."""
    groups: tuple[Group, ...]
    failures: tuple[Failure, ...]
    """Every failed sample, in reading order."""
    opinions: tuple[Opinion, ...] = ()
    """One for each group, if a judge was asked."""

    @property
    def sentence(self) -> str:
        """The answer."""
        if not self.samples:
            return "There was no sample to diagnose."
        of = f"{self.failed:,} of {self.samples:,} sample{'s' if self.samples != 1 else ''} failed"
        known = [each for each in self.groups if each.cause != "unknown"]
        if not self.failed:
            rest = "none passed or failed clearly" if not self.passed else f"{self.passed:,} passed"
            return f"No sample failed: {rest}."
        if not known:
            return f"{of}; the recordings do not show why."
        first = known[0]
        # "Most often (1)" would say nothing.
        if first.samples == 1 and len(self.groups) > 1:
            return f"{of}, each for a different reason."
        most = "" if len(self.groups) == 1 else f", most often ({first.samples:,})"
        return f"{of}{most}: {first.title}."

    @property
    def counts(self) -> str:
        """All samples: failed and who says so, passed, not judged, not run."""
        parts = []
        if self.failed:
            parts.append(f"{self.failed:,} failed ({failed_by_words(self.failed_by)})")
        # Always shown, even 0: whether anything passed decides how much the causes can be trusted.
        parts.append(f"{self.passed:,} passed")
        parts += [f"{count:,} not judged ({why})" for why, count in self.unjudged_because.items()]
        if self.not_run:
            parts.append(f"{self.not_run:,} not run")
        return "; ".join(parts)


_BY = {
    "decision": "by decision",
    "outcome": "by outcome",
    "error": "by an error",
    "score": "by a score",
    "reference": "by the reference",
    "finding": "by what the recording shows",
}


def failed_by_words(failed_by: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {_BY[by]}" if len(failed_by) > 1 else _BY[by] for by, count in failed_by.items())


def diagnosis_of(tally: Tally, examples: int) -> Diagnosis:
    """The diagnosis of all counted samples."""
    failures = tally.failures()
    by = Counter(each.diagnosed.verdict.by or "finding" for each in failures)
    return Diagnosis(
        samples=len(failures) + tally.passed + tally.unjudged.total() + tally.not_run,
        failed=len(failures),
        passed=tally.passed,
        unjudged=tally.unjudged.total(),
        not_run=tally.not_run,
        failed_by=_most_first(by.items()),
        unjudged_because=_most_first(tally.unjudged.items()),
        unjudged_examples=tally.unjudged_examples,
        seen_in_unjudged=tuple(unjudged_groups(tally, examples)),
        groups=tuple(group(failures, tally.seen_in_passed, examples)),
        failures=tuple(failures),
    )


def as_json(found: Diagnosis) -> dict[str, Any]:
    """The documented shape (docs/diagnose.md)."""
    groups = [_group_json(each) for each in found.groups]
    for each, opinion in zip(groups, found.opinions, strict=False):
        each["judge"] = msgspec.to_builtins(opinion)
    return {
        "sentence": found.sentence,
        "samples": found.samples,
        "failed": found.failed,
        "passed": found.passed,
        "unjudged": found.unjudged,
        "not_run": found.not_run,
        "failed_by": found.failed_by,
        "unjudged_because": [
            {"why": why, "samples": count, "examples": found.unjudged_examples.get(why, [])}
            for why, count in found.unjudged_because.items()
        ],
        "seen_in_unjudged": [
            {
                "cause": each.cause,
                "subject": each.subject or None,
                "title": each.title,
                "samples": each.samples,
                "examples": [_example_json(one) for one in each.examples],
            }
            for each in found.seen_in_unjudged
        ],
        "groups": groups,
        "failures": [_failure_json(each) for each in found.failures],
    }


def _group_json(each: Group) -> dict[str, Any]:
    return {
        "cause": each.cause,
        "subject": each.subject or None,
        "title": each.title,
        "certain": each.certain,
        "samples": each.samples,
        "share": each.share,
        "also_seen_in_failed": each.also,
        "seen_in_passed": each.passed,
        "wasted": _waste_json(each.waste) | {"samples_unknown": each.waste_unknown},
        "errors": [{"text": one.text, "samples": one.samples} for one in each.variants],
        "examples": [_example_json(one) for one in each.examples],
        "judge": None,
    }


def _example_json(example: Example) -> dict[str, Any]:
    return {
        "sample": example.sample,
        "epoch": example.epoch,
        "source": example.source,
        "step": example.place.step if example.place else None,
        "agent": example.place.agent if example.place else None,
        "detail": example.detail,
    }


def _waste_json(waste: Waste) -> dict[str, Any]:
    return {"steps": waste.steps, "tokens": waste.tokens, "cost_usd": waste.cost_usd, "partial": waste.partial}


def _failure_json(failure: Failure) -> dict[str, Any]:
    found, main = failure.diagnosed, failure.main
    return {
        "sample": found.sample,
        "epoch": found.epoch,
        "source": found.source,
        "by": found.verdict.by,
        "why": found.verdict.why,
        **_finding_json(main),
        "wasted": _waste_json(main.waste),
        "also": [_finding_json(each) | {"mended": each.mended} for each in found.findings if each is not main],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    place = finding.place
    return {
        "cause": finding.cause,
        "subject": finding.subject or None,
        "step": place.step if place else None,
        "agent": place.agent if place else None,
        "times": finding.times,
        "detail": finding.detail,
    }


def _most_first(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The largest count first; equal counts by name, because the order of samples depends on the file system."""
    return dict(sorted(counts, key=lambda each: (-each[1], each[0])))
