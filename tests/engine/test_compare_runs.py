"""Comparing run files: the sentence, several runs, margins and gates, and the history."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pantrace
from pantrace.engine.compare_runs import Comparisons, distinct_names, exit_code
from pantrace.engine.convert import write_run
from pantrace.errors import UsageError
from pantrace.model import Case, Outcome, Run, Sample, Scale, Score, Trajectory

COST = Scale(low=0, better="lower")


def written(
    path: Path, values: Any, *, name: str = "ok", scale: Scale | None = None, created: float | None = None
) -> str:
    samples = [
        Sample(
            id=f"s{n}",
            case=Case(id=f"c{n}", scenario=f"t{n // 10}"),
            scores=(Score(name=name, value=value, scale=scale),),
        )
        for n, value in enumerate(values)
    ]
    write_run(Run(samples=samples, created=created), path, to="native", measure=False)
    return str(path)


def passing(*shares: int) -> list[bool]:
    """Runs of cases that pass and fail in turn: 42 pass, 58 fail, ..."""
    return [passed for place, count in enumerate(shares) for passed in [place % 2 == 0] * count]


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    """42 and 47 of 100 pass; 13 cases change one way and 8 the other."""
    before = passing(42, 58)
    after = [not passed if n in (*range(8), *range(50, 63)) else passed for n, passed in enumerate(before)]
    return [written(tmp_path / "yesterday.trace.jsonl", before), written(tmp_path / "today.trace.jsonl", after)]


def test_the_answer_is_a_sentence_with_the_runs_names(pair: list[str]) -> None:
    (found,) = pantrace.compare(*pair).comparisons
    assert found.runs == ("yesterday", "today")
    assert found.sentence == (
        "today passes 5 points more cases than yesterday on ok (47 against 42 of 100; 95 % interval -4.2 to +14.5): "
        "not proven. This comparison could have seen 16.5 points; 690 cases would see 5 points."
    )


def test_flips_are_told_both_ways_the_worst_first(pair: list[str]) -> None:
    (found,) = pantrace.compare(*pair).comparisons
    assert [(flip.before, flip.after) for flip in found.flips] == [(1, 0)] * 8 + [(0, 1)] * 13
    (back,) = pantrace.compare(*reversed(pair)).comparisons
    assert sum(flip.after < flip.before for flip in back.flips) == 13


def test_what_it_says_it_needs_would_have_been_enough(pair: list[str]) -> None:
    from pantrace.stats import mcnemar_power

    (found,) = pantrace.compare(*pair).comparisons
    assert found.needed is not None
    assert found.detectable is not None
    assert mcnemar_power(found.needed, 0.08, 0.13) == pytest.approx(0.8, abs=0.03)
    assert mcnemar_power(100, 0.08, 0.08 + found.detectable) == pytest.approx(0.8, abs=0.01)


def test_several_runs_are_one_family(tmp_path: Path) -> None:
    runs = [
        written(tmp_path / f"{name}.trace.jsonl", passing(count, 60 - count))
        for name, count in (("a", 20), ("b", 22), ("c", 45))
    ]
    found = pantrace.compare(*runs)
    assert [each.runs for each in found.comparisons] == [("a", "b"), ("a", "c")]
    assert found.correction == "Holm over 2 tests"
    every = pantrace.compare(*runs, all_pairs=True)
    assert [each.runs for each in every.comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert every.correction == "Holm over 3 tests"
    smallest = min(each.difference.p for each in every.comparisons if each.difference and each.difference.p is not None)
    assert every.comparisons[1].p_adjusted == pytest.approx(3 * smallest)
    # The more is tested, the less could have been seen.
    alone, together = pantrace.compare(*runs[:2]).comparisons[0], every.comparisons[0]
    assert alone.detectable is not None
    assert together.detectable is not None
    assert together.detectable > alone.detectable


@pytest.mark.parametrize(
    ("after", "margins", "code"),
    [
        (passing(420, 580), [0.02], 0),  # the same run
        (passing(425, 575), [0.02], 0),  # a little better, not proven: no worse all the same
        (passing(405, 595), [0.01], 1),  # 15 fail that passed: proven worse, by more than 0.01
        (passing(405, 595), ["ok=3%"], 1),  # 3 % of 0.42 are 0.0126
        (passing(405, 595), [0.05], 0),  # proven worse, and by less than the margin
        (passing(415, 585), [0.005], 3),  # 5 of 1000: neither
        (passing(415, 585), [], 3),
        (passing(430, 570), [], 0),  # proven better
    ],
)
def test_no_worse_than_the_baseline_by_more_than_a_margin(
    tmp_path: Path, after: list[bool], margins: list[Any], code: int
) -> None:
    runs = [written(tmp_path / "a.trace.jsonl", passing(420, 580)), written(tmp_path / "b.trace.jsonl", after)]
    found = pantrace.compare(*runs, margins=margins).comparisons
    assert exit_code(found) == code
    assert ("No worse by more than" in found[0].sentence) == bool(margins)


def test_lower_is_better_turns_the_gate_round(tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    own = dice.normal(0, 0.5, 200)
    costs = [[exp(each) for each in own], [1.3 * exp(each + dice.normal(0, 0.05)) for each in own]]
    cheap, dear = (
        written(tmp_path / f"{name}.trace.jsonl", values, name="price", scale=COST)
        for name, values in zip(("cheap", "dear"), costs, strict=True)
    )
    assert exit_code(pantrace.compare(cheap, dear, margins=["5%"]).comparisons) == 1
    assert exit_code(pantrace.compare(dear, cheap, margins=["5%"]).comparisons) == 0
    assert exit_code(pantrace.compare(cheap, dear, margins=["60%"]).comparisons) == 0
    (found,) = pantrace.compare(cheap, dear).comparisons
    assert (found.kind, found.verdict) == ("positive", "worse")
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(1.3, abs=0.02)
    assert "A typical case has 1.29 times as much" in found.sentence


@pytest.mark.parametrize("margin", ["0", "-1", "nan", "inf", "x", "ok=", "ok=x", "%"])
def test_a_margin_is_a_number_above_nothing(pair: list[str], margin: str) -> None:
    with pytest.raises(UsageError, match="margin"):
        pantrace.compare(*pair, margins=[margin])


def test_a_margin_of_a_metric_that_is_not_compared_is_refused(pair: list[str]) -> None:
    with pytest.raises(UsageError, match="'oh' is not compared; these are: ok"):
        pantrace.compare(*pair, margins=["oh=0.1"])


def test_a_misspelt_metric_names_the_one_that_was_meant(pair: list[str]) -> None:
    known = pantrace.compare(*pair).comparisons[0].metric
    with pytest.raises(UsageError, match=rf"did you mean {known}\?$"):
        pantrace.compare(*pair, metrics=[known[:-2] + known[-1]])


def test_numbers_beyond_all_measure_are_left_out_and_counted(tmp_path: Path) -> None:
    runs = [
        written(tmp_path / f"{name}.trace.jsonl", [1e300, *(1.0 + n + k for n in range(10))], name="m")
        for k, name in enumerate("ab")
    ]
    (found,) = pantrace.compare(*runs).comparisons
    assert (found.common, found.left_out) == (10, 2)
    assert found.difference is not None
    assert found.difference.value == pytest.approx(1)


def test_a_name_that_is_also_an_alias_is_the_number_that_is_there(tmp_path: Path) -> None:
    runs = [
        written(tmp_path / f"{name}.trace.jsonl", [1.0 + n + k for n in range(10)], name="cost")
        for k, name in enumerate("ab")
    ]
    (found,) = pantrace.compare(*runs, metrics=["cost"], margins=["cost=0.5"]).comparisons
    assert (found.metric, found.unit, found.margin) == ("cost", None, 0.5)


def test_five_pairs_say_that_they_cannot_show_anything(tmp_path: Path) -> None:
    runs = [written(tmp_path / f"{name}.trace.jsonl", [value] * 5) for name, value in (("a", False), ("b", True))]
    (found,) = pantrace.compare(*runs).comparisons
    assert (found.verdict, found.detectable) == ("inconclusive", None)
    assert "So few cannot show a difference: p is never below 0.0625." in found.sentence


def test_names_are_as_long_as_it_takes() -> None:
    assert distinct_names(["results/yesterday", "results/today"]) == ["yesterday", "today"]
    assert distinct_names(["a/run.eval", "b/run.eval"]) == ["a/run", "b/run"]
    assert distinct_names(["/x/run.trace.jsonl.zst", "./other"]) == ["run", "other"]
    assert distinct_names(["run", "run"]) == ["run #1", "run #2"]
    assert distinct_names(["x/run", "x/run", "x/other"]) == ["x/run #1", "x/run #2", "x/other"]
    assert distinct_names([".eval", "b"]) == [".eval", "b"]


# History


def history(tmp_path: Path, *passed: int, times: bool = True) -> list[str]:
    return [
        written(
            tmp_path / f"day{day}.trace.jsonl",
            passing(count, 100 - count),
            created=1e9 + day * 86400 if times else None,
        )
        for day, count in enumerate(passed)
    ]


def test_a_history_marks_the_changes_that_hold_up(tmp_path: Path) -> None:
    runs = history(tmp_path, 50, 52, 70, 71, 60)
    found = pantrace.trend(*reversed(runs))
    assert found.runs == ("day0", "day1", "day2", "day3", "day4")
    assert (found.in_time, found.correction) == (True, "Bonferroni over 4 tests")
    (points,) = [each.points for each in found.trends]
    assert [point.holds_up for point in points] == [False, False, True, False, True]
    assert [point.change.runs[0] if point.change else None for point in points] == [
        None,
        "day0",
        "day0",
        "day2",
        "day2",
    ]
    assert points[4].change is not None
    assert points[4].change.verdict == "worse"
    assert points[0].estimate is not None
    assert (points[0].estimate.value, points[0].estimate.method) == (0.5, "Wilson")


def test_a_slow_slide_is_seen_where_no_step_is(tmp_path: Path) -> None:
    """Three cases fewer each day: against the day before nothing is proven, against the last level it is."""
    runs = history(tmp_path, 80, 77, 74, 71, 68)
    steps = [pantrace.compare(*runs[day : day + 2]).comparisons[0].verdict for day in range(4)]
    assert set(steps) == {"inconclusive"}
    assert any(point.holds_up for point in pantrace.trend(*runs).trends[0].points)


def test_runs_that_do_not_say_when_stand_as_given(tmp_path: Path) -> None:
    runs = history(tmp_path, 50, 52, 70, times=False)
    found = pantrace.trend(runs[2], runs[0], runs[1])
    assert (found.runs, found.in_time) == (("day2", "day0", "day1"), False)


def test_a_history_of_one_run_or_of_nothing_is_refused(tmp_path: Path) -> None:
    runs = history(tmp_path, 50, 52)
    with pytest.raises(UsageError, match="two or more runs"):
        pantrace.trend(runs[0])
    with pytest.raises(UsageError, match="there are: ok"):
        pantrace.trend(*runs, metrics=["oK"])
    with pytest.raises(UsageError, match="two runs"):
        pantrace.compare(runs[0])


def test_false_marks_in_a_history_are_rare(tmp_path: Path) -> None:
    from pantrace.engine.compare import compare_metric
    from pantrace.engine.compare_side import side_of

    dice, marked, draws = np.random.default_rng(3), 0, 60
    for _ in range(draws):
        own = dice.beta(2, 2, 40)
        sides = [
            side_of(
                Run(),
                [
                    Sample(id=str(n), scores=(Score(name="ok", value=bool(dice.random() < p)),))
                    for n, p in enumerate(own)
                ],
            )
            for _ in range(5)
        ]
        marked += any(compare_metric("ok", sides[0], side, 4).verdict != "inconclusive" for side in sides[1:])
    assert marked / draws <= 0.1


def test_clusters_are_honoured_through_the_whole_way(tmp_path: Path) -> None:
    runs = [
        written(tmp_path / "a.trace.jsonl", passing(60)),
        written(tmp_path / "b.trace.jsonl", [n < 40 for n in range(60)]),
    ]
    plain: Comparisons = pantrace.compare(*runs)
    clustered = pantrace.compare(*runs, cluster="task")
    assert (plain.comparisons[0].verdict, clustered.comparisons[0].verdict) == ("worse", "inconclusive")
    with pytest.raises(UsageError, match="no case has it"):
        pantrace.compare(*runs, cluster="nobody")


def ended(path: Path, answers: Any) -> str:
    """A run whose agent answered (True, False: rightly or not) or broke down (None), faster where it did not think."""
    samples = [
        Sample(
            id=f"c{n}",
            case=Case(id=f"c{n}"),
            trajectory=Trajectory(outcome=Outcome(status="error" if answer is None else "unscored")),
            scores=(
                Score(name="right", value=answer, status="not_applicable" if answer is None else "scored"),
                Score(name="seconds", value=1.0 + n / 100 + (answer is not None), scale=COST),
            ),
        )
        for n, answer in enumerate(answers)
    ]
    write_run(Run(samples=samples), path, to="native", measure=False)
    return str(path)


def test_an_agent_that_breaks_down_does_not_win_by_being_quick(tmp_path: Path) -> None:
    good = ended(tmp_path / "good.trace.jsonl", [True] * 12)
    found = pantrace.compare(good, ended(tmp_path / "bad.trace.jsonl", [None] * 12)).comparisons
    assert {each.metric: each.verdict for each in found} == {
        "right": "inconclusive",
        "seconds": "better",
        "outcome.broken": "worse",
    }
    silent = next(each for each in found if each.metric == "right")
    assert (silent.without_second, silent.sentence) == (
        12,
        "right: not compared (bad has no number in 12 of 12 cases in which good has one).",
    )
    assert exit_code(found) == 1
    # Without the mishaps, too: nobody knows that it is no worse.
    assert exit_code([each for each in found if each.metric != "outcome.broken"]) == 3


def test_what_breaks_down_in_hard_cases_is_not_called_as_good(tmp_path: Path) -> None:
    good = ended(tmp_path / "good.trace.jsonl", [True] * 40 + [False] * 20)
    half = ended(tmp_path / "half.trace.jsonl", [True] * 40 + [None] * 20)
    (found,) = pantrace.compare(good, half, metrics=["right"], margins=[0.2]).comparisons
    assert (found.verdict, found.no_worse, found.without_second) == ("equivalent", None, 20)
    assert "Left out: half has no number in 20 of 60 cases in which good has one." in found.sentence
    (back,) = pantrace.compare(half, good, metrics=["right"], margins=[0.2]).comparisons
    assert (back.no_worse, back.without_first) == (True, 20)


def test_that_nothing_broke_down_is_no_news(tmp_path: Path) -> None:
    paths = [ended(tmp_path / f"{name}.trace.jsonl", [True, False] * 10) for name in "ab"]
    assert [each.metric for each in pantrace.compare(*paths).comparisons] == ["right", "seconds"]
