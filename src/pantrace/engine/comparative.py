"""Comparative cases: one collection in which several agents got the same questions, split and compared.

The datasets of seed document 4 contain each question twice, for a single agent and for a workflow of several; reports
on them name only the agents. The sides are paired by scenario, otherwise by question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.model import Case, Run, Sample, Score, with_samples
from pantrace.store import RunDirectory

from .all_scores import all_scores
from .compare import shared_metrics
from .compare_runs import Comparisons, compare_cases
from .compare_side import Side, cluster_of, side_of
from .compare_verdicts import PASSED, passed_score, with_outcome

MODE = "workflow_mode"
"""The label that distinguishes the sides of comparative cases."""
AGENT = "agent"
_BASELINE = "single-agent"
"""The end of the baseline's name."""
Reading = Callable[[], Run]
"""Opens the collection again: samples are read once for each side instead of being kept in memory."""


def compare_evaluated(directory: Path) -> Comparisons | None:
    """The comparison of a run directory with comparative cases or a report on them; None if it has other samples."""
    # The first sample decides: reading all of them would cost every evaluation a pass over its results.
    first = next(iter(RunDirectory.open(directory).samples()), None)
    source = first.trajectory.source if first is not None and first.trajectory is not None else None
    case = first.case if first is not None else None
    if case is None or not (MODE in case.labels or (case.scenario and (source is None or source.format == "explain"))):
        return None
    return compare_split(lambda: _decided(directory))


def _decided(directory: Path) -> Run:
    """A run directory with the decision on each sample, if there is one, as its score `passed`."""
    opened = RunDirectory.open(directory)

    def samples() -> Iterator[Sample]:
        for result in opened.results():
            verdicts = [each.passed for each in result.decisions if each.passed is not None]
            verdict: tuple[Score, ...] = ()
            if verdicts:
                verdict = (passed_score(all(verdicts)),)
            elif result.decisions:
                # If the run could not decide, the source's own verdict must not take its place.
                verdict = (Score(name=PASSED, status="unscored", explanation="could not be decided"),)
            yield replace(result.sample, scores=(*all_scores(result.sample, result.scores), *verdict))

    return with_samples(opened.run(), samples())


def side_names(samples: Iterable[Sample], name: str | None) -> tuple[str, list[str]] | None:
    """What to split a collection by, and the sides, with the baseline first; None if there are no comparative cases.

    Without a name: by the workflow's mode, otherwise by agent if every question was put to several."""
    modes: dict[str, None] = {}
    agents: dict[str, set[str]] = {}
    named: dict[str, None] = {}
    whole = True
    for sample in samples:
        case = sample.case or Case()
        mode, question = case.labels.get(MODE), pair_of(sample)
        whole = whole and mode is not None
        if mode is not None:
            modes[mode] = None
        agents.setdefault(question, set()).add(case.agent or "")
        if name is not None and (found := cluster_of(sample, name)):
            named[found] = None
    if name is not None:
        if len(named) < 2:
            held = f"only {next(iter(named))!r}" if named else "no value"
            raise UsageError(f"--split {name}: the samples have {held} for it; a comparison needs two or more values")
        return name, _ordered(named)
    if whole and len(modes) > 1:
        return MODE, _ordered(modes)
    several = {agent: None for names in agents.values() for agent in sorted(names)}
    if agents and "" not in several and len(several) > 1 and all(len(names) > 1 for names in agents.values()):
        return AGENT, _ordered(several)
    return None


def _ordered(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: not name.endswith(_BASELINE))


def pair_of(sample: Sample) -> str:
    """What pairs the samples of both sides: scenario, otherwise question, otherwise the case's id."""
    case = sample.case or Case()
    return case.scenario or case.question or case.id or sample.id


def compare_split(
    reading: Reading,
    name: str | None = None,
    *,
    metrics: Sequence[str] = (),
    margins: Iterable[str | float] = (),
    all_pairs: bool = False,
    more: Callable[[list[Side], str], None] = lambda _sides, _name: None,
) -> Comparisons | None:
    """Compare the sides of one collection; None if it has none and no name was given. `more` may add numbers to the
    sides."""
    found = side_names(reading().samples, name)
    if found is None:
        return None
    split, names = found
    sides = [side_named(reading(), split, each) for each in names]
    more(sides, split)
    if name is None and not metrics and not shared_metrics(*sides):
        return None  # cases that have not been run yet
    return compare_cases(sides, metrics=metrics, margins=margins, all_pairs=all_pairs)


def side_named(run: Run, split: str, name: str) -> Side:
    """The numbers of one side."""
    side = side_of(run, map(with_outcome, samples_of(run, split, name)))
    side.name = name
    return side


def samples_of(run: Run, split: str, name: str) -> Iterator[Sample]:
    """The samples of one side, with the case id replaced by what pairs them with the other sides."""
    for sample in run.samples:
        if cluster_of(sample, split) == name:
            yield replace(sample, case=replace(sample.case or Case(), id=pair_of(sample)))
