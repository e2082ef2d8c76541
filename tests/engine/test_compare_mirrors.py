"""Comparisons the other way round: B against A says of every number the opposite of A against B, whatever the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pantrace.engine.compare import compare_sides
from pantrace.engine.compare_result import Comparison
from pantrace.engine.compare_side import side_of
from pantrace.errors import UsageError
from pantrace.model import Case, Run, Sample, Scale, Score

UNIT, COST = Scale(low=0, high=1), Scale(low=0, better="lower")
OPPOSITE = {"better": "worse", "worse": "better", "higher": "lower", "lower": "higher"}


def samples(values: Any, prefix: str, scale: Scale | None, tasks: Sequence[str] = ()) -> list[Sample]:
    return [
        Sample(
            id=f"{prefix}{n}",
            epoch=epoch,
            case=Case(id=f"{prefix}{n}", labels={"task": tasks[n]} if tasks else {}),
            scores=(Score(name="m", value=value, scale=scale),),
        )
        for n, each in enumerate(values)
        for epoch, value in enumerate(each if isinstance(each, list) else [each], 1)
    ]


def both_ways(one: list[Sample], two: list[Sample], cluster: str | None, margin: float | None) -> list[Comparison]:
    sides = [side_of(Run(), each, cluster=cluster) for each in (one, two)]
    sides[0].name, sides[1].name = "one", "two"
    # The second run's file holds its cases in another order when it comes first.
    turned = [side_of(Run(), each[::-1], cluster=cluster) for each in (two, one)]
    turned[0].name, turned[1].name = "two", "one"
    return [compare_sides(*each, margin=margin)[0] for each in (sides, turned)]


def shapes() -> dict[str, tuple[Any, Any, str, Scale | None, str | None]]:
    dice = np.random.default_rng(7)
    passed = [(dice.random(40) < share).tolist() for share in (0.4, 0.6)]
    again = [[(dice.random(1 + n % 4) < share).tolist() for n in range(20)] for share in (0.4, 0.7)]
    skewed = [dice.lognormal(shift, 1, 40).tolist() for shift in (0, 0.5)]
    gaps = [(dice.lognormal(0, 1, 40) * (dice.random(40) < 0.7)).tolist() for _ in range(2)]
    scores = [dice.random(40).tolist() for _ in range(2)]
    loose = [dice.normal(shift, 1, 40).tolist() for shift in (0, 0.6)]
    return {
        "one pair": ([True], [False], "c", UNIT, None),
        "one case each": ([True], [False], "d", UNIT, None),
        "pass or fail": (*passed, "c", UNIT, None),
        "pass or fail, no pairs": (passed[0], passed[1][:25], "d", UNIT, None),
        "pass or fail, bad": (*passed, "c", Scale(low=0, high=1, better="lower"), None),
        "repeats": (*again, "c", UNIT, None),
        "repeats, no pairs": (*again, "d", UNIT, None),
        "scores": (*scores, "c", UNIT, None),
        "clusters": (*scores, "c", UNIT, "task"),
        "clusters, no pairs": (*scores, "d", UNIT, "task"),
        "cost": (*skewed, "c", COST, None),
        "cost, no pairs": (skewed[0], skewed[1][:30], "d", COST, None),
        "cost with zeros": (*gaps, "c", COST, None),
        "no scale": (*loose, "c", None, None),
        "equal": ([0.5] * 20, [0.5] * 20, "c", UNIT, None),
        "shifted": ([5.0] * 20, [6.0] * 20, "c", COST, None),
        "nothing": ([0.0] * 20, [0.0] * 20, "c", COST, None),
        "large": ([each * 1e60 for each in skewed[0]], [each * 1e60 for each in skewed[1]], "c", COST, None),
    }


@pytest.mark.parametrize("name", list(shapes()))
def test_the_second_run_first_gives_the_opposite(name: str) -> None:
    one, two, prefix, scale, cluster = shapes()[name]
    tasks = [f"t{n // 5}" for n in range(40)]
    for margin in (None, 0.3):
        there, back = both_ways(samples(one, "c", scale, tasks), samples(two, prefix, scale, tasks), cluster, margin)
        a, b = there.difference, back.difference
        assert a is not None and b is not None
        near = {"rel": 1e-9, "abs": 1e-300}
        assert a.value == pytest.approx(-b.value, **near)
        assert (a.low is None) == (b.high is None)
        if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
            assert (a.low, a.high) == (pytest.approx(-b.high, **near), pytest.approx(-b.low, **near))
            assert a.low <= a.value <= a.high
        assert a.p == (None if b.p is None else pytest.approx(b.p, rel=1e-9))
        assert there.detectable == (None if back.detectable is None else pytest.approx(back.detectable, rel=1e-9))
        assert there.needed == back.needed
        assert OPPOSITE.get(there.verdict, there.verdict) == back.verdict
        assert (there.wins, there.losses, there.ties) == (back.losses, back.wins, back.ties)
        if there.ratio is not None and back.ratio is not None:
            assert there.ratio.value == pytest.approx(1 / back.ratio.value)


def test_not_proven_beside_an_interval_without_0_says_why() -> None:
    # Five pairs that all get better: Tango's interval begins at 13 points, McNemar's p is 0.0625.
    there, _ = both_ways(samples([False] * 5, "c", UNIT), samples([True] * 5, "c", UNIT), None, None)
    assert "interval +13.1 to +100): not proven, as p is 0.0625." in there.sentence


def test_proven_worse_is_not_proven_worse_by_more_than_the_margin() -> None:
    dice = np.random.default_rng(1)
    before = dice.normal(10, 1, 50)
    after = before + dice.normal(1, 0.5, 50)
    runs = samples(before.tolist(), "c", COST), samples(after.tolist(), "c", COST)
    for margin, no_worse, words in (
        (0.5, False, "disproved"),
        (1.0, None, "not proven"),
        (1.5, True, "proven"),
    ):
        found = both_ways(*runs, None, margin)[0]
        assert found.difference is not None and found.difference.low is not None and found.difference.high is not None
        assert 0.5 < found.difference.low < 1.0 < found.difference.high < 1.5
        assert found.no_worse is no_worse
        assert found.sentence.endswith(f"No worse by more than {margin:g}: {words}.")


def test_clusters_of_one_case_change_nothing() -> None:
    one, two, *_ = shapes()["pass or fail"]
    alone = [f"t{n}" for n in range(40)]
    runs = samples(one, "c", UNIT, alone), samples(two, "c", UNIT, alone)
    assert both_ways(*runs, "task", None) == both_ways(*runs, None, None)


def test_a_case_that_names_no_cluster_belongs_where_it_does_in_the_other_run() -> None:
    one, two, *_ = shapes()["scores"]
    tasks = [f"t{n // 5}" for n in range(40)]
    told, untold = samples(one, "c", UNIT, tasks), samples(two, "c", UNIT)
    full = both_ways(told, samples(two, "c", UNIT, tasks), "task", None)[0]
    assert both_ways(told, untold, "task", None)[0].difference == full.difference
    others = samples(two, "c", UNIT, [f"u{n // 5}" for n in range(40)])
    with pytest.raises(UsageError, match="'c0' belongs to 't0' in one and to 'u0' in two"):
        both_ways(told, others, "task", None)
