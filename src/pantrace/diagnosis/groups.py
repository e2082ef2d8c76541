"""Groups: failed samples by their cause, beside how often the same is seen in samples that passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pantrace.model import Record

from .finding import ABOUT_REFERENCE, ABOUT_TOOLS, Finding, Place, Waste, title_of
from .sample import Diagnosed
from .signature import shortened

ENOUGH = 5
"""Samples that must have passed before what is as frequent in them counts as harmless."""
HARMLESS_EXTRA = 0.05
"""Share of passed samples up to which a call that nobody expects may be called a cause."""
OFTEN = 3
"""Samples in which something must be seen before its frequency says anything."""
LITTLE = 0.2
"""Doubt up to which a finding is as good as one that no good run shows."""
RARE = 0.5
"""How doubtful one is that is rarer."""
_ENDINGS = ("run_error", "blocked", "cancelled")
_WEAK = ("loop", *ABOUT_TOOLS, "open_call", "no_answer", *ABOUT_REFERENCE)
"""Causes that good runs may show, too."""
_ORDER = (
    *_ENDINGS,
    *ABOUT_REFERENCE,
    "contract",
    "rule",
    "loop",
    *ABOUT_TOOLS,
    "gave_up",
    "limit",
    "open_call",
    "abandoned",
    "no_answer",
    "stated",
    "partly_done",
    "answer",
)
"""What explains most comes first: what ended the run, what a reference or a rule proves, what was seen to go wrong,
how it ended, who was not content."""
_CERTAIN = (
    *_ENDINGS,
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
UNKNOWN = Finding(cause="unknown")


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
    """The same error, ids, paths and numbers aside."""

    text: str
    samples: int


class Group(Record, frozen=True, kw_only=True):
    """Failed samples with one cause."""

    cause: str
    subject: str
    title: str
    certain: bool
    """Whether the recording or the reference proves it; otherwise it is what was seen to go wrong."""
    samples: int
    share: float
    """Of all that failed."""
    also: int
    """Failed samples in which it is seen, too, and which have another cause."""
    passed: int
    """Samples that passed in which it is seen."""
    waste: Waste
    """Over the samples of which it is known."""
    waste_unknown: int
    """Samples of the group of which no tokens behind the step are known."""
    variants: tuple[Variant, ...]
    examples: tuple[Example, ...]


class Failure(Record, frozen=True, kw_only=True):
    """A failed sample, with the cause that was chosen for it."""

    diagnosed: Diagnosed
    main: Finding


@dataclass
class Tally:
    """Samples as they pass by: of those that passed only counts are kept."""

    failed: list[Diagnosed] = field(default_factory=list)
    passed: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)
    """Why samples could not be judged -> how many."""
    unjudged_examples: dict[str, list[str]] = field(default_factory=dict)
    not_run: int = 0
    seen_in_passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen_in_unjudged: dict[tuple[str, str], list[Example]] = field(default_factory=dict)
    """What went wrong in samples that could not be judged, be it mended; they are few or have no outcome at all."""

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
            for each in {one.key: one for one in reversed(found.findings)}.values():
                self.seen_in_unjudged.setdefault(each.key, []).append(_example(found, each))

    def failures(self) -> list[Failure]:
        """The failed samples, each with its cause."""
        harmless, doubts = self._harmless(), self._doubts()
        return [Failure(diagnosed=each, main=_main(each, harmless, doubts, self.passed)) for each in self.failed]

    def _seen(self) -> Counter[tuple[str, str]]:
        """In how many failed samples each is seen."""
        return Counter(key for each in self.failed for key in {one.key for one in each.findings if not one.mended})

    def _doubts(self) -> dict[tuple[str, str], float]:
        """How much more often each is seen in failed samples than in those that passed, as a doubt: 0 where no good
        run shows it. Unexpected calls of a few samples are doubtful, as nobody can say whether good runs make them."""
        return {
            key: RARE
            if key[0] == "extra_call" and count < OFTEN
            else self.seen_in_passed[key] / max(self.passed, 1) / (count / len(self.failed))
            for key, count in self._seen().items()
        }

    def _harmless(self) -> set[tuple[str, str]]:
        """What is seen in samples that passed at least as often as in those that failed."""
        if self.passed < ENOUGH:
            return set()
        return {
            key
            for key, count in self._seen().items()
            if key[0] in _WEAK
            and self.seen_in_passed[key] >= OFTEN
            and self.seen_in_passed[key] / self.passed >= count / len(self.failed)
        } | {
            key
            for key, count in self.seen_in_passed.items()
            if key[0] == "extra_call" and count / self.passed > HARMLESS_EXTRA
        }


def _main(
    found: Diagnosed, harmless: set[tuple[str, str]], doubts: dict[tuple[str, str], float], passed: int
) -> Finding:
    seen = [each for each in found.findings if not each.mended and each.key not in harmless]
    if passed < ENOUGH:
        # Most extra calls only look something up; which of them do harm, only samples that passed can tell.
        seen = [each for each in seen if each.cause != "extra_call" or each.what == "no call is expected"]
    expected = {each.subject for each in seen if each.cause in ("wrong_call", "missing_call")}
    stopped = any(each.cause == "limit" and each.hard for each in seen)
    order = list(dict.fromkeys((*_ENDINGS, "loop", "tool_error", "limit", *_ORDER))) if stopped else list(_ORDER)

    def rank(finding: Finding) -> tuple[float, float]:
        cause = "wrong_call" if finding.cause in ABOUT_REFERENCE else finding.cause
        place: float = order.index("tool_error" if cause in ABOUT_TOOLS else cause)
        if cause in ABOUT_TOOLS and finding.subject in expected and not stopped:
            # An expected call that was tried and failed is explained by its failure.
            place = order.index("wrong_call") - 0.5
        # What good runs hardly show is the better explanation.
        doubt = doubts[finding.key]
        return place, doubt if doubt > LITTLE else 0.0

    # The findings stand in the order of events: of several of one rank, the first that happened.
    return min(seen, key=rank, default=UNKNOWN)


def group(failures: Sequence[Failure], seen_in_passed: Counter[tuple[str, str]], examples: int) -> list[Group]:
    """Failed samples by cause, the largest group first and those without a known cause last."""
    by_key: dict[tuple[str, str], list[Failure]] = {}
    for each in failures:
        by_key.setdefault(each.main.key, []).append(each)
    seen = Counter(key for each in failures for key in {one.key for one in each.diagnosed.findings if not one.mended})
    found = [
        _group(key, members, len(failures), seen[key], seen_in_passed[key], examples) for key, members in by_key.items()
    ]
    return sorted(found, key=lambda each: (each.cause == "unknown", -each.samples, each.title))


def unjudged_groups(tally: Tally, examples: int) -> list[Group]:
    """What went wrong in samples that could not be judged, the most frequent first."""
    found = [
        Group(
            cause=key[0],
            subject=key[1],
            title=title_of(key[0], shortened(key[1], 60)),
            certain=False,
            samples=len(places),
            share=len(places) / tally.unjudged.total(),
            also=0,
            passed=tally.seen_in_passed[key],
            waste=Waste(),
            waste_unknown=0,
            variants=(),
            examples=tuple(places[:examples]),
        )
        for key, places in tally.seen_in_unjudged.items()
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
        certain=cause in _CERTAIN and not passed,
        samples=len(members),
        share=len(members) / failed,
        also=max(seen - len(members), 0),
        passed=passed,
        waste=_together([each.main.waste for each in members]),
        waste_unknown=sum(each.main.waste.tokens is None for each in members),
        variants=tuple(Variant(text=text, samples=count) for text, count in variants.most_common()),
        examples=tuple(_example(each.diagnosed, each.main) for each in _chosen(members, examples)),
    )


def _chosen(members: Sequence[Failure], count: int) -> list[Failure]:
    """Examples of as many variants as there is room for, the most frequent first."""
    by_variant: dict[str, list[Failure]] = {}
    for each in members:
        by_variant.setdefault(each.main.what, []).append(each)
    rows = sorted(by_variant.values(), key=len, reverse=True)
    found: list[Failure] = []
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


def _together(wastes: Iterable[Waste]) -> Waste:
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
