"""Asks a judge about each group of failures: root cause, evidence, what to change."""

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
"""A judge is asked about at most this many groups, the largest first."""


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
    """One question for each group. The recordings are read a second time for the samples that are shown, because the
    diagnosis does not keep them."""
    groups = found.groups[:GROUPS]
    wanted = {example.number: example for group in groups for example in group.examples}
    excerpts: dict[int, Excerpt] = {}
    for number, (_, result) in enumerate(results_of(paths, format, Notes.keeping(), selection)):
        example = wanted.get(number)
        # If the id at this place is another one, the input has changed in the meantime.
        if example is not None and example.sample == result.sample.id:
            sample = result.sample if references is None else references.join(result.sample)
            excerpts[number] = excerpt(_sent(sample, judging), example.place, example.detail, judging.clean)
        # The rest of the input does not have to be read.
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
    """The sample without secrets, including those that only their key reveals; a dry run shows what would be sent."""
    if judging.redactor is None:
        return sample
    return judging.redactor.sample(replace(sample, scores=(), extra={}))[0]


def with_opinions(found: Diagnosis, questions: Sequence[Question], judging: Bench) -> Diagnosis:
    """The diagnosis with the judge's opinion on each group."""
    model = judging.settings.models[0]

    async def ask(question: Question) -> Opinion:
        assert judging.judge is not None
        opinion = await opinion_on(question, request_for(question, model, judging.settings.max_tokens), judging.judge)
        # A judge repeats what it has read, so known secrets are removed from its reply, too.
        return judging.heard.record(opinion)[0]

    async def ask_all() -> list[Opinion]:
        return await asyncio.gather(*(ask(question) for question in questions))

    with EventLoop() as loop:
        try:
            opinions = loop.run(ask_all())
        finally:
            loop.run(judging.close())
    return replace(found, opinions=tuple(opinions))
