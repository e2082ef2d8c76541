"""Compare runs, or the parts of one run, as `pantrace compare` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from pantrace.engine.comparative import compare_split, samples_of
from pantrace.engine.compare_runs import Comparisons, Source, compare_sources, unfinished_of
from pantrace.engine.compare_side import Side, case_of
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.trend import History, trend_of_sources
from pantrace.errors import UsageError
from pantrace.model import Run, Sample
from pantrace.places import path_at

from .sources import in_python_words, listed, outside_loop, refuse_other

if TYPE_CHECKING:  # slow to load; most comparisons ask no judge
    from pantrace.engine.judge import Bench
    from pantrace.judges import Rubric


@dataclass
class Pairwise:
    """Rubrics that compare two answers, and their judge; without rubrics, no judge is asked."""

    rubrics: list[Rubric] = field(default_factory=list)
    bench: Bench | None = None
    notes: list[str] = field(default_factory=list)

    def ask(self, sides: list[Side], samples: Sequence[Iterable[Sample]], pair_by: str) -> None:
        """Add to each side the share of comparisons that it won."""
        if self.bench is None:
            return
        from pantrace.engine.pairwise import add_preferences, prefer

        # A rubric of this kind compares exactly two answers.
        if len(sides) != 2:
            raise UsageError("--rubric compares two runs, not more: name two")
        # Lists, because each rubric goes through all samples again.
        answers = [list(each) for each in samples]
        for rubric in self.rubrics:
            found = prefer(answers[0], answers[1], lambda sample: case_of(sample, pair_by), rubric, self.bench)
            if not found.preferred:
                why = "no case was answered by both" if not found.pairs else "the judge gave no usable verdict"
                raise UsageError(f"{rubric.name}: nothing to compare: {why}")
            add_preferences(sides, found, rubric, self.bench.settings.models[0])
            if found.swayed:
                told = f"{found.swayed} of {found.pairs} verdicts changed with the order of the answers"
                self.notes.append(f"{rubric.name}: {told}; they count as equal")


def pairwise(
    rubrics: Sequence[str],
    judge: str | None,
    *,
    base_url: str | None = None,
    keys: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    redact: bool = True,
) -> Pairwise:
    """The judge of a comparison; UsageError if a rubric or the judge is missing."""
    if not rubrics:
        if judge:
            raise UsageError("--judge needs --rubric: which answer is better by what (pairwise_quality)?")
        return Pairwise()
    from pantrace.engine.pairwise import pairwise_rubrics
    from pantrace.engine.plan import JudgeTable
    from pantrace.engine.rubric_selection import select_rubrics

    from .judging import bench_of

    chosen = pairwise_rubrics(select_rubrics(rubrics).rubrics)
    if judge is None:
        raise UsageError(f"--rubric {rubrics[0]} needs --judge PROVIDER:MODEL")
    table = JudgeTable(models=[judge], base_url=base_url, redact=redact)
    return Pairwise(chosen, bench_of(table, cache=cache, replay=replay, keys=keys))


def compare_named(
    sources: Sequence[Source],
    asked: Pairwise,
    *,
    metrics: Sequence[str] = (),
    pair_by: str = "case",
    cluster: str | None = None,
    split: str | None = None,
    all_pairs: bool = False,
    margins: Sequence[str | float] = (),
) -> Comparisons:
    """What `compare` does, for runs that may consist of several files each."""
    if split is None and len(sources) > 1:
        return compare_sources(
            sources,
            metrics=metrics,
            cluster=cluster,
            pair_by=pair_by,
            margins=margins,
            all_pairs=all_pairs,
            more=lambda sides: asked.ask(sides, [_read(files).samples for _, files in sources], pair_by),
        )
    if not sources:
        raise UsageError("a comparison needs two or more runs")
    # Refused instead of ignored, because it would change the interval.
    if cluster is not None:
        raise UsageError("--cluster does not go with --split: the pairs of one run are its scenarios")
    files = [file for _, several in sources for file in several]

    def ask(sides: list[Side], name: str) -> None:
        asked.ask(sides, [samples_of(_read(files), name, side.name) for side in sides], "case")

    found = compare_split(lambda: _read(files), split, metrics=metrics, margins=margins, all_pairs=all_pairs, more=ask)
    if found is None:
        raise UsageError(
            f"{sources[0][0]} alone: a comparison takes two runs, or one run and --split NAME "
            "(agent, or a label's name)"
        )
    return replace(found, unfinished=unfinished_of(sources))


def _read(files: Sequence[Path]) -> Run:
    return read_pile(files, notes=Notes())


def compare(
    *runs: str | PathLike[str],
    metrics: str | Iterable[str] = (),
    pair_by: Literal["case", "sample"] = "case",
    cluster: str | None = None,
    split: str | None = None,
    all_pairs: bool = False,
    rubrics: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    judge: str | None = None,
    base_url: str | None = None,
    keys: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    redact: bool = True,
    margins: str | float | Iterable[str | float] = (),
) -> Comparisons:
    """Say whether run B is better than run A, or whether it is noise.

    Runs are run directories or recordings with scores. They are compared by the metrics that they share, or by those
    named: each with the first, or with `all_pairs` each with each. One run alone is taken apart by `split`. A margin is
    a difference that does not matter: a number, a share of the first run's mean ("5%"), or either for one metric
    ("cost=5%"). With `rubrics` a `judge` says which answer is better."""
    refuse_other("pair_by", pair_by, ("case", "sample"))
    given = [margins] if isinstance(margins, (str, float, int)) else [*margins]

    def work() -> Comparisons:
        asked = pairwise(
            listed(rubrics), judge, base_url=base_url, keys=keys, cache=cache, replay=replay, redact=redact
        )
        return compare_named(
            _named(runs),
            asked,
            metrics=listed(metrics),
            pair_by=pair_by,
            cluster=cluster,
            split=split,
            all_pairs=all_pairs,
            margins=given,
        )

    # In a notebook an event loop is running already, and judges need one of their own.
    with in_python_words():
        return outside_loop(work)


def trend(
    *runs: str | PathLike[str],
    metrics: str | Iterable[str] = (),
    pair_by: Literal["case", "sample"] = "case",
    cluster: str | None = None,
) -> History:
    """Show the history of the metrics that runs share, or of those named, and which changes hold up."""
    refuse_other("pair_by", pair_by, ("case", "sample"))
    with in_python_words():
        return trend_of_sources(_named(runs), metrics=listed(metrics), cluster=cluster, pair_by=pair_by)


def _named(runs: Sequence[str | PathLike[str]]) -> list[Source]:
    return [(fspath(path), [path_at(path)]) for path in runs]
