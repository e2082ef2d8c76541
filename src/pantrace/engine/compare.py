"""Compare: did B get better than A, by how much, and how sure is that?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, isfinite

from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.metrics import full_address, measure_named
from pantrace.model import Measure, Run, Sample, Scale, Score, Unit
from pantrace.stats import ALPHA, Estimate, holm
from pantrace.wire.grades import GRADES
from pantrace.wire.meant import meant_by

from .compare_cases import (
    Difference,
    Values,
    average,
    difference_of_pairs,
    difference_of_sides,
    kind_of,
    mean_of,
)
from .compare_notes import notes_of_gaps, notes_of_tasks
from .compare_power import Reach, whole
from .compare_result import Comparison, Flip, Verdict
from .compare_words import sentence_of

MISHAPS = ("outcome.limit", "outcome.broken")
"""Measures of what should not happen, which are compared where it did."""
LARGEST = 1e70
"""No measurement is larger, and fourth powers of larger numbers are none."""


@dataclass
class Side:
    """The numbers of one run, by measure and case."""

    name: str
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """metric or measure -> case -> values, one for each epoch."""
    binary: dict[str, bool] = field(default_factory=dict)
    scales: dict[str, Scale | None] = field(default_factory=dict)
    """Where numbers end; None where nobody says."""
    better: dict[str, str | None] = field(default_factory=dict)
    units: dict[str, Unit | None] = field(default_factory=dict)
    spare: set[str] = field(default_factory=set)
    """Measures that are compared only when they are named: each one more makes all others harder to prove."""
    left_out: Counter[str] = field(default_factory=Counter)
    """metric -> scores that are not numbers: unscored, failed, not applicable."""
    clusters: dict[str, str] = field(default_factory=dict)
    """case -> cluster."""
    tasks: dict[str, str] = field(default_factory=dict)
    """case -> the task or scenario that it names, where nobody asked for clusters."""
    labels: set[str] = field(default_factory=set)
    """Names of the cases' labels, where somebody asked for clusters."""
    cases: set[str] = field(default_factory=set)
    created: float | None = None
    """When the run was made."""
    _addresses: dict[str, dict[str, str]] = field(default_factory=dict)
    """score -> its key -> their address."""

    def add(self, name: str, case: str, number: float, score: Score) -> None:
        """Keep one number of a case, with what is declared of it; one that is too large for its square is left out."""
        if abs(number) > LARGEST:
            self.left_out[name] += 1
            return
        cases = self.values.get(name)
        if cases is None:
            cases = self._first(name, score)
        if (found := cases.get(case)) is None:
            cases[case] = [number]
        else:
            found.append(number)
        if self.binary[name]:
            measure = _declared(name)
            self.binary[name] = (
                is_yes_or_no(score, number) if measure is None else measure.yes_or_no and number in (0.0, 1.0)
            )

    def add_values(self, score: Score, case: str) -> None:
        """Keep the named numbers of a score, which `numbers_of` would give one by one. There are dozens in each sample:
        this is where a comparison spends its time."""
        addresses = self._addresses.setdefault(score.name, {})
        for key, number in score.values.items():
            if (address := addresses.get(key)) is None:
                address = addresses[key] = f"{score.name}.{key}"
            if number is None:
                self.left_out[address] += 1
            elif address in self.values and not self.binary[address] and -LARGEST <= number <= LARGEST:
                cases = self.values[address]
                if case in cases:
                    cases[case].append(float(number))
                else:
                    cases[case] = [float(number)]
            elif isfinite(number):
                self.add(address, case, float(number), score)

    def _first(self, name: str, score: Score) -> dict[str, list[float]]:
        """A place for the numbers of a name, with what is declared of it, or what its first score says."""
        measure = _declared(name)
        self.binary[name] = True
        if measure is None:
            self.scales[name] = score.scale
            self.better[name] = score.scale.better if score.scale is not None else None
        else:
            self.scales[name] = Scale(low=measure.low, high=measure.high, better=measure.better or "higher")
            self.better[name] = measure.better
            self.units[name] = measure.unit
            if not measure.headline:
                self.spare.add(name)
        self.values[name] = {}
        return self.values[name]


