"""What counts as a test in a comparison, and how often a comparison without any true difference finds one."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from pantrace.engine.compare import compare_sides
from pantrace.engine.compare_family import places_of
from pantrace.engine.compare_result import SHOWS_NOTHING, Comparison
from pantrace.engine.compare_side import side_of
from pantrace.model import Case, Run, Sample, Scale, Score
from pantrace.stats import ALPHA

SCALE = Scale(low=0, high=1)
Values = dict[str, list[float]]
"""metric -> a value for each case."""


def compared(first: Values, second: Values) -> list[Comparison]:
    sides = []
    for name, values in (("a", first), ("b", second)):
        samples = [
            Sample(
                id=f"c{place}",
                case=Case(id=f"c{place}"),
                scores=tuple(
                    Score(name=metric, value=bool(one[place]) if metric.startswith("yes") else one[place], scale=SCALE)
                    for metric, one in values.items()
                ),
            )
            for place in range(len(next(iter(values.values()))))
        ]
        sides.append(side_of(Run(name=name), samples))
    return compare_sides(*sides, power=False)


def passes(count: int, cases: int = 40) -> list[float]:
    return [float(place < count) for place in range(cases)]


def by_name(found: list[Comparison]) -> dict[str, Comparison]:
    return {each.metric: each for each in found}


def test_what_did_not_change_is_no_test() -> None:
    still = {f"still{number}": passes(20) for number in range(9)}
    found = by_name(compared({**still, "yes": passes(10)}, {**still, "yes": passes(17)}))
    assert found["yes"].tests == 1
    assert found["yes"].p_adjusted == pytest.approx(2 / 2**7)
    assert found["yes"].verdict == "better"
    assert {(each.verdict, each.p_adjusted) for name, each in found.items() if name != "yes"} == {("no change", None)}
    assert found["still0"].sentence.endswith("no change in any case.")


def test_as_many_wins_as_losses_is_a_change() -> None:
    found = compared({"yes": [1, 0, 1, 0]}, {"yes": [0, 1, 1, 0]})[0]
    assert (found.verdict, found.tests) == ("inconclusive", 1)


def test_the_same_data_under_two_names_is_one_test() -> None:
    first, second = passes(10), passes(17)
    twins = by_name(compared({"yes": first, "yes_too": first}, {"yes": second, "yes_too": second}))
    assert [each.tests for each in twins.values()] == [1, 1]
    assert twins["yes"].p_adjusted == twins["yes_too"].p_adjusted == pytest.approx(2 / 2**7)
    assert "the same differences as yes, so both are one test" in twins["yes_too"].notes
    # One case more that changed makes it another test.
    other = by_name(compared({"yes": first, "yes_too": first}, {"yes": second, "yes_too": passes(18)}))
    assert [each.tests for each in other.values()] == [2, 2]


def test_success_stands_first_and_half_of_the_error_rate_is_for_it() -> None:
    first = {**{f"m{number}": passes(20) for number in range(5)}, "passed": passes(10)}
    second = {**{f"m{number}": passes(21 + number) for number in range(5)}, "passed": passes(17)}
    found = compared(first, second)
    assert (found[0].metric, found[0].primary) == ("passed", True)
    assert found[0].tests == 6
    assert found[0].p_adjusted == pytest.approx(2 * 2 / 2**7)  # not six times
    assert not any(each.primary for each in found[1:])


FAMILIES = 200


@pytest.mark.parametrize(("others", "copies"), [(2, 0), (6, 0), (6, 3)])
def test_without_any_true_difference_at_most_one_comparison_in_twenty_finds_one(others: int, copies: int) -> None:
    """All measures of a case rise and fall together, some never change, some are copies: all by the rule above."""
    random = Random(7)
    alarms = 0
    for _ in range(FAMILIES):
        sides: list[Values] = []
        for _side in range(2):
            values: Values = {"passed": [], **{f"yes{number}": [] for number in range(others)}}
            for _case in range(30):
                luck = random.gauss(0, 1)
                for column in values.values():
                    column.append(float(luck + random.gauss(0, 1) > 0))
            values |= {f"yes_copy{number}": values[f"yes{number}"] for number in range(copies)}
            sides.append({**values, "yes_still": passes(15, 30)})
        alarms += any(each.verdict not in SHOWS_NOTHING for each in compared(*sides))
    assert 0 < alarms <= 0.05 * FAMILIES


DRAWS = 10_000


@pytest.mark.parametrize("proven", [False, True])
@pytest.mark.parametrize("others", [1, 2, 8])
def test_the_rule_spends_five_percent_and_not_more(others: int, proven: bool) -> None:
    """Independent tests whose p is uniform, which is the most that they may err; with `proven`, the primary measure has
    a true difference, which hands its half to the others."""
    random = Random(11)
    blank = compared({"yes": passes(10)}, {"yes": passes(17)})[0]
    assert blank.difference is not None
    alarms = 0
    for _ in range(DRAWS):
        p_values = [1e-9 if proven else random.random(), *(random.random() for _ in range(others))]
        family = [
            replace(blank, metric=f"m{place}", difference=replace(blank.difference, p=p), primary=place == 0)
            for place, p in enumerate(p_values)
        ]
        rejected = [place.p_adjusted is not None and place.p_adjusted <= ALPHA for place in places_of(family)]
        alarms += any(rejected[proven:])
    # Two standard errors on both sides: 5 % is allowed, and is spent rather than wasted.
    error = 2 * (0.05 * 0.95 / DRAWS) ** 0.5
    assert 0.047 - error < alarms / DRAWS <= 0.05 + error
