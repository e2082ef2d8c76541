"""The summary of a run directory: one estimand, one denominator, sums by SQL that equal those made one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from goldens import ROOT
from pantrace.engine.convert import write_run
from pantrace.engine.decided_words import decision_words
from pantrace.engine.denominator import Denominator, denominator_words
from pantrace.engine.evaluate import decide_again, evaluate_into
from pantrace.engine.measure import case_of, scores_of
from pantrace.engine.plan import GateTable, MeasureTable, Plan, ReferenceTable, load_plan, prepare
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.reduce import Total, estimate_of, moments_of, total_words
from pantrace.engine.reliability import reliability_words
from pantrace.engine.reports import as_junit, as_markdown
from pantrace.engine.summary import DecisionSummary, EvalSummary, MetricSummary, gate_code, summarise
from pantrace.engine.where import parse_where
from pantrace.errors import UsageError
from pantrace.library.gate import decide_as_planned
from pantrace.metrics import by_name, measure_named
from pantrace.metrics.pooling import Sums
from pantrace.model import (
    Case,
    Maker,
    Outcome,
    Run,
    Sample,
    Scale,
    Score,
    Step,
    Text,
    Trajectory,
    Usage,
    numbers_of,
)
from pantrace.policy import Profile
from pantrace.store import query
from pantrace.wire.json import encode

EXAMPLES = ROOT.parent.parent / "examples"
READY = prepare(Plan(), Path())


def cached(name: str, tokens: int, hits: int | None, **labels: str) -> Sample:
    usage = Usage(input=tokens, output=1, cache_read=hits)
    step = Step(role="agent", model="gemini-2.5-flash", parts=(Text(text="x"),), usage=usage)
    return Sample(id=name, case=Case(labels=labels), trajectory=Trajectory(steps=(step,)))


SAMPLES = (cached("a", 100, 0, kind="short"), cached("b", 900, 900, kind="long"), cached("c", 50, None, kind="short"))


def evaluated(samples: tuple[Sample, ...], folder: Path) -> Path:
    write_run(Run(samples=samples), folder / "in.trace.jsonl", to="native", measure=False)
    evaluate_into([folder / "in.trace.jsonl"], folder / "out", READY, "")
    return folder / "out"


def line(summary: EvalSummary, measure: str, group: str | None = None, maker: str = "check") -> MetricSummary:
    (found,) = [
        each
        for each in (*summary.metrics, *summary.groups)
        if (each.metric, each.maker, each.group) == (measure, maker, group)
    ]
    return found


CACHE = "cache_efficiency.cache_hit_rate"
COST = "token_usage.estimated_cost_usd"


def total(summary: EvalSummary, measure: str, group: str | None = None) -> Total:
    found = line(summary, measure, group).together
    assert found is not None
    return found


def test_what_has_no_number_is_counted_and_no_zero(tmp_path: Path) -> None:
    summary = summarise(evaluated(SAMPLES, tmp_path))
    found = total(summary, CACHE)
    assert (found.how, found.value, found.n, found.without) == ("pooled", 0.9, 2, 1)
    mean = line(summary, CACHE)
    assert mean.estimate is not None and mean.estimate.value == 0.5
    assert (mean.scored, mean.not_applicable, mean.unit, mean.better) == (2, 1, "share", "higher")


def test_a_metric_that_nobody_could_measure_has_a_line_and_comes_to_nothing(tmp_path: Path) -> None:
    summary = summarise(evaluated(SAMPLES, tmp_path))
    for measure in ("tool_success_rate.tool_success_rate", "gui.mean_episode_step_score"):
        assert line(summary, measure).together is None
        assert (line(summary, measure).scored, line(summary, measure).not_applicable) == (0, 3)


def test_groups_have_their_own(tmp_path: Path) -> None:
    summary = summarise(evaluated(SAMPLES, tmp_path))
    short, long = total(summary, CACHE, "kind=short"), total(summary, CACHE, "kind=long")
    assert (short.value, short.n, short.without) == (0.0, 1, 1)
    assert (long.value, long.n, long.without) == (1.0, 1, 0)


def test_sql_gives_what_adding_up_one_by_one_gives(tmp_path: Path) -> None:
    """The bundled recordings, every measure: mean over cases, spread, ends, sums."""
    evaluate_into([EXAMPLES], tmp_path / "out", READY, "")
    summary = summarise(tmp_path / "out", READY.checks)
    values: dict[str, dict[str, list[float]]] = {}
    sums: dict[str, Sums] = {}
    samples = list(read_pile([EXAMPLES], notes=Notes()).samples)
    for sample in samples:
        for score in scores_of(sample, READY.checks):
            sums.setdefault(score.name, Sums()).add(score.values)
            for address, number in numbers_of(score):
                values.setdefault(address, {}).setdefault(case_of(sample), []).append(number)
    found = {each.metric: each for each in summary.metrics if each.maker == "check" and each.estimate is not None}
    assert found.keys() == values.keys()
    for address, numbers in values.items():
        measure = measure_named(address)
        assert measure is not None
        slow = estimate_of(
            moments_of(numbers), binary=measure.yes_or_no, scale=Scale(low=measure.low, high=measure.high)
        )
        quick = found[address].estimate
        assert slow is not None and quick is not None
        assert (quick.value, quick.n, quick.method) == (pytest.approx(slow.value, rel=1e-12), slow.n, slow.method)
        assert (quick.low is None) == (slow.low is None)
        if slow.low is not None:
            assert (quick.low, quick.high) == pytest.approx((slow.low, slow.high), rel=1e-9)
        if measure.pooling != "mean":
            assert total(summary, address).value == pytest.approx(sums[measure.metric].pooled(measure)[0], rel=1e-12)
    assert len(found) > 60


def test_the_mean_is_over_cases_however_often_each_was_repeated(tmp_path: Path) -> None:
    """Case 1 passes 9 of 9, case 2 fails 1 of 1: half of the cases pass."""
    passed = [_ended("one", epoch, "passed") for epoch in range(1, 10)]
    summary = summarise(evaluated((*passed, _ended("two", 1, "failed")), tmp_path))
    found = line(summary, "outcome.success")
    assert found.estimate is not None
    assert (found.estimate.value, found.estimate.n, found.scored) == (0.5, 2, 10)
    assert total(summary, "outcome.success").value == 0.9
    asked = query(tmp_path / "out", "select avg(value) from case_means where measure = 'outcome.success'").rows
    assert asked == [(0.5,)]


def test_repeats_have_pass_hat_k_and_pass_at_k(tmp_path: Path) -> None:
    runs = [_ended("a", epoch, "passed" if epoch < 4 else "failed") for epoch in (1, 2, 3, 4)]
    runs += [_ended("b", epoch, "passed" if epoch < 2 else "failed") for epoch in (1, 2, 3, 4)]
    summary = summarise(evaluated(tuple(runs), tmp_path))
    found = line(summary, "outcome.success").reliability
    assert line(summary, "outcome.limit").reliability is None, "a limit that was reached is no success"
    assert found is not None
    assert (found.cases, found.trials) == (2, 8)
    assert reliability_words(replace(found, cases=1, trials=1)).endswith("(1 case, 1 trial)")
    # (4, 3, 2): pass@2 1, pass^2 1/2; (4, 1, 2): pass@2 1/2, pass^2 0.
    assert (found.pass_at["2"].value, found.pass_hat["2"].value) == (0.75, 0.25)
    assert found.pass_hat["1"].value == 0.5
    assert found.pass_hat["2"].low is not None
    assert list(found.pass_hat) == ["1", "2", "3", "4"]


def test_without_repeats_there_is_no_reliability_to_speak_of(tmp_path: Path) -> None:
    summary = summarise(evaluated((_ended("a", 1, "passed"), _ended("b", 1, "failed")), tmp_path))
    assert line(summary, "outcome.success").reliability is None


def _ended(case: str, epoch: int, status: str) -> Sample:
    outcome = Outcome(status=status)  # type: ignore[arg-type]
    return Sample(id=case, epoch=epoch, case=Case(id=case), trajectory=Trajectory(outcome=outcome))


def test_cases_that_nobody_ran_are_named_and_counted(tmp_path: Path) -> None:
    reference = Run(samples=tuple(Sample(id=name, case=Case(id=name, reference="x")) for name in "abc"))
    write_run(reference, tmp_path / "ref.trace.jsonl", to="native", measure=False)
    write_run(Run(samples=(_ended("a", 1, "passed"),)), tmp_path / "in.trace.jsonl", to="native", measure=False)
    ready = prepare(Plan(reference=ReferenceTable(path=str(tmp_path / "ref.trace.jsonl"))), Path())
    for _ in range(2):
        evaluate_into([tmp_path / "in.trace.jsonl"], tmp_path / "out", ready, "")
        found = summarise(tmp_path / "out").denominator
        assert (found.cases, found.run, found.not_run, found.not_run_cases) == (3, 1, 2, ("b", "c"))
        assert not found.complete
        assert denominator_words(found).startswith("3 cases: 1 run, 2 not run (b, c)")
    # The second input ran them.
    write_run(
        Run(samples=(_ended("b", 1, "failed"), _ended("c", 1, "failed"))),
        tmp_path / "in2.trace.jsonl",
        to="native",
        measure=False,
    )
    evaluate_into([tmp_path / "in.trace.jsonl", tmp_path / "in2.trace.jsonl"], tmp_path / "out", ready, "")
    found = summarise(tmp_path / "out").denominator
    assert (found.cases, found.run, found.not_run, found.complete) == (3, 3, 0, True)


def test_a_gate_asks_for_cases_however_often_each_was_repeated(tmp_path: Path) -> None:
    """Case 1 passes 9 of 9, case 2 fails 1 of 1: nine samples of ten, and half of the cases."""
    samples = (*(_ended("one", epoch, "passed") for epoch in range(1, 10)), _ended("two", 1, "failed"))
    out = evaluated(samples, tmp_path)
    decide_again(out, Profile(name="p", version="1", thresholds={"outcome.success": 1.0}))
    summary = summarise(out)
    (decided,) = summary.decisions
    assert (decided.passed, decided.failed, decided.undecided) == (9, 1, 0)
    assert (decided.cases, decided.pass_rate, decided.pass_rate_at_best) == (2, 0.5, 0.5)
    assert [gate_code(summary, rate) for rate in (0.5, 0.51, 0.9)] == [0, 1, 1]
    # The number that decides stands first, wherever it is told; samples are counted beside it.
    told = decision_words(summary.decisions)
    assert told.startswith("50 % of 2 cases passed p, repeats averaged (95 % interval ")
    assert told.endswith("; of 10 samples, 9 passed, 1 failed")
    words = "p: 50 % of 2 cases, repeats averaged; of 10 samples, 9 passed, 1 failed"
    gate = decide_as_planned(out, summary, GateTable(), min_pass_rate=0.505)
    assert gate.sentence == f"gate (at least 50.5% must pass): failed ({words})"
    suite = ElementTree.fromstring(as_junit(out, summary=summary))[0]
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert properties == {"cases": "2", "pass_rate": "0.5", "decisions": words}
    assert (suite.get("tests"), suite.get("failures")) == ("10", "1")


def test_undecided_samples_leave_a_case_open_between_two_shares(tmp_path: Path) -> None:
    """One case of three: passed, failed, and one without an outcome. A third passed; two thirds at best."""
    unknown = Sample(id="one", epoch=3, case=Case(id="one"), trajectory=Trajectory())
    out = evaluated((_ended("one", 1, "passed"), _ended("one", 2, "failed"), unknown), tmp_path)
    decide_again(out, Profile(name="p", version="1", thresholds={"outcome.success": 1.0}))
    summary = summarise(out)
    (decided,) = summary.decisions
    assert (decided.passed, decided.failed, decided.undecided) == (1, 1, 1)
    assert (decided.pass_rate, decided.pass_rate_at_best) == pytest.approx((1 / 3, 2 / 3))
    assert [gate_code(summary, rate) for rate in (0.3, 1 / 3, 0.5, 2 / 3, 0.7)] == [0, 0, 3, 3, 1]


@pytest.mark.parametrize(
    ("missing", "complete", "code"),
    [
        ({}, True, 0),
        ({"not_run": 1}, False, 0),
        ({"not_run": 1}, True, 3),
        ({"refused": 1}, True, 3),
        ({"left_out": {"not selected": 2}}, True, 3),
        ({"left_out": {"not selected": 0}}, True, 0),
    ],
)
def test_a_gate_can_demand_that_no_case_is_missing(missing: dict[str, Any], complete: bool, code: int) -> None:
    passed = DecisionSummary(
        profile="p", passed=1, failed=0, undecided=0, cases=1, pass_rate=1.0, pass_rate_at_best=1.0, rate=None
    )
    found = Denominator(cases=2, run=1, samples=1, **missing)
    summary = EvalSummary(samples=1, denominator=found, metrics=(), groups=(), decisions=(passed,))
    assert gate_code(summary, 1.0, complete=complete) == code
    # What failed has failed, complete or not.
    failed = replace(summary, decisions=(replace(passed, passed=0, failed=1, pass_rate=0.0, pass_rate_at_best=0.0),))
    assert gate_code(failed, 1.0, complete=complete) == 1


def test_conditions_know_measures() -> None:
    assert parse_where("token_usage.total_tokens>500").values(SAMPLES[1]) == [901.0]
    assert parse_where("tokens<=101").fits(parse_where("tokens<=101").values(SAMPLES[0]))
    stored = replace(SAMPLES[0], scores=(Score(name="token_usage", value=1, values={"total_tokens": 7}),))
    assert parse_where("tokens=7").values(stored) == [7.0]
    with pytest.raises(UsageError, match="is a number, never 'many'"):
        parse_where("tokens=many")
    with pytest.raises(UsageError, match="token_usage"):
        parse_where("token_usage.totl_tokens>1")


def test_an_episode_that_nobody_ran_is_one_of_them(tmp_path: Path) -> None:
    episodes = EXAMPLES / "openadapt/login"
    truth = list(read_pile([episodes], notes=Notes()).samples)
    more = (*truth, *(replace(each, id=f"{each.id}-2", case=None) for each in truth[:1]))
    write_run(Run(samples=more), tmp_path / "ref.trace.jsonl", to="native", measure=False)
    plan = Plan(
        measure=MeasureTable(metrics=("gui",)), reference=ReferenceTable(path=str(tmp_path / "ref.trace.jsonl"))
    )
    evaluate_into([episodes], tmp_path / "out", prepare(plan, Path()), "")
    assert total(summarise(tmp_path / "out"), "gui.num_episodes").value == len(truth) + 1


def test_a_second_run_and_a_summary_without_the_source_say_the_same(tmp_path: Path) -> None:
    out = evaluated(SAMPLES, tmp_path)
    first = summarise(out, READY.checks)
    assert evaluate_into([tmp_path / "in.trace.jsonl"], out, READY, "").measured == 0
    assert summarise(out, READY.checks) == first
    (tmp_path / "in.trace.jsonl").unlink()
    assert summarise(out) == first


def test_what_an_earlier_run_left_in_the_input_is_not_counted_twice(tmp_path: Path) -> None:
    first = evaluated(SAMPLES, tmp_path)
    changed = Score(
        name="token_usage", value=99.0, values={"estimated_cost_usd": 99.0}, maker=by_name("token_usage").maker
    )
    again = tmp_path / "again"
    again.mkdir()
    second = evaluated(
        (*read_pile([first], notes=Notes()).samples, *(with_score(each, changed) for each in renamed(SAMPLES))), again
    )
    cost, both = total(summarise(first), COST), total(summarise(second), COST)
    assert cost.n == 3 and both.n == 6
    assert both.value == pytest.approx(2 * cost.value)
    assert line(summarise(second), COST).scored == 6


def renamed(samples: tuple[Sample, ...]) -> list[Sample]:
    return [Sample(id=f"{each.id}2", trajectory=each.trajectory) for each in samples]


def with_score(sample: Sample, score: Score) -> Sample:
    return Sample(id=sample.id, trajectory=sample.trajectory, scores=(score,))


PLUGIN = """
from pantrace.metrics import Measure, Measurement, metric