@lru_cache(maxsize=1024)
def _declared(address: str) -> Measure | None:
    """What is declared of a measure; None of rubrics, and of scores that a source stores, be their name an alias."""
    found = measure_named(address)
    return found if found is not None and found.address == address else None


def address_among(name: str, *sides: Side) -> str:
    """What a name means here: a number of that name if there is one, else the measure that it is short for."""
    return name if any(name in side.values for side in sides) else full_address(name)


def side_of(run: Run, samples: Iterable[Sample], *, cluster: str | None = None, pair_by: str = "case") -> Side:
    """Collect the numbers of a run."""
    side = Side(name=run.name or "run", created=run.created)
    for sample in samples:
        case = case_of(sample, pair_by)
        side.cases.add(case)
        if cluster is not None and sample.case is not None:
            side.labels.update(sample.case.labels)
        if cluster is not None and (found := cluster_of(sample, cluster)):
            side.clusters[case] = found
        elif cluster is None and sample.case is not None and (task := cluster_of(sample, "task")) != sample.case.id:
            side.tasks[case] = task or ""
        for score in sample.scores:
            if score.values:
                side.add_values(score, case)
            if not score.values or not _is_measured(score.name):
                number_of_all = as_number(score)
                if number_of_all is None:
                    side.left_out[score.name] += 1
                else:
                    side.add(score.name, case, number_of_all, score)
    return side


@lru_cache(maxsize=1024)
def _is_measured(metric: str) -> bool:
    """Whether a metric's numbers are all declared, so that its main value is one of them."""
    return measure_named(metric) is not None


def is_yes_or_no(score: Score, number: float) -> bool:
    """Whether a score stands for no or yes. What counts something may happen to count none or one: numbers whose scale
    does not end at 1, and those of a metric without a scale."""
    if number not in (0.0, 1.0) or isinstance(score.value, bool):
        return number in (0.0, 1.0)
    if score.scale is None:
        return score.maker is None or score.maker.kind != "check"
    return (score.scale.low, score.scale.high) == (0, 1)


def as_number(score: Score) -> float | None:
    """A score as a number; None where there is none. Grades of Inspect count as Inspect counts them."""
    if score.status != "scored" or score.value is None:
        return None
    if isinstance(score.value, str):
        return GRADES.get(score.value)
    return float(score.value) if isfinite(score.value) else None


def case_of(sample: Sample, pair_by: str = "case") -> str:
    """What pairs a sample with those of other runs."""
    if pair_by == "case" and sample.case is not None and sample.case.id:
        return sample.case.id
    return sample.id


def cluster_of(sample: Sample, name: str) -> str | None:
    """What a sample belongs to: its task, scenario or agent, or the value of that label; None where it does not say."""
    case = sample.case
    if case is None:
        return None
    own = {"task": case.scenario or case.id, "scenario": case.scenario, "agent": case.agent}
    return case.labels.get(name) or own.get(name)


def unknown_cluster(cluster: str, labels: Iterable[str]) -> UsageError:
    """The error of a name that no case has anything under."""
    known = ["task", "scenario", "agent", *sorted(set(labels))]
    meant = meant_by(cluster, known)
    hint = f"did you mean {meant}?" if meant else f"cases can be grouped by {', '.join(known)}"
    return UsageError(f"--cluster {cluster!r}: no case has it; {hint}")


Margin = Callable[[str, Estimate | None], float | None]
"""From a metric and the baseline's mean, the difference that does not matter; None where none is set."""


def compare_sides(
    first: Side,
    second: Side,
    *,
    metrics: Sequence[str] = (),
    margin: float | None = None,
    power: bool = True,
) -> list[Comparison]:
    """Every metric that both sides have (or those named), p-values adjusted together. Without `power` it is not said
    what could have been seen, which takes most of the time."""
    return compare_pairs([(first, second)], metrics=metrics, margin=lambda *_: margin, power=power)


