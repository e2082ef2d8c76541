"""Numbers over all samples together, from the rows of a run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldens import ROOT
from pantrace.engine.convert import write_run
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.measure import scores_of
from pantrace.engine.plan import MeasureTable, Plan, ReferenceTable, load_plan, prepare
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.reports import as_markdown
from pantrace.engine.summary import EvalSummary, summarise
from pantrace.engine.totals import Total, total_words, totals_of
from pantrace.metrics import by_name
from pantrace.model import Case, Maker, Run, Sample, Score, Step, Text, Trajectory, Usage
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


def together(summary: EvalSummary, metric: str, group: str | None = None) -> tuple[Total, ...]:
    (found,) = [
        each
        for each in (*summary.metrics, *summary.groups)
        if (each.metric, each.maker, each.group) == (metric, "check", group)
    ]
    return found.together


def test_what_has_no_number_is_counted_and_no_zero(tmp_path: Path) -> None:
    summary = summarise(evaluated(SAMPLES, tmp_path))
    (found,) = together(summary, "cache_efficiency")
    assert (found.how, found.value, found.n, found.without) == ("pooled", 0.9, 2, 1)
    (mean,) = [each.estimate for each in summary.metrics if each.metric == "cache_efficiency"]
    assert mean is not None and mean.value == 0.5


def test_a_metric_that_nobody_could_measure_comes_to_nothing(tmp_path: Path) -> None:
    summary = summarise(evaluated(SAMPLES, tmp_path))
    assert together(summary, "tool_success_rate") == ()
    assert together(summary, "gui") == ()


def test_groups_have_their_own(tmp_path: Path) -> None:
    summary = summarise(evaluated(SAMPLES, tmp_path))
    (short,) = together(summary, "cache_efficiency", "kind=short")
    (long,) = together(summary, "cache_efficiency", "kind=long")
    assert (short.value, short.n, short.without) == (0.0, 1, 1)
    assert (long.value, long.n, long.without) == (1.0, 1, 0)


def test_stored_rows_give_what_measuring_gives(tmp_path: Path) -> None:
    """The bundled recordings: every check, and two numbers by SQL."""
    evaluate_into([EXAMPLES], tmp_path / "out", READY, "")
    summary = summarise(tmp_path / "out", READY.checks)
    samples = list(read_pile([EXAMPLES], notes=Notes()).samples)
    pooled = 0
    for check, settings in READY.checks:
        fresh = totals_of(check, [each for sample in samples for each in scores_of(sample, [(check, settings)])])
        assert [(each.name, each.how, each.n, each.without) for each in together(summary, check.name)] == [
            (each.name, each.how, each.n, each.without) for each in fresh
        ]
        for one, other in zip(together(summary, check.name), fresh, strict=True):
            # Samples come in the order of part names, so that a sum of floats may differ in its last bit.
            assert one.value == (pytest.approx(other.value) if isinstance(other.value, float) else other.value)
            pooled += one.how in ("pooled", "sum")
    assert pooled == 7
    sums = "sum((details->>'successful_tool_calls')::int) / sum((details->>'total_tool_calls')::int)"
    asked = query(tmp_path / "out", f"select {sums} from scores where name = 'tool_success_rate'").rows[0][0]
    assert together(summary, "tool_success_rate")[0].value == asked
    cost = query(tmp_path / "out", "select sum(value) from scores where name = 'token_usage'").rows[0][0]
    assert together(summary, "token_usage")[0].value == pytest.approx(cost)


def test_gui_metrics_are_told_but_stand_in_no_table(tmp_path: Path) -> None:
    episodes = EXAMPLES / "openadapt/login"
    plan = Plan(measure=MeasureTable(metrics=("gui",)), reference=ReferenceTable(path=str(episodes)))
    evaluate_into([episodes], tmp_path / "out", prepare(plan, Path()), "")
    found = together(summarise(tmp_path / "out"), "gui")
    told = {each.name: (each.how, each.value) for each in found if not each.labels}
    assert (told["num_steps"], told["episode_success_rate"]) == (("count", 3), ("rate", 1.0))
    assert {each.labels["action_type"] for each in found if each.labels} >= {"click"}
    assert total_words(found) == ""


def test_a_second_run_and_a_summary_without_the_source_say_the_same(tmp_path: Path) -> None:
    out = evaluated(SAMPLES, tmp_path)
    first = summarise(out, READY.checks)
    assert evaluate_into([tmp_path / "in.trace.jsonl"], out, READY, "").measured == 0
    assert summarise(out, READY.checks) == first
    (tmp_path / "in.trace.jsonl").unlink()
    assert summarise(out) == first


def test_what_an_earlier_run_left_in_the_input_is_not_counted_twice(tmp_path: Path) -> None:
    first = evaluated(SAMPLES, tmp_path)
    changed = Score(name="token_usage", value=99.0, maker=by_name("token_usage").maker)
    again = tmp_path / "again"
    again.mkdir()
    second = evaluated(
        (*read_pile([first], notes=Notes()).samples, *(with_score(each, changed) for each in renamed(SAMPLES))), again
    )
    cost = together(summarise(first), "token_usage")[0]
    both = together(summarise(second), "token_usage")[0]
    assert cost.n == 3 and both.n == 6
    assert both.value == pytest.approx(2 * float(cost.value or 0))


def test_scores_of_another_version_or_of_nobody_do_not_count(tmp_path: Path) -> None:
    strange = (
        Score(name="wasted_tail", value=0.5, maker=Maker(name="wasted_tail", kind="check", version="0")),
        Score(name="wasted_tail", value=0.5, maker=Maker(name="wasted_tail")),
    )
    out = evaluated((Sample(id="x", scores=strange),), tmp_path)
    assert together(summarise(out), "wasted_tail") == ()


def renamed(samples: tuple[Sample, ...]) -> list[Sample]:
    return [Sample(id=f"{each.id}2", trajectory=each.trajectory) for each in samples]


def with_score(sample: Sample, score: Score) -> Sample:
    return Sample(id=sample.id, trajectory=sample.trajectory, scores=(score,))


PLUGIN = """
from pantrace.metrics import Measurement, metric
from pantrace.metrics.pooling import ratio_of_sums, sums