@metric(measures=(Measure(name="letters", unit="count", pooling="sum", headline=True), Measure(name="half")))
def words(sample, settings):
    '''Words.'''
    return Measurement(value=len(sample.id), values={"half": len(sample.id) / 2, "undeclared": 7})
"""


def test_plugins_bring_their_measures(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PLUGIN)
    (tmp_path / "plan.toml").write_text('[measure]\nmetrics = ["words"]\nplugins = ["own.py"]\n')
    write_run(Run(samples=SAMPLES), tmp_path / "in.trace.jsonl", to="native", measure=False)
    plan, text, folder = load_plan(tmp_path / "plan.toml")
    ready = prepare(plan, folder)
    evaluate_into([tmp_path / "in.trace.jsonl"], tmp_path / "out", ready, text)
    summary = summarise(tmp_path / "out", ready.checks)
    assert total_words(total(summary, "words.letters"), "count") == "3 sum"
    half, undeclared = line(summary, "words.half").estimate, line(summary, "words.undeclared").estimate
    assert half is not None and undeclared is not None
    assert (half.value, undeclared.value) == (0.5, 7.0)
    # A gate has no plugins at hand: it does not guess.
    assert line(summarise(tmp_path / "out"), "words.letters").together is None


def test_markdown_and_json_show_the_number_with_its_unit(tmp_path: Path) -> None:
    out = evaluated(SAMPLES, tmp_path)
    shown = as_markdown(summarise(out), "T")
    row = next(each for each in shown.splitlines() if f"| {CACHE}" in each)
    assert row.split(" | ")[3:] == ["90 % pooled (1 sample without)", "2", "1", "0 |"]
    assert "3 cases: 3 run; scores:" in shown
    found = json.loads(encode(total(summarise(out), CACHE)))
    assert (found["how"], found["value"], found["n"], found["without"]) == ("pooled", 0.9, 2, 1)


def test_scores_of_earlier_versions_count_under_the_name_of_their_main_measure(tmp_path: Path) -> None:
    old = Score(name="wasted_tail", value=0.5, maker=Maker(name="wasted_tail", kind="check", version="0"))
    write_run(Run(samples=(Sample(id="x", scores=(old,)),)), tmp_path / "in.trace.jsonl", to="native", measure=False)
    ready = prepare(Plan(measure=MeasureTable(metrics=("regex",))), Path())
    evaluate_into([tmp_path / "in.trace.jsonl"], tmp_path / "out", ready, "")
    found = line(summarise(tmp_path / "out"), "wasted_tail.wasted_share")
    assert found.estimate is not None and found.estimate.value == 0.5


def test_words_that_no_scorer_of_inspect_made_are_no_numbers(tmp_path: Path) -> None:
    stored = Sample(id="x", scores=(Score(name="grade", value="C"),))
    judged = Sample(id="y", scores=(Score(name="letter", value="C", maker=Maker(name="letter", kind="rubric")),))
    summary = summarise(evaluated((stored, judged), tmp_path))
    (grade,) = [each for each in summary.metrics if each.metric == "grade"]
    (letter,) = [each for each in summary.metrics if each.metric == "letter"]
    assert grade.estimate is not None and grade.estimate.value == 1.0
    assert (letter.estimate, letter.scored) == (None, 1)


def test_the_scale_is_that_of_a_score_not_of_what_does_not_apply(tmp_path: Path) -> None:
    made, scale = Maker(kind="check", name="rule"), Scale(low=0, high=1)
    scores = [Score(name="RULE", status="not_applicable", maker=made)]
    scores += [Score(name="RULE", value=value, scale=scale, maker=made) for value in (True, True, False)]
    samples = tuple(Sample(id=str(n), case=Case(id=str(n)), scores=(each,)) for n, each in enumerate(scores))
    found = line(summarise(evaluated(samples, tmp_path)), "RULE")
    assert found.estimate is not None
    assert (found.better, found.estimate.method, found.estimate.n) == ("higher", "Wilson", 3)
