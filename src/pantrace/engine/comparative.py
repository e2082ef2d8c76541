"""Comparative cases: one pile in which several agents were given the same questions, taken apart and compared.

The datasets of seed document 4 hold each question twice, for a single agent and for a workflow of several; reports of
judging them name the agents only. The sides are paired by scenario, else by question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.model import Case, Run, Sample, Score, with_samples
from pantrace.store import RunDirectory

from .compare import shared_metrics
from .compare_runs import Comparisons, compare_cases
from .compare_side import Side, cluster_of, side_of
from .compare_verdicts import PASSED, passed_score, with_outcome
from .evaluate_sample import all_scores

MODE = "workflow_mode"
"""The label that tells the sides of comparative cases apart."""
AGENT = "agent"
_BASELINE = "single-agent"
"""What the other side is held against: how its name ends."""
Reading = Callable[[], Run]
"""Opens the pile once more."""


def compare_evaluated(directory: Path) -> Comparisons | None:
    """The sides of a run directory that holds comparative cases or a report of them; None where it holds others."""
    first = next(iter(RunDirectory.open(directory).samples()), None)
    source = first.trajectory.source if first is not None and first.trajectory is not None else None
    case = first.case if first is not None else None
    if case is None or not (MODE in case.labels or (case.scenario and (source is None or source.format == "explain"))):
        return None
    return compare_split(lambda: _decided(directory))


def _decided(directory: Path) -> Run:
    """A run directory with the decision on each sample, where there is one, as its score `passed`."""
    opened = RunDirectory.open(directory)

    def samples() -> Iterator[Sample]:
        for result in opened.results():
            verdicts = [each.passed for each in result.decisions if each.passed is not None]
            verdict: tuple[Score, ...] = ()
            if verdicts:
                verdict = (passed_score(all(verdicts)),)
            elif result.decisions:
                # What the run could not decide is not decided by what the source says of it.
                verdict = (Score(name=PASSED, status="unscored", explanation="could not be decided"),)
            yield replace(result.sample, scores=(*all_scores(result.sample, result.scores), *verdict))

    return with_samples(opened.run(), samples())


def side_names(samples: Iterable[Sample], name: str | None) -> tuple[str, list[str]] | None:
    """By what a pile is taken apart, and the sides, the baseline first; None where it holds no comparative cases.

    Without a name: by the workflow's mode, else by agent where every question was put to several."""
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
    """What the samples of both sides share: scenario, else question, else the case's id."""
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
    """Compare the sides of one pile; None where it has none and no name was given. `more` may add numbers to them."""
    found = side_names(reading().samples, name)
    if found is None:
        return None
    split, names = found
    sides = [side_named(reading(), split, each) for each in names]
    more(sides, split)
    if name is None and not metrics and not shared_metrics(*sides):
        return None  # cases that have still to be run
    return compare_cases(sides, metrics=metrics, margins=margins, all_pairs=all_pairs)


def side_named(run: Run, split: str, name: str) -> Side:
    """The numbers of one side."""
    side = side_of(run, map(with_outcome, samples_of(run, split, name)))
    side.name = name
    return side


def samples_of(run: Run, split: str, name: str) -> Iterator[Sample]:
    """The samples of one side; the case's id is what they share with those of the others."""
    for sample in run.samples:
        if cluster_of(sample, split) == name:
            yield replace(sample, case=replace(sample.case or Case(), id=pair_of(sample)))