@metric(aggregate=sums)
def words(sample, settings):
    '''Words.'''
    return Measurement(value=len(sample.id))


@metric(aggregate=ratio_of_sums("here", "gone"))
def broken(sample, settings):
    '''Its details lack what its aggregate needs.'''
    return Measurement(value=1, details={"here": 1})


@metric(aggregate=lambda scores: [3])
def odd(sample, settings):
    '''Its aggregate is none.'''
    return Measurement(value=1)
"""


def test_plugins_bring_their_aggregates_and_a_broken_one_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PLUGIN)
    (tmp_path / "plan.toml").write_text('[measure]\nmetrics = ["words", "broken", "odd"]\nplugins = ["own.py"]\n')
    write_run(Run(samples=SAMPLES), tmp_path / "in.trace.jsonl", to="native", measure=False)
    plan, text, folder = load_plan(tmp_path / "plan.toml")
    ready = prepare(plan, folder)
    evaluate_into([tmp_path / "in.trace.jsonl"], tmp_path / "out", ready, text)
    summary = summarise(tmp_path / "out", ready.checks)
    assert total_words(together(summary, "words")) == "3 sum"
    (broken,), (odd,) = together(summary, "broken"), together(summary, "odd")
    assert (broken.how, broken.value, broken.why_not) == ("failed", None, "its aggregate raised KeyError: 'gone'")
    assert odd.why_not == "its aggregate raised TypeError: it returned 3 among its aggregates"
    # A gate has no plugins at hand: it does not guess.
    assert together(summarise(tmp_path / "out"), "words") == ()


def test_markdown_and_json_show_the_number(tmp_path: Path) -> None:
    out = evaluated(SAMPLES, tmp_path)
    line = next(each for each in as_markdown(summarise(out), "T").splitlines() if "| cache_efficiency" in each)
    assert line.split(" | ")[3:] == ["0.9 pooled (without 1 sample)", "2", "1", "0 |"]
    (found,) = json.loads(encode(together(summarise(out), "cache_efficiency")))
    assert found == {"name": "cache_efficiency", "how": "pooled", "value": 0.9, "n": 2, "without": 1}
