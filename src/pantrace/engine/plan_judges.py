"""Judging inside an evaluation: each sample gets the plan's rubrics and exactly the evals that its case requires."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from pantrace.errors import UsageError
from pantrace.judges import AnyRubric, is_managed, load_any_rubric, rubric_names
from pantrace.model import Sample, Score
from pantrace.store import KnownParts, Result, column_value

from .evaluate_sample import evaluate_sample
from .judged_counts import JudgedCounts
from .plan import Ready

if TYPE_CHECKING:  # slow to load; most workers ask no judge
    from .event_loop import EventLoop
    from .judge import Bench


class Judges:
    """The judges of one evaluation, held open while it runs; without a bench nothing is asked."""

    def __init__(self, ready: Ready, bench: Bench | None):
        self.ready = ready
        self.bench = bench
        self._counts = JudgedCounts()
        self._loop: EventLoop | None = None

    def __enter__(self) -> Judges:
        if self.bench is not None:
            from .event_loop import EventLoop

            self._loop = EventLoop()
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            with self._loop:
                if self.bench is not None:
                    self._loop.run(self.bench.close())

    def take_counts(self) -> JudgedCounts | None:
        """What was counted since this was last asked for; None where nothing was judged."""
        counts, self._counts = self._counts, JudgedCounts()
        return counts if counts.statuses else None

    def results(self, samples: list[Sample]) -> Iterator[Result]:
        """Samples with all their scores and decisions."""
        judged = self._judged(samples)
        for sample, verdicts in zip(samples, judged, strict=True):
            scores, decisions = evaluate_sample(sample, self.ready, verdicts)
            yield Result(sample=sample, scores=tuple(scores), decisions=tuple(decisions))

    def _judged(self, samples: list[Sample]) -> list[list[Score]]:
        if self.bench is None or self._loop is None:
            return [[] for _ in samples]
        found = self._loop.run(self._ask(samples))
        for scores in found:
            for score in scores:
                self._counts.count(score)
        return found

    async def _ask(self, samples: list[Sample]) -> list[list[Score]]:
        import asyncio

        assert self.bench is not None
        bench = self.bench
        return await asyncio.gather(*(self._one(sample, bench) for sample in samples))

    async def _one(self, sample: Sample, bench: Bench) -> list[Score]:
        required = (sample.case.required_evals or ()) if sample.case is not None else ()
        planned = {rubric.name for rubric in self.ready.rubrics}
        found = {name: rubric_of(name) for name in required if name not in planned}
        rubrics = {rubric.name: rubric for rubric in (*self.ready.rubrics, *found.values()) if rubric is not None}
        unknown = [
            Score(name=name, status="unscored", explanation=f"there is no rubric {name!r}")
            for name, rubric in found.items()
            if rubric is None
        ]
        from .judge import judge_one

        return [*await judge_one(sample, list(rubrics.values()), bench), *unknown]


def lacks_answers(known: KnownParts, part: str) -> bool:
    """Whether a part has a score that no judge has answered for yet: a budget that ran out, a server that was down, a
    cache that did not know. A reply that could not be used was an answer. A damaged part is made again anyway."""
    if known.damage(part):
        return False
    rows = known.rows(part, "scores", "maker_kind", "details", only=("status", ("unscored",)))
    return any(
        kind == "rubric" and details and _unanswered(column_value(details, dict[str, Any])) for kind, details in rows
    )


def _unanswered(details: dict[str, Any]) -> bool:
    verdicts = details.get("samples", ())
    # Whoever answers twice without a verdict has answered; once, and the second question never got through.
    open_ones = [each for each in verdicts if "problem" in each and not each.get("unsure")]
    return "unanswered" in details or any(len(each.get("replies", ())) < 2 for each in open_ones)


@cache
def rubric_of(name: str) -> AnyRubric | None:
    """The rubric of an eval that a case requires; None when there is none. A file is none: a recording must not choose
    the words by which it is judged."""
    if not is_managed(name) and name.partition(":")[0] not in rubric_names():
        return None
    try:
        return load_any_rubric(name)
    except UsageError:
        return None
