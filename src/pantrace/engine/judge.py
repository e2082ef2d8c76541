"""Judge: rubrics over samples, many questions at once, scores in the order of the samples."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from pantrace.judges import (
    Absent,
    AnyRubric,
    AtMost,
    Budgeted,
    Cache,
    Cached,
    Defined,
    Discreet,
    Judge,
    Line,
    Managed,
    Patient,
    Project,
    Prompt,
    Provider,
    Relay,
    Replayed,
    Request,
    Routed,
    RowOf,
    Settings,
    Vertex,
    asked_as,
    gather,
    judged,
    managed_request,
    prompt_for,
    requests_for,
)
from pantrace.model import Record, Sample, Score
from pantrace.normalise.secrets import Redactor

from .event_loop import EventLoop
from .judged_counts import JudgedCounts
from .managed import case_of, managed_judged
from .rubric_selection import row_once

_AHEAD = 3
"""Samples in work for each question that may wait at once, so that one slow answer holds up little."""


class Access(Record, frozen=True, kw_only=True):
    """How to reach the judges."""

    keys: dict[str, str] = {}
    """Provider -> key."""
    secrets: tuple[str, ...] = ()
    """Further values that nobody may read: keys that this process could use."""
    base_url: str | None = None
    vertex: Project | None = None
    """Where managed metrics are asked for; None: they are not."""
    timeout: float = 120.0
    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    """Seconds; a provider that asks to wait longer is not asked again."""
    concurrency: int = 8
    tokens: int | None = None
    """Budget of tokens; what the cache knows is free."""
    dollars: float | None = None
    calls: int | None = None


@dataclass
class Bench:
    """The judges of one run, put together from the outside in: cache, budget, patience, concurrency, discretion,
    provider."""

    judge: Judge | None
    settings: Settings
    redactor: Redactor | None = field(default_factory=Redactor)
    """None: texts are sent as they are."""
    concurrency: int = 8
    cached: Cached | Replayed | None = None
    budget: Budgeted | None = None
    patient: Patient | None = None
    providers: Routed | Relay | None = None
    """Whoever holds connections open."""
    vertex: Vertex | None = None
    manages: bool = False
    """Whether managed metrics can be asked for."""
    heard: Redactor = field(default_factory=Redactor)
    """Cleans what judges say, also where texts are sent to them as they are."""
    counts: JudgedCounts = field(default_factory=JudgedCounts)

    def open(self) -> None:
        """Find out now what would keep every managed metric from being asked for; a UsageError says it."""
        if self.vertex is not None:
            self.vertex.open()

    def clean(self, text: str) -> str:
        return text if self.redactor is None else self.redactor.text(text)[0]

    def clean_data(self, value: Any) -> Any:
        return value if self.redactor is None else self.redactor.value(value)

    async def close(self) -> None:
        """Give back the connections, in the event loop that asked."""
        if self.providers is not None:
            await self.providers.close()

    def relayed(self, line: Line) -> Bench:
        """The bench of a worker: it makes prompts and reads verdicts as this one does, and every question comes here.
        It can be sent to another process."""
        relay = Relay(line)
        return Bench(
            relay,
            self.settings,
            self.redactor,
            self.concurrency,
            providers=relay,
            manages=self.manages,
            heard=self.heard,
        )

    def summary(self) -> dict[str, Any]:
        """Calls, tokens and cost of this run, and what became of the scores."""
        statuses, problems = self.counts.statuses, self.counts.problems
        return {
            "calls": self.budget.calls if self.budget else 0,
            "retries": self.patient.retries if self.patient else 0,
            "cached": self.cached.hits if self.cached else 0,
            "missing": self.cached.missing if isinstance(self.cached, Replayed) else 0,
            "tokens": self.budget.used_tokens if self.budget else 0,
            "tokens_estimated": bool(self.budget and self.budget.uncounted),
            "cost_usd": self.budget.used_dollars if self.budget and not self.budget.unpriced else None,
            "scored": statuses["scored"],
            "not_applicable": statuses["not_applicable"],
            "unscored": statuses["unscored"] + statuses["failed"],
            "unscored_because": dict(problems.most_common()),
        }


def bench(
    settings: Settings,
    access: Access,
    *,
    cache: Path | None = None,
    replay: bool = False,
    redact: bool = True,
    judge: Judge | None = None,
    seed: int = 0,
) -> Bench:
    """The judges of a run. `judge` takes the place of the providers; without any there is no judge at all."""
    heard = Redactor(known=(*access.keys.values(), *access.secrets))
    redactor = heard if redact else None
    if replay:
        assert cache is not None
        replayed = Replayed(Cache(cache))
        return Bench(replayed, settings, redactor, access.concurrency, cached=replayed, manages=True, heard=heard)
    if not settings.models and access.vertex is None:
        return Bench(None, settings, redactor)
    reached: dict[str, Judge] = {
        name: Provider(
            name, key=access.keys.get(name.partition(":")[0], ""), base_url=access.base_url, timeout=access.timeout
        )
        for name in settings.models
    }
    vertex = None
    if access.vertex is not None:
        vertex = Vertex(access.vertex, timeout=access.timeout, at_once=access.concurrency)
        reached["vertex"] = vertex
    providers = Routed(reached)
    discreet = Discreet(judge or providers, lambda text: heard.text(text)[0])
    patient = Patient(
        AtMost(discreet, access.concurrency),
        dice=Random(seed),
        attempts=access.attempts,
        first_wait=access.first_wait,
        longest_wait=access.longest_wait,
    )
    budget = Budgeted(patient, tokens=access.tokens, dollars=access.dollars, questions=access.calls)
    found = Bench(budget, settings, redactor, access.concurrency, budget=budget, patient=patient, providers=providers)
    found.vertex, found.manages, found.heard = vertex, vertex is not None, heard
    if cache is not None:
        found.cached = Cached(budget, Cache(cache))
        found.judge = found.cached
    return found


def judge_all(
    samples: Iterable[Sample], rubrics: Sequence[AnyRubric], run: Bench
) -> Generator[tuple[Sample, list[Score]], None, None]:
    """Each sample with its scores, in the order given; several are in work at once."""
    source = iter(samples)
    waiting: deque[tuple[Sample, asyncio.Task[list[Score]]]] = deque()

    async def following() -> tuple[Sample, list[Score]] | None:
        while len(waiting) < run.concurrency * _AHEAD and (sample := next(source, None)) is not None:
            waiting.append((sample, asyncio.create_task(judge_one(sample, rubrics, run))))
        if not waiting:
            return None
        sample, task = waiting.popleft()
        try:
            return sample, await task
        except BaseException:
            # Trouble of the run, not of a sample: the others would meet it, too.
            for _, other in waiting:
                other.cancel()
            await asyncio.gather(*(other for _, other in waiting), return_exceptions=True)
            raise

    with EventLoop() as loop:
        try:
            while (found := loop.run(following())) is not None:
                for score in found[1]:
                    run.counts.count(score)
                yield found
        finally:
            loop.run(run.close())


async def judge_one(sample: Sample, rubrics: Sequence[AnyRubric], run: Bench) -> list[Score]:
    """All scores of one sample."""
    shown = as_sent(sample, run) if any(map(_takes_sample, rubrics)) else sample
    row_of = row_once(rubrics, run.clean_data) if run.judge is not None else row_once(rubrics)

    async def score(rubric: AnyRubric) -> Score:
        if isinstance(rubric, Managed):
            case = case_of(shown, sample, rubric, run.redactor)
            return await managed_judged(case, rubric, run.judge if run.manages else None)
        # A row has columns for what a source keeps beside the model, too; it is cleaned by itself.
        seen = shown if _takes_sample(rubric) else sample
        return await judged(seen, rubric, run.judge, run.settings, run.clean, row_of)

    # Once more: escapes in a reply have become letters, and a cache may be older than its owner's discretion.
    return [run.heard.record(each)[0] for each in await asyncio.gather(*map(score, rubrics))]


def _takes_sample(rubric: AnyRubric) -> bool:
    return not isinstance(rubric, Defined)


def as_sent(sample: Sample, run: Bench) -> Sample:
    """The sample as judges may see it: without secrets, also those that only their key gives away."""
    if run.redactor is None or run.judge is None:
        return sample
    return run.redactor.sample(msgspec.structs.replace(sample, scores=(), extra={}))[0]


class QuestionPlan(Record, frozen=True, kw_only=True):
    """A prompt that would be sent."""

    sample: str
    rubric: str
    prompt: Prompt | None = None
    not_applicable: str | None = None
    calls: int = 0
    estimated_tokens: int = 0
    cached: int = 0


def plan_questions(
    samples: Iterable[Sample], rubrics: Sequence[AnyRubric], run: Bench, cache: Path | None
) -> Iterator[QuestionPlan]:
    """What judging would ask, without asking."""
    known = Cache(cache) if cache is not None and cache.exists() else None
    for sample in samples:
        shown = sample
        if run.redactor is not None and any(map(_takes_sample, rubrics)):
            shown = run.redactor.sample(sample)[0]
        row_of = row_once(rubrics, run.clean_data)
        for rubric in rubrics:
            asked = _questions(shown, sample, rubric, run, row_of)
            if isinstance(asked, Absent):
                yield QuestionPlan(sample=sample.id, rubric=rubric.name, not_applicable=asked.reason)
                continue
            prompt, requests = asked
            cached = [request for request in requests if known is not None and known.get(request.key) is not None]
            yield QuestionPlan(
                sample=sample.id,
                rubric=rubric.name,
                prompt=prompt,
                calls=len(requests) - len(cached),
                estimated_tokens=sum(each.estimated_tokens for each in requests if each not in cached),
                cached=len(cached),
            )


def _questions(
    shown: Sample, sample: Sample, rubric: AnyRubric, run: Bench, row_of: RowOf
) -> tuple[Prompt, list[Request]] | Absent:
    """What would be asked about one sample by one rubric."""
    if isinstance(rubric, Managed):
        case = case_of(shown, sample, rubric, run.redactor)
        if isinstance(case, Absent):
            return case
        request = managed_request(rubric, case)
        return Prompt(request.system, request.prompt, {}, []), [request]
    rubric = asked_as(sample, rubric)
    material = gather(shown if _takes_sample(rubric) else sample, rubric, row_of)
    if isinstance(material, Absent):
        return material
    prompt = prompt_for(rubric, material, budget=run.settings.characters, clean=run.clean)
    return prompt, requests_for(prompt, run.settings) or _assumed(prompt, run.settings)


def _assumed(prompt: Prompt, settings: Settings) -> list[Request]:
    """The questions to one judge, for an estimate before any is named."""
    return requests_for(prompt, msgspec.structs.replace(settings, models=("unnamed",)))
