"""Groups: failed samples by their cause, and how often passed samples have the same problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pantrace.model import Record

from .choosing import Failure, Tally
from .finding import Finding, Place, Waste, title_of
from .sample import Diagnosed
from .signature import shortened

_CERTAIN = (
    "run_error",
    "blocked",
    "cancelled",
    "limit",
    "contract",
    "rule",
    "wrong_call",
    "missing_call",
    "wrong_action",
    "gave_up",
    "open_call",
    "abandoned",
    "no_answer",
)
"""Causes that a recording or a reference proves, unless samples that passed show them, too."""


class Example(Record, frozen=True, kw_only=True):
    """One failed sample of a group."""

    sample: str
    epoch: int | None = None
    source: str | None = None
    place: Place | None = None
    detail: str = ""
    number: int = 0
    """0-based place among all samples, in reading order."""


class Variant(Record, frozen=True, kw_only=True):
    """Errors that are the same except for ids, paths and numbers."""

    text: str
    samples: int


class Group(Record, frozen=True, kw_only=True):
    """Failed samples with one cause."""

    cause: str
    subject: str
    title: str
    certain: bool
    """Whether the recording or the reference proves it; otherwise it was only seen."""
    samples: int
    share: float
    """Of all failed samples."""
    also: int
    """Failed samples that have this problem, too, but another cause."""
    passed: int
    """Passed samples with the same problem."""
    waste: Waste
    """Sum over the samples for which it is known."""
    waste_unknown: int
    """Samples of the group for which the tokens after the step are not known."""
    variants: tuple[Variant, ...]
    examples: tuple[Example, ...]


def group(failures: Sequence[Failure], seen_in_passed: Counter[tuple[str, str]], examples: int) -> list[Group]:
    """Failed samples by cause, the largest group first and those without a known cause last."""
    by_key: dict[tuple[str, str], list[Failure]] = {}
    for each in failures:
        by_key.setdefault(each.main.key, []).append(each)
    seen = Counter(key for each in failures for key in {one.key for one in each.diagnosed.findings if not one.mended})
    found = [
        _group(key, members, len(failures), seen[key], seen_in_passed[key], examples) for key, members in by_key.items()
    ]
    # The unknown group comes last even if it is the largest, because it explains nothing.
    return sorted(found, key=lambda each: (each.cause == "unknown", -each.samples, each.title))


def unjudged_groups(tally: Tally, examples: int) -> list[Group]:
    """Problems in samples that could not be judged, the most frequent first."""
    found = [
        Group(
            cause=key[0],
            subject=key[1],
            title=title_of(key[0], shortened(key[1], 60)),
            certain=False,
            samples=count,
            share=count / tally.unjudged.total(),
            also=0,
            passed=tally.seen_in_passed[key],
            waste=Waste(),
            waste_unknown=0,
            variants=(),
            examples=tuple(_example(*each) for each in tally.unjudged_findings[key][:examples]),
        )
        for key, count in tally.seen_in_unjudged.items()
    ]
    return sorted(found, key=lambda each: (-each.samples, each.title))


def _group(
    key: tuple[str, str], members: Sequence[Failure], failed: int, seen: int, passed: int, examples: int
) -> Group:
    cause, subject = key
    variants = Counter(each.main.what for each in members if each.main.what)
    return Group(
        cause=cause,
        subject=subject,
        title=title_of(cause, shortened(subject, 60)),
        # A single passed sample with the same problem is enough for doubt.
        certain=cause in _CERTAIN and not passed,
        samples=len(members),
        share=len(members) / failed,
        also=max(seen - len(members), 0),
        passed=passed,
        waste=_summed([each.main.waste for each in members]),
        waste_unknown=sum(each.main.waste.tokens is None for each in members),
        variants=tuple(
            Variant(text=text, samples=count)
            for text, count in sorted(variants.items(), key=lambda each: (-each[1], each[0]))
        ),
        examples=tuple(_example(each.diagnosed, each.main) for each in _chosen(members, examples)),
    )


def _chosen(members: Sequence[Failure], count: int) -> list[Failure]:
    """Examples of as many variants as possible, the most frequent first."""
    by_variant: dict[str, list[Failure]] = {}
    for each in members:
        by_variant.setdefault(each.main.what, []).append(each)
    rows = sorted(by_variant.values(), key=len, reverse=True)
    found: list[Failure] = []
    # One of each variant, then a second of each: the first three of a group are often the same error.
    for depth in range(max(map(len, rows), default=0)):
        for row in rows:
            if len(found) == count:
                return found
            if depth < len(row):
                found.append(row[depth])
    return found


def _example(found: Diagnosed, main: Finding) -> Example:
    return Example(
        sample=found.sample,
        epoch=found.epoch,
        source=found.source,
        place=main.place,
        detail=main.detail or found.verdict.why,
        number=found.number,
    )


def _summed(wastes: Iterable[Waste]) -> Waste:
    wastes = list(wastes)
    tokens = [each.tokens for each in wastes if each.tokens is not None]
    steps = [each.steps for each in wastes if each.steps is not None]
    costs = [each.cost_usd for each in wastes if each.cost_usd is not None]
    return Waste(
        steps=sum(steps) if steps else None,
        tokens=sum(tokens) if tokens else None,
        cost_usd=sum(costs) if costs else None,
        partial=any(each.partial for each in wastes) or 0 < len(tokens) < len(wastes),
    )
