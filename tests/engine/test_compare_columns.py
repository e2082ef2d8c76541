"""A run directory's numbers, read as columns, are those that its records say, in the same order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pantrace.engine.compare_columns import side_of_directory
from pantrace.engine.compare_side import Side, side_of
from pantrace.engine.compare_verdicts import with_outcome
from pantrace.model import Case, Maker, Outcome, RunHeader, Sample, Scale, Score, Trajectory
from pantrace.store import Result, RunDirectory

CHECK = Maker(name="own", kind="check", version="1")


def directory(folder: Path, *parts: list[Result]) -> RunDirectory:
    with RunDirectory.open_for_writing(folder, RunHeader(name="one", created=7.0), "", "hash") as found:
        for number, results in enumerate(parts):
            found.write_part(f"part-{number}", results)
    return RunDirectory.open(folder)


def by_records(found: RunDirectory, cluster: str | None = None, pair_by: str = "case") -> Side:
    run = found.run()
    return side_of(run, map(with_outcome, found.outlines()), cluster=cluster, pair_by=pair_by)


def by_columns(found: RunDirectory, cluster: str | None = None, pair_by: str = "case") -> Side | None:
    return side_of_directory(found.path, found.header, cluster=cluster, pair_by=pair_by)


def assert_same(one: Side | None, two: Side) -> None:
    assert one == two
    assert one is not None
    # Equal dictionaries may differ in their order, which tables and sums go by.
    assert list(one.values) == list(two.values)
    assert [[*cases.items()] for cases in one.values.values()] == [[*cases.items()] for cases in two.values.values()]


VALUES: list[Any] = [0, 1, 0.5, True, False, "C", "I", "fine", None, 3, -2.25, 1e80]
SCALES = [None, Scale(low=0, high=1), Scale(low=1, high=5, better="lower"), Scale(low=0)]
MAKERS = [None, CHECK, Maker(name="judge", kind="rubric"), Maker(name="source")]
# "own.part" is also what the key "part" of the score "own" is called.
NAMES = ["own", "own.part", "outcome", "passed", "reward", "token_usage", "tool_success_rate", "seldom"]
KEYS = ["part", "total_tokens", "input_tokens", "success", "limit", "x y"]


def score(dice: random.Random) -> Score:
    value = dice.choice(VALUES)
    keys = dice.sample(KEYS, dice.randrange(4)) if dice.random() < 0.5 else []
    return Score(
        name=dice.choice(NAMES),
        value=value,
        status="scored" if value is not None else dice.choice(["scored", "unscored", "failed", "not_applicable"]),
        scale=dice.choice(SCALES),
        maker=dice.choice(MAKERS),
        passed=dice.choice([None, None, True, False]),
        values={key: dice.choice([0, 1, 2, 0.5, None, 1e71]) for key in keys},
    )


def result(number: int, dice: random.Random) -> Result:
    case = Case(
        id=dice.choice([None, "", *"abcdef"]),
        scenario=dice.choice([None, "s", "t"]),
        labels=dice.choice([{}, {"level": "hard"}, {"level": "easy"}]),
    )
    outcome = dice.choice([None, Outcome(status="passed"), Outcome(status="limit"), Outcome(status="failed", reward=0)])
    return Result(
        sample=Sample(
            id=f"sample {number}",
            case=dice.choice([case, None]),
            trajectory=dice.choice([None, Trajectory(outcome=outcome)]),
            scores=tuple(score(dice) for _ in range(dice.randrange(3))),
        ),
        scores=(
            *(score(dice) for _ in range(dice.randrange(6))),
            *(absent(name) for name in dice.sample(NAMES, dice.randrange(3))),
            dice.choice([Score(name="outcome", value=True, values={"success": 1}, maker=CHECK), absent("outcome")]),
        ),
    )


def absent(name: str) -> Score:
    return Score(name=name, status="not_applicable", explanation="none", maker=CHECK)


@pytest.mark.parametrize("seed", range(30))
def test_columns_say_what_records_say(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    parts = [[result(dice.randrange(40), dice) for _ in range(dice.randrange(1, 30))] for _ in range(3)]
    found = directory(tmp_path, *parts)
    for cluster in (None, "level", "task"):
        for pair_by in ("case", "sample"):
            assert_same(by_columns(found, cluster, pair_by), by_records(found, cluster, pair_by))


def test_the_first_of_a_name_tells_its_scale(tmp_path: Path) -> None:
    rated = Score(name="tone", value=4, scale=Scale(low=1, high=5), maker=Maker(name="judge", kind="rubric"))
    bare = Score(name="tone", value=1)
    scores = (bare, absent("outcome")), (rated, absent("outcome"))
    first = directory(
        tmp_path, [Result(sample=Sample(id=str(place)), scores=each) for place, each in enumerate(scores)]
    )
    side = by_columns(first)
    assert side is not None
    assert side.scales["tone"] is None
    assert_same(side, by_records(first))


@pytest.mark.parametrize(
    "odd",
    [
        Score(name="own", value=float("nan")),
        Score(name="own", value=2**60 + 1),
        Score(name="own", value=1, values={"part": float("inf")}),
        Score(name="half \ud800", value=1),
        Score(name="own", value=1, values={"half \ud800": 1}),
    ],
    ids=["not a number", "too long", "without end", "half a letter", "half a letter in a key"],
)
def test_what_no_column_holds_is_left_to_the_records(odd: Score, tmp_path: Path) -> None:
    found = directory(tmp_path, [Result(sample=Sample(id="1"), scores=(odd, absent("outcome")))])
    assert by_columns(found) is None
    assert by_records(found).cases == {"1"}


def test_a_run_that_no_metric_of_outcomes_has_seen_is_left_to_the_records(tmp_path: Path) -> None:
    told = Score(name="accuracy", value="C")
    found = directory(tmp_path, [Result(sample=Sample(id="1", trajectory=Trajectory(), scores=(told,)))])
    assert by_columns(found) is None
    assert by_records(found).values["outcome.broken"] == {"1": [0.0]}


def test_samples_without_any_row(tmp_path: Path) -> None:
    found = directory(tmp_path, [Result(sample=Sample(id="1"), scores=(absent("outcome"), absent("cost")))])
    side = by_columns(found)
    assert_same(side, by_records(found))
    assert side is not None and side.left_out == {"outcome": 1, "cost": 1}
