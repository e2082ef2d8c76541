"""The sides of a comparison: the numbers of one run, by measure and case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite

from pantrace.errors import UsageError
from pantrace.metrics import full_address, measure_named
from pantrace.model import Measure, Run, Sample, Scale, Score, Unit
from pantrace.wire.closest_name import closest_name
from pantrace.wire.inspect_grades import GRADES

LARGEST = 1e70
"""Larger numbers are left out: no measurement is that large, and their fourth power overflows a float."""


@dataclass
class Side:
    """The numbers of one run, by measure and case."""

    name: str
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """metric or measure -> case -> values, one for each epoch."""
    binary: dict[str, bool] = field(default_factory=dict)
    scales: dict[str, Scale | None] = field(default_factory=dict)
    """The ends of the scale; None if they are not declared."""
    better: dict[str, str | None] = field(default_factory=dict)
    units: dict[str, Unit | None] = field(default_factory=dict)
    spare: set[str] = field(default_factory=set)
    """Measures that are compared only if they are named: every additional test makes all others harder to prove."""
    left_out: Counter[str] = field(default_factory=Counter)
    """metric -> scores that are not numbers: unscored, failed, not applicable."""
    clusters: dict[str, str] = field(default_factory=dict)
    """case -> cluster."""
    tasks: dict[str, str] = field(default_factory=dict)
    """case -> the task or scenario that it names, if clusters were not requested."""
    labels: set[str] = field(default_factory=set)
    """Names of the cases' labels, if clusters were requested."""
    cases: set[str] = field(default_factory=set)
    created: float | None = None
    """When the run was made."""
    _plain: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict, compare=False)
    """score -> its key -> case -> values, for measures that are certainly not yes or no (see `add_values`)."""

    def add(self, name: str, case: str, number: float, score: Score) -> None:
        """Keep one number of a case, with what is declared about it; a number that is too large is left out."""
        # Counted as left out, so that the reader learns that a number is missing.
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
            self.binary[name] = number in (0.0, 1.0) and may_be_yes(name, score)

    def add_values(self, score: Score, case: str) -> None:
        """Keep the named numbers of a score, which `numbers_of` would return one by one. Each sample has dozens, and a
        comparison spends most of its time here."""
        plain = self._plain.setdefault(score.name, {})
        for key, number in score.values.items():
            cases = plain.get(key)
            if cases is not None and number is not None and -LARGEST <= number <= LARGEST:
                if (found := cases.get(case)) is None:
                    cases[case] = [float(number)]
                else:
                    found.append(float(number))
                continue
            address = f"{score.name}.{key}"
            if number is None:
                self.left_out[address] += 1
            elif isfinite(number):
                self.add(address, case, float(number), score)
                # Once a measure had a number other than 0 and 1 it is never yes or no, so the shortcut stays valid.
                if address in self.values and not self.binary[address]:
                    plain[key] = self.values[address]

    def fill(self, name: str, cases: dict[str, list[float]], score: Score, *, yes_or_no: bool) -> None:
        """All numbers of a name at once, with the score of the first one."""
        self._first(name, score)
        self.values[name], self.binary[name] = cases, yes_or_no

    def _first(self, name: str, score: Score) -> dict[str, list[float]]:
        """A place for the numbers of a name, with what is declared about it, or what its first score says."""
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
    """What is declared about a measure; None for rubrics and for scores of a source, even if their name is an alias."""
    found = measure_named(address)
    return found if found is not None and found.address == address else None


def address_among(name: str, *sides: Side) -> str:
    """What a name means here: a number of that name if there is one, otherwise the measure that it abbreviates."""
    return name if any(name in side.values for side in sides) else full_address(name)


def side_of(run: Run, samples: Iterable[Sample], *, cluster: str | None = None, pair_by: str = "case") -> Side:
    """Collect the numbers of a run."""
    side = Side(name=run.name or "run", created=run.created)
    for sample in samples:
        case = note_case(side, sample, cluster, pair_by)
        for score in sample.scores:
            if score.values:
                side.add_values(score, case)
            # The value of a metric of ours is one of its measures, and would be counted twice.
            if not score.values or not is_measured(score.name):
                number_of_all = as_number(score)
                if number_of_all is None:
                    side.left_out[score.name] += 1
                else:
                    side.add(score.name, case, number_of_all, score)
    return side


def note_case(side: Side, sample: Sample, cluster: str | None, pair_by: str) -> str:
    """The case of a sample; the side records it, and its cluster."""
    case = case_of(sample, pair_by)
    side.cases.add(case)
    if cluster is not None and sample.case is not None:
        side.labels.update(sample.case.labels)
    if cluster is not None and (found := cluster_of(sample, cluster)):
        side.clusters[case] = found
    # Tasks are noted even if nobody asked for clusters: `compare` warns if cases of one task are alike.
    elif cluster is None and sample.case is not None and (task := cluster_of(sample, "task")) != sample.case.id:
        side.tasks[case] = task or ""
    return case


@lru_cache(maxsize=1024)
def is_measured(metric: str) -> bool:
    """Whether a metric's numbers are all declared, so that its main value is one of them."""
    return measure_named(metric) is not None


def may_be_yes(name: str, score: Score) -> bool:
    """Whether 0 and 1 mean no and yes for this name: as declared, otherwise as the score suggests."""
    measure = _declared(name)
    return measure.yes_or_no if measure is not None else is_yes_or_no(score, 1.0)


def is_yes_or_no(score: Score, number: float) -> bool:
    """Whether a score means no or yes. A count may happen to be 0 or 1, so numbers whose scale does not end at 1, and
    those of a metric without a scale, do not."""
    if number not in (0.0, 1.0) or isinstance(score.value, bool):
        return number in (0.0, 1.0)
    if score.scale is None:
        return score.maker is None or score.maker.kind != "check"
    return (score.scale.low, score.scale.high) == (0, 1)


def as_number(score: Score) -> float | None:
    """A score as a number; None if there is none. Grades of Inspect count as Inspect counts them."""
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
    """The cluster of a sample: its task, scenario or agent, or the value of that label; None if it has none."""
    case = sample.case
    if case is None:
        return None
    own = {"task": case.scenario or case.id, "scenario": case.scenario, "agent": case.agent}
    return case.labels.get(name) or own.get(name)


def unknown_cluster(cluster: str, labels: Iterable[str]) -> UsageError:
    """The error for a cluster name that no case has a value for."""
    known = ["task", "scenario", "agent", *sorted(set(labels))]
    meant = closest_name(cluster, known)
    hint = f"did you mean {meant}?" if meant else f"cases can be grouped by {', '.join(known)}"
    return UsageError(f"--cluster {cluster!r}: no case has it; {hint}")
