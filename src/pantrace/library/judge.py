"""Let language models judge recordings, as `pantrace judge` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Literal

from pantrace.engine.executor import ONE_PROCESS, Engine, Executor, InProcess
from pantrace.engine.judge import Bench, judge_all
from pantrace.engine.judge_part import JudgeParts
from pantrace.engine.measure import Row, row
from pantrace.engine.pile_parts import done_parts
from pantrace.engine.plan import JudgeTable
from pantrace.engine.read import Notes, split_children
from pantrace.engine.rubric_selection import select_rubrics
from pantrace.engine.select import Selection
from pantrace.engine.shared_judges import shared_judges
from pantrace.errors import UsageError
from pantrace.judges import BUDGET, AnyRubric, Managed, guidelines_from, is_managed, with_guidelines
from pantrace.model import Run, Sample, Score, with_samples
from pantrace.wire.progress import current_progress

from .access import named_project, required_project
from .judging import bench_of
from .scores import Scores
from .sources import Recordings, engine_for, listed, outside_loop, paths_of, pile_of, refuse_other


@dataclass(frozen=True)
class Elsewhere:
    """What other processes are to judge."""

    paths: list[Path]
    format: str | None
    selection: Selection
    sub_agents: bool
    executor: Executor


@dataclass
class Grading:
    """Samples, rubrics and judges, before the first question."""

    run: Run
    """Where others do the work, only its header."""
    rubrics: Sequence[AnyRubric]
    measured: Sequence[str]
    """Names among the rubrics that are metrics and need no judge."""
    judges: Bench
    notes: Notes
    elsewhere: Elsewhere | None = None
    by: list[str] = field(default_factory=list)
    """Who did it, in words, if not this process alone."""

    def judged(self, *, whole: bool = False) -> Iterator[tuple[Sample, list[Score], list[Row]]]:
        """Each sample with its scores, and with the rows of a table that they make. What others judge is `whole` only
        where that is asked for, since it must be sent here."""
        if self.elsewhere is None:
            found: Iterator[tuple[Sample, list[Score]]] = judge_all(_taken(self.run.samples), self.rubrics, self.judges)
        else:
            found = self._judged_elsewhere(self.elsewhere, whole)
        for sample, scores in found:
            yield sample, scores, [row(self.run.name, sample, None, score) for score in scores]

    def _judged_elsewhere(self, others: Elsewhere, whole: bool) -> Iterator[tuple[Sample, list[Score]]]:
        with others.executor as executor, shared_judges(self.judges, executor) as bench:
            task = JudgeParts(
                selection=others.selection,
                sub_agents=others.sub_agents,
                rubrics=self.rubrics,
                bench=bench,
                whole=whole,
            )
            for part in done_parts(others.paths, others.format, task, executor, self.notes):
                for sample, scores in part.judged():
                    for score in scores:
                        self.judges.counts.count(score)
                    yield sample, scores


def _taken(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The samples, counted for the progress bar: judges answer long after a sample was read."""
    for sample in samples:
        if (watched := current_progress()) is not None:
            watched.taken += 1
        yield sample