def compare_pairs(
    pairs: Sequence[tuple[Side, Side]],
    *,
    metrics: Sequence[str] = (),
    margin: Margin = lambda *_: None,
    power: bool = True,
) -> list[Comparison]:
    """Every metric that both sides of a pair have (or those named), p-values adjusted over all pairs and metrics."""
    found = []
    for pair in pairs:
        chosen = [address_among(name, *pair) for name in metrics]
        if not chosen and (chosen := shared_metrics(*pair)):
            chosen += silent_metrics(*pair)
        found += [_compare(name, *pair) for name in chosen]
    p_values = [each.estimate.p for _, each in found if each.estimate is not None and each.estimate.p is not None]
    adjusted = iter(holm(p_values))
    return [
        with_verdict(
            _with_power(replace(comparison, tests=len(p_values)), each.reach if power else None, each.estimate),
            next(adjusted) if each.estimate is not None and each.estimate.p is not None else None,
            margin(comparison.metric, comparison.first),
        )
        for comparison, each in found
    ]


def compare_metric(metric: str, first: Side, second: Side, tests: int) -> Comparison:
    """One metric of two sides as one of so many tests, by Bonferroni: for tests that are chosen one after another."""
    comparison, found = _compare(metric, first, second)
    p = found.estimate.p if found.estimate is not None else None
    return with_verdict(
        _with_power(replace(comparison, tests=tests), found.reach, found.estimate),
        None if p is None else min(1.0, p * tests),
        None,
    )


def average_of(side: Side, metric: str) -> Estimate | None:
    """The mean of one side over all its cases; None where it has none."""
    values = side.values.get(metric, {})
    return average(values, side.binary.get(metric, False), side.scales.get(metric), side.clusters)


def shared_metrics(*sides: Side) -> list[str]:
    """What all sides have numbers of, but for measures that must be named and for what happened nowhere."""
    return [
        name
        for name in sides[0].values
        if name not in sides[0].spare and all(name in each.values for each in sides) and _is_news(name, sides)
    ]


def silent_metrics(first: Side, second: Side) -> list[str]:
    """What the first has numbers of and the second none, although it has the same cases: an agent that breaks down
    everywhere has no score that would be worse."""
    return [
        name
        for name, cases in first.values.items()
        if name not in first.spare
        and name not in second.values
        and second.cases & cases.keys()
        and _is_news(name, (first,))
    ]


def _is_news(name: str, sides: Sequence[Side]) -> bool:
    """Not that no run broke down or was stopped: each test more makes all others harder to prove."""
    return name not in MISHAPS or any(any(values) for each in sides for values in each.values[name].values())


def _compare(metric: str, first: Side, second: Side) -> tuple[Comparison, Difference]:
    one, two = first.values.get(metric, {}), second.values.get(metric, {})
    told = [side.binary[metric] for side in (first, second) if side.values.get(metric)]
    binary = bool(told) and all(told)
    # In order: what is drawn must not depend on which run was named first, nor on the order of its file.
    common = sorted(case for case in one if case in two)
    only = len(one) - len(common), len(two) - len(common)
    without = _without(one, two, first), _without(two, one, second)
    scale, clusters = first.scales.get(metric), clusters_of_both(first, second)
    if one and two and scale != second.scales.get(metric):
        found = Difference(notes=("the two sides declare different scales, so a difference means nothing",))
    elif common:
        # One row speaks of one set of cases: B - A is the difference.
        one, two = ({case: side[case] for case in common} for side in (one, two))
        found = difference_of_pairs(one, two, binary, clusters, scale)
    else:
        found = difference_of_sides(one, two, binary, (first.clusters, second.clusters), scale)
    warned = () if found.estimate is None else _notes_of_tasks(one, two, first, second)
    better = first.better.get(metric) or ("higher" if binary and scale is None else None)
    comparison = Comparison(
        metric=metric,
        runs=(first.name, second.name),
        first=average(one, binary, scale, clusters),
        second=average(two, binary, second.scales.get(metric), clusters),
        difference=found.estimate,
        ratio=found.ratio,
        verdict="inconclusive",
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        common=len(common),
        only_first=only[0],
        only_second=only[1],
        without_first=without[0],
        without_second=without[1],
        left_out=first.left_out[metric] + second.left_out[metric],
        kind=kind_of(binary, scale, [value for side in (one, two) for values in side.values() for value in values]),
        better=better,
        unit=first.units.get(metric),
        flips=_flips(one, two, better) if common and found.estimate is not None else (),
        notes=(*found.notes, *warned, *notes_of_gaps((first.name, second.name), without, len(common))),
    )
    return comparison, found


