"""A judge asked about each group of failures: root cause, evidence, what to change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from pantrace.diagnosis import Diagnosis, Opinion
from pantrace.diagnosis.agent_code import Code
from pantrace.diagnosis.excerpt import Excerpt, excerpt
from pantrace.diagnosis.question import Question, opinion_on, question_of, request_for
from pantrace.model import Sample

from .diagnose import results_of
from .event_loop import EventLoop
from .judge import Bench
from .measure import References
from .read import Notes
from .select import Selection

GROUPS = 20
"""Groups that a judge is asked about, the largest first."""


def questions_for(
    found: Diagnosis,
    paths: Sequence[Path],
    judging: Bench,
    *,
    format: str | None = None,  # noqa: A002
    references: References | None = None,
    selection: Selection | None = None,
    code: Code | None = None,
) -> list[Question]:
    """One question for each group. The recordings are read a second time, for the samples that are shown."""
    groups = found.groups[:GROUPS]
    wanted = {example.number: example for group in groups for example in group.examples}
    excerpts: dict[int, Excerpt] = {}
    for number, (_, result) in enumerate(results_of(paths, format, Notes.keeping(), selection)):
        example = wanted.get(number)
        # Another id at the same place: the input has changed since it was read.
        if example is not None and example.sample == result.sample.id:
            sample = result.sample if references is None else references.join(result.sample)
            excerpts[number] = excerpt(_sent(sample, judging), example.place, example.detail, judging.clean)
        if len(excerpts) == len(wanted):
            break
    return [
        question_of(
            group,
            [excerpts.get(each.number, Excerpt((), frozenset())) for each in group.examples],
            code,
            judging.settings.characters,
            judging.clean,
        )
        for group in groups
    ]


def _sent(sample: Sample, judging: Bench) -> Sample:
    """The sample without secrets, also those that only their key gives away; a dry run shows it as it would be sent."""
    if judging.redactor is None:
        return sample
    return judging.redactor.sample(replace(sample, scores=(), extra={}))[0]


def with_opinions(found: Diagnosis, questions: Sequence[Question], judging: Bench) -> Diagnosis:
    """The diagnosis with what the judge says of each group."""
    model = judging.settings.models[0]

    async def ask(question: Question) -> Opinion:
        assert judging.judge is not None
        said = await opinion_on(question, request_for(question, model, judging.settings.max_tokens), judging.judge)
        return judging.heard.record(said)[0]

    async def ask_all() -> list[Opinion]:
        return await asyncio.gather(*(ask(question) for question in questions))

    with EventLoop() as loop:
        try:
            opinions = loop.run(ask_all())
        finally:
            if judging.providers is not None:
                loop.run(judging.providers.close())
    return replace(found, opinions=tuple(opinions))
