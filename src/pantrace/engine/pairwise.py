"""Pairwise judging: a judge sees the answers of two sides to the same question, without names, in both orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pantrace.errors import UsageError
from pantrace.judges import AnyRubric, Rubric
from pantrace.model import Case, Maker, Sample, Scale, Score, Trajectory, final_response
from pantrace.wire.judge_inputs import judge_inputs_of

from .compare_side import Side
from .judge import Bench, judge_all

SHARE = Scale(low=0, high=1)


@dataclass
class Preferences:
    """The results of one rubric."""

    rubric: str
    pairs: int = 0
    unscored: int = 0
    swayed: int = 0
    """Pairs whose verdict followed the position of an answer and not its content: they count as ties."""
    preferred: dict[str, list[float]] = field(default_factory=dict)
    """Case -> how much the second side is preferred, from -1 to 1, one for each trial."""


def pairwise_rubrics(rubrics: Iterable[AnyRubric]) -> list[Rubric]:
    """The rubrics; a UsageError unless all of them compare two answers."""
    found = []
    for rubric in rubrics:
        if not isinstance(rubric, Rubric) or not rubric.pairwise:
            raise UsageError(f"{rubric.name} grades one answer at a time: use it with `pantrace judge` or `eval`")
        found.append(rubric)
    return found


def prefer(
    first: Iterable[Sample], second: Iterable[Sample], case_of: Callable[[Sample], str], rubric: Rubric, run: Bench
) -> Preferences:
    """Ask about each case that both sides answered; the trials of a case are paired in order."""
    found = Preferences(rubric.name)
    pairs = list(_pairs(_answers(first, case_of), _answers(second, case_of)))
    both = (sample for case, one, two in pairs for sample in (_pair(case, one, two), _pair(case, two, one)))
    highest = max(int(grade) for grade in rubric.grades)
    grades = [scores[0] for _, scores in judge_all(both, [rubric], run)]
    for (case, _, _), one, two in zip(pairs, grades[::2], grades[1::2], strict=True):
        found.pairs += 1
        if not isinstance(one.value, (int, float)) or not isinstance(two.value, (int, float)):
            found.unscored += 1
            continue
        # The two orders should have opposite signs. The same sign twice means that the judge chose a position.
        found.swayed += one.value * two.value > 0
        found.preferred.setdefault(case, []).append((one.value - two.value) / (2 * highest))
    return found


def add_preferences(sides: Sequence[Side], found: Preferences, rubric: Rubric, model: str | None) -> None:
    """The share of each comparison that a side won, as a score of both sides; half each for a tie."""
    maker = Maker(name=rubric.name, kind="rubric", version=rubric.version, model=model)
    for side, sign in zip(sides, (-1, 1), strict=True):
        for case, preferences in found.preferred.items():
            for each in preferences:
                share = (1 + sign * each) / 2
                side.add(rubric.name, case, share, Score(name=rubric.name, value=share, scale=SHARE, maker=maker))
        side.binary[rubric.name] = False
        side.left_out[rubric.name] += found.unscored


def _answers(samples: Iterable[Sample], case_of: Callable[[Sample], str]) -> dict[str, list[Sample]]:
    """The answers of a side by case, reduced to what a judge may see."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        answer = final_response(sample.trajectory) if sample.trajectory is not None else None
        if answer is not None:
            given = judge_inputs_of(sample)
            # The judge must not know whose answer it is: no agent, no label, no id of the case.
            shown = Case(question=given.question, context=given.context, goal=given.goal)
            bare = Sample(id="", case=shown, trajectory=Trajectory(response=answer))
            found.setdefault(case_of(sample), []).append(bare)
    return found


def _pairs(one: dict[str, list[Sample]], two: dict[str, list[Sample]]) -> Iterator[tuple[str, Sample, Sample]]:
    for case, samples in one.items():
        for first, second in zip(samples, two.get(case, ()), strict=False):
            yield case, first, second


def _pair(case: str, first: Sample, second: Sample) -> Sample:
    """Both answers under the question of the first."""
    children = tuple(each.trajectory for each in (first, second) if each.trajectory is not None)
    return Sample(id=case, case=first.case, trajectory=Trajectory(children=children))