def grading(
    sources: Sequence[Recordings],
    rubrics: Sequence[str],
    table: JudgeTable,
    *,
    guidelines: str | None = None,
    project: str | None = None,
    location: str | None = None,
    keys: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    dry_run: bool = False,
    sub_agents: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    engine: Engine = ONE_PROCESS,
) -> Grading:
    """What `judge` does before the first question. A wrong name is refused here, because judges cost money."""
    asked = select_rubrics(rubrics)
    if not asked.rubrics:
        if asked.measured:
            named = ", ".join(asked.measured)
            raise UsageError(f"nothing to judge: `pantrace measure` and `pantrace eval` measure {named}")
        raise UsageError("name a rubric; `pantrace rubrics` lists them")
    chosen = asked.rubrics
    if guidelines is not None:
        chosen = with_guidelines(chosen, guidelines_from(guidelines))
    managed = any(isinstance(rubric, Managed) for rubric in chosen)
    vertex = None
    # A dry run and a replay send nothing, so they need no project and no credentials.
    if managed and not dry_run and not replay:
        # A managed metric named by the user needs a project; one in a definition file may stay unscored.
        find = required_project if any(map(is_managed, rubrics)) else named_project
        vertex = find(project, location, table.base_url)
    judges = bench_of(table, cache=cache, replay=replay, keys=keys, vertex=vertex, manages=managed, dry_run=dry_run)

    def read(notes: Notes) -> Run:
        run = pile_of(sources, format, notes)
        return with_samples(run, split_children(run.samples)) if sub_agents else run

    if selection is not None and not dry_run:
        # A misspelt sample id must fail before money is spent; so the ids are looked up in a reading of their own.
        selection.look_up(lambda: read(Notes.keeping()).samples)
    notes = Notes.keeping()
    by: list[str] = []
    executor = engine_for(sources, ONE_PROCESS if dry_run else engine, selection, by.append, JudgeParts)
    if not isinstance(executor, InProcess):
        wanted = selection if selection is not None else Selection()
        others = Elsewhere(paths_of(sources), format, wanted, sub_agents, executor)
        # Notes are made where the samples are read.
        header = with_samples(read(Notes.keeping()), ())
        return Grading(header, chosen, asked.measured, judges, notes, others, by)
    run = read(notes)
    if selection is not None:
        run = with_samples(run, selection.apply(run.samples))
    return Grading(run, chosen, asked.measured, judges, notes)


def judge(
    *sources: Recordings,
    rubrics: str | PathLike[str] | Iterable[str | PathLike[str]],
    judges: str | Iterable[str] = (),
    guidelines: str | None = None,
    base_url: str | None = None,
    project: str | None = None,
    location: str | None = None,
    keys: Mapping[str, str] | None = None,
    repeats: int = 1,
    combine: Literal["mean", "majority"] | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    weighted: bool = False,
    max_tokens: int = 2_000,
    max_chars: int = BUDGET,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    budget_calls: int | None = None,
    concurrency: int = 8,
    timeout: float = 120.0,
    retries: int = 4,
    redact: bool = True,
    sub_agents: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    engine: Engine = ONE_PROCESS,
    on_sample: Callable[[Sample], None] = lambda _: None,
) -> Scores:
    """Grade recordings by written rubrics, with language models as judges.

    `judges` are PROVIDER:MODEL; several make a panel, and without one nothing is sent and every score is unscored.
    `rubrics` are names or files. API keys come from `keys` ({"openai": "..."}) or the environment. Secrets in the
    recordings are replaced before anything is sent, unless `redact` is False. Replies are cached; with `replay` only
    the cache is asked. A score without a verdict is unscored, never zero. `.judging` has calls, tokens and cost."""
    if combine is not None:
        refuse_other("combine", combine, ("mean", "majority"))
    table = JudgeTable(
        models=listed(judges),
        base_url=base_url,
        samples=repeats,
        combine=combine,
        temperature=temperature,
        seed=seed,
        weighted=weighted,
        max_tokens=max_tokens,
        max_chars=max_chars,
        redact=redact,
        timeout=timeout,
        retries=retries,
        concurrency=concurrency,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        budget_calls=budget_calls,
    )

    def work() -> tuple[list[Row], Grading]:
        # Created inside `work`: SQLite's cache can be used only by the thread that opened it.
        ready = grading(
            sources,
            listed(rubrics),
            table,
            guidelines=guidelines,
            project=project,
            location=location,
            keys=keys,
            cache=cache,
            replay=replay,
            sub_agents=sub_agents,
            selection=selection,
            format=format,
            engine=engine,
        )
        found: list[Row] = []
        for sample, _, rows in ready.judged():
            on_sample(sample)
            found += rows
        return found, ready

    found, ready = outside_loop(work)
    # The five most frequent: with a wrong key, every sample has the same problem.
    remarks = [f"{count} unscored: {problem}" for problem, count in ready.judges.counts.problems.most_common(5)]
    if ready.measured:
        remarks.append(f"not judged but measured, by `measure` and `evaluate`: {', '.join(ready.measured)}")
    return Scores(found, broken=ready.notes.broken, notes=remarks, judging=ready.judges.summary())