def _without(one: Values, two: Values, side: Side) -> int:
    """How many cases a side has without a number, where the other has one."""
    return sum(case in side.cases for case in two if case not in one)


def _notes_of_tasks(one: Values, two: Values, first: Side, second: Side) -> tuple[str, ...]:
    """A word of caution where cases of one task pass and fail together, and are counted each by itself."""
    if first.clusters or second.clusters or not (first.tasks or second.tasks):
        return ()
    if one.keys() == two.keys():
        tasks = [first.tasks.get(case) or second.tasks.get(case, case) for case in one]
        return notes_of_tasks([[mean_of(two[case]) - mean_of(one[case]) for case in one]], [tasks])
    sides = (one, first.tasks), (two, second.tasks)
    values = [[mean_of(each) for each in side.values()] for side, _ in sides]
    return notes_of_tasks(values, [[tasks.get(case, case) for case in side] for side, tasks in sides])


def clusters_of_both(first: Side, second: Side) -> dict[str, str]:
    """What each case belongs to. A case that names nothing in one run belongs where it does in the other."""
    found = dict(first.clusters)
    for case, cluster in second.clusters.items():
        before = found.get(case, case)
        if before != cluster and case not in (before, cluster):
            raise UsageError(
                f"--cluster: case {case!r} belongs to {before!r} in {first.name} and to {cluster!r} in {second.name}; "
                "choose a name that says the same in both runs"
            )
        if before == case:
            found[case] = cluster
    return found


def _flips(one: Values, two: Values, better: str | None) -> tuple[Flip, ...]:
    flips = [Flip(case=case, before=mean_of(one[case]), after=mean_of(two[case])) for case in one]
    changed = (flip for flip in flips if flip.before != flip.after)
    worse = -1 if better == "lower" else 1
    return tuple(sorted(changed, key=lambda flip: (worse * (flip.after - flip.before), flip.case)))


def _with_power(comparison: Comparison, reach: Reach | None, estimate: Estimate | None) -> Comparison:
    """The comparison with the least true difference that its test would have found four times of five, when so many
    are tested together; a note where it could not have found any."""
    tests = comparison.tests
    if reach is None or estimate is None:
        return comparison
    alpha = ALPHA / max(1, tests)
    least = reach.least(alpha) if reach.least_p < alpha else inf
    if least == inf:
        together = f", before it is adjusted for {tests} tests" if tests > 1 else ""
        never = f"p is never below {reach.least_p:.3g}{together}"
        why = never if reach.least_p >= alpha else "not even the largest difference is found four times of five"
        return replace(comparison, notes=(*comparison.notes, f"so few cannot show a difference: {why}"))
    size = abs(estimate.value)
    needed = whole(reach.needed(size, alpha)) if size else None
    return replace(comparison, detectable=least or None, needed=needed)


def with_verdict(found: Comparison, p: float | None, margin: float | None) -> Comparison:
    """The comparison with its adjusted p-value, its verdict and its sentence."""
    verdict: Verdict = "inconclusive"
    difference = found.difference
    no_worse: bool | None = None
    if difference is not None and difference.low is not None and difference.high is not None:
        apart = (difference.low > 0 or difference.high < 0) and p is not None and p < ALPHA
        if margin is not None and -margin <= difference.low and difference.high <= margin:
            verdict = "equivalent"
        elif apart:
            up = difference.value > 0
            if found.better is None:
                verdict = "higher" if up else "lower"
            else:
                verdict = "better" if up == (found.better == "higher") else "worse"
        # The ends of the interval, by how much better the second run is.
        ends = (difference.low, difference.high)
        worst, best = ends if found.better == "higher" else (-ends[1], -ends[0])
        allowed = -(margin or 0.0)
        if verdict in ("better", "equivalent") or (
            found.better is not None and margin is not None and worst >= allowed
        ):
            # Where a number is missing, the second run may have done worse than anybody knows.
            no_worse = None if found.without_second else True
        elif verdict == "worse" and best < allowed:
            no_worse = False
    decided = replace(found, p_adjusted=p, verdict=verdict, margin=margin, no_worse=no_worse)
    return replace(decided, sentence=sentence_of(decided))
