"""Let language models judge recordings, as `pantrace judge` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Literal

from msgspec.structs import replace

from pantrace.engine.judge import Bench, judge_all
from pantrace.engine.measure import Row, row
from pantrace.engine.plan import JudgeTable
from pantrace.engine.read import Notes, split_children
from pantrace.engine.rubric_selection import select_rubrics
from pantrace.engine.select import Selection
from pantrace.errors import UsageError
from pantrace.judges import Managed

from .judging import bench_of
from .scores import Scores
from .sources import Recordings, listed, outside_loop, pile_of, refuse_other


def judge(
    *sources: Recordings,
    rubrics: str | Iterable[str],
    judges: str | Iterable[str],
    base_url: str | None = None,
    keys: Mapping[str, str] | None = None,
    repeats: int = 1,
    combine: Literal["mean", "majority"] | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    weighted: bool = False,
    redact: bool = True,
    concurrency: int = 8,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    budget_calls: int | None = None,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    sub_agents: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
) -> Scores:
    """Let language models grade recordings by written rubrics.

    `judges` are PROVIDER:MODEL (several make a panel), `rubrics` names or files, `repeats` how often each judge is
    asked. Keys come from `keys` ({"openai": "..."}), else from the environment. Secrets in the recordings are replaced
    before anything is sent, unless `redact` is False. Replies are kept in the cache; with `replay` only it is asked.
    A judge that gave no verdict leaves its score unscored, never zero; `.judging` has calls, tokens and cost."""
    if combine is not None:
        refuse_other("combine", combine, ("mean", "majority"))
    asked = select_rubrics(listed(rubrics))
    if not asked.rubrics:
        raise UsageError("name a rubric: rubrics=...; `pantrace rubrics` lists them")
    if any(isinstance(each, Managed) for each in asked.rubrics):
        raise UsageError("metrics that Vertex AI keeps are asked for by `pantrace judge --project`, not from Python")
    table = replace(
        JudgeTable(),
        models=listed(judges),
        base_url=base_url,
        samples=repeats,
        combine=combine,
        temperature=temperature,
        seed=seed,
        weighted=weighted,
        redact=redact,
        concurrency=concurrency,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        budget_calls=budget_calls,
    )
    if not table.models:
        raise UsageError("name a judge: judges='openai:gpt-4.1-mini', or a model of your server with base_url=...")
    notes = Notes.keeping()
    run = pile_of(sources, format, notes)
    samples = split_children(run.samples) if sub_agents else run.samples
    chosen = selection.apply(samples) if selection is not None else samples

    def judged() -> tuple[list[Row], Bench]:
        # Made here, since its cache can be used only by the thread that opened it.
        judging = bench_of(table, cache=cache, replay=replay, keys=keys)
        judged = judge_all(chosen, asked.rubrics, judging)
        return [row(run.name, sample, None, score) for sample, scores in judged for score in scores], judging

    found, judging = outside_loop(judged)
    remarks = [f"{count} unscored: {problem}" for problem, count in judging.problems.most_common(5)]
    return Scores(found, broken=notes.broken, notes=remarks, judging=judging.summary())
