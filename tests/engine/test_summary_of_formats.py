"""The summary of 2,000 samples of five formats equals what adding up their scores one by one gives."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from goldens import ROOT
from pantrace.engine.convert import write_run
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.measure import case_of
from pantrace.engine.plan import Plan, prepare
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.reduce import estimate_of, moments_of
from pantrace.engine.reliability import reliability_of
from pantrace.engine.summary import MetricSummary, summarise
from pantrace.metrics import measure_named
from pantrace.metrics.pooling import Sums
from pantrace.model import Case, Maker, Run, Sample, Scale, Score, Step, numbers_of
from pantrace.store import RunDirectory
from pantrace.wire.inspect_grades import GRADES

RECORDINGS = {
    "opencode": "bad_tool_calls.json",
    "adk-history": "two_cases.evalset_result.json",
    "inspect": "basic.eval",
    "tau-bench": "library.json",
    "openadapt-episodes": "demo.json",
}
SAMPLES = 2_000
READY = prepare(Plan(), Path())


def told_again() -> list[Sample]:
    """The golden recordings under new ids: one to four epochs of each case, tokens that differ, grades of a judge that
    was sometimes not heard or that broke down."""
    sources = [
        (name, sample)
        for name, file in RECORDINGS.items()
        for sample in read_pile([ROOT / name / file], notes=Notes()).samples
    ]
    assert {name for name, _ in sources} == RECORDINGS.keys()
    found: list[Sample] = []
    case = 0
    while len(found) < SAMPLES:
        name, sample = sources[case % len(sources)]
        for epoch in range(1, case // len(sources) % 4 + 2):
            number = len(found)
            trajectory = sample.trajectory and replace(
                sample.trajectory, steps=tuple(_with_more_tokens(step, number) for step in sample.trajectory.steps)
            )
            found.append(
                replace(
                    sample,
                    id=f"sample {case}",
                    epoch=epoch,
                    case=replace(sample.case or Case(), id=f"case {case}", labels={"source": name}),
                    trajectory=trajectory,
                    scores=(*sample.scores, _graded(number)),
                )
            )
        case += 1
    return found[:SAMPLES]


def _with_more_tokens(step: Step, number: int) -> Step:
    if step.usage is None or step.usage.input is None:
        return step
    total = step.usage.total
    usage = replace(step.usage, input=step.usage.input + number, total=None if total is None else total + number)
    return replace(step, usage=usage)


def _graded(number: int) -> Score:
    maker = Maker(kind="rubric", name="helpful")
    if number % 7 == 0:
        return Score(name="helpful", status="unscored", explanation="the judge was not heard", maker=maker)
    if number % 11 == 0:
        return Score(name="helpful", status="failed", explanation=f"broke down at {number}", maker=maker)
    return Score(name="helpful", value=number % 3 == 0, maker=maker)


class Key(NamedTuple):
    """One line of the summary."""

    measure: str
    maker: str | None
    group: str | None


class OneByOne:
    """The slow path: every number of every sample, held."""

    def __init__(self, out: Path) -> None:
        self.values: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self.sums: dict[Key, Sums] = defaultdict(Sums)
        self.statuses: dict[Key, Counter[str]] = defaultdict(Counter)
        self.samples = 0
        for result in RunDirectory.open(out).results():
            self.samples += 1
            case, trajectory = result.sample.case, result.sample.trajectory
            assert case is not None
            groups = [f"{name}={value}" for name, value in case.labels.items()]
            took_part = trajectory.agents[0].name if trajectory is not None and trajectory.agents else None
            groups.append(f"agent={case.agent or took_part or '(none)'}")
            for score in (*result.sample.scores, *result.scores):
                for group in (None, *groups):
                    self._add(score, case_of(result.sample), group)

    def _add(self, score: Score, case: str, group: str | None) -> None:
        maker = score.maker.kind if score.maker is not None else None
        name = Key(score.name, maker, group)
        self.statuses[name][score.status] += 1
        self.sums[name].add(score.values)
        if score.status == "scored" and score.value in GRADES:
            score = replace(score, value=GRADES[score.value])
        for address, number in numbers_of(score):
            self.values[Key(address, maker, group)][case].append(number)


def test_two_thousand_samples_of_five_formats_add_up_as_they_do_one_by_one(tmp_path: Path) -> None:
    write_run(Run(samples=told_again()), tmp_path / "in.trace.jsonl", to="native", measure=False)
    out = tmp_path / "out"
    evaluate_into([tmp_path / "in.trace.jsonl"], out, READY, "")
    summary, slow = summarise(out, READY.checks), OneByOne(out)
    assert summary.samples == slow.samples == SAMPLES
    quick = {Key(each.metric, each.maker, each.group): each for each in (*summary.metrics, *summary.groups)}
    assert {key for key in slow.values if key.group is None} == {
        key for key, each in quick.items() if key.group is None and each.estimate is not None
    }
    assert {key.group for key in quick} >= {None, *(f"source={name}" for name in RECORDINGS)}
    for key, each in quick.items():
        if key.group is not None or each.estimate is not None:
            _assert_equal(each, slow, key)
    told: Counter[str] = sum((each for key, each in slow.statuses.items() if key.group is None), Counter())
    found = summary.denominator
    assert (found.not_applicable, found.unscored, found.failed) == tuple(
        told[status] for status in ("not_applicable", "unscored", "failed")
    )
    assert found.unscored > 200 and found.failed > 100
    graded = quick[Key("helpful", "rubric", None)]
    assert graded.why_not == "the judge was not heard"
    assert graded.reliability is not None and list(graded.reliability.pass_hat) == ["1", "2", "3", "4"]


def _assert_equal(quick: MetricSummary, slow: OneByOne, key: Key) -> None:
    values = slow.values[key]
    measure = measure_named(key.measure) if key.maker == "check" else None
    name = Key(measure.metric if measure else key.measure, key.maker, key.group)
    statuses = slow.statuses[name]
    assert quick.scored == sum(map(len, values.values())) or not values, key
    assert quick.unscored == statuses["unscored"] + statuses["failed"], key
    if quick.estimate is None:
        return
    binary = measure.yes_or_no if measure else True
    scale = Scale(low=measure.low, high=measure.high) if measure else None
    expected = estimate_of(moments_of(values), binary=binary, **({"scale": scale} if scale else {}))
    assert expected is not None
    found = quick.estimate
    assert (found.n, found.method, found.note) == (expected.n, expected.method, expected.note), key
    # Sums in another order differ in their last bits; of spreads, as much of the square of the numbers.
    for mine, other in ((found.value, expected.value), (found.low, expected.low), (found.high, expected.high)):
        assert mine == (other if other is None else pytest.approx(other, rel=1e-9)), key
    if measure is not None and measure.pooling != "mean":
        assert quick.together is not None
        assert quick.together.value == pytest.approx(slow.sums[name].pooled(measure)[0], rel=1e-12), key
    if quick.reliability is not None:
        tasks = Counter((len(each), round(sum(each))) for each in values.values())
        expected_reliability = reliability_of((trials, yes, cases) for (trials, yes), cases in tasks.items())
        assert expected_reliability is not None
        for k, estimate in quick.reliability.pass_hat.items():
            assert estimate.value == pytest.approx(expected_reliability.pass_hat[k].value, rel=1e-12), key
