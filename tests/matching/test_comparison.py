"""Two lists of calls: tables, and what holds for all lists."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pantrace.matching.arguments import ArgumentRule, agree, shared_arguments
from pantrace.matching.call import Call, Rules
from pantrace.matching.comparison import Order, compare

calls = st.lists(
    st.builds(
        Call, st.sampled_from("ab"), st.dictionaries(st.sampled_from("xyz"), st.sampled_from([1, 2, 2.02]), max_size=3)
    ),
    max_size=4,
)
rules = st.builds(
    Rules,
    st.builds(
        ArgumentRule,
        mode=st.sampled_from(["exact", "ignore", "subset", "superset", "keys", "allowed"]),
        keys=st.just(("x",)),
        tolerance=st.sampled_from([0.0, 0.05]),
    ),
)
ORDERS: tuple[Order, ...] = ("exact", "in_order", "any_order")


def row(text: str) -> list[Call]:
    """Calls from a short text: "a1 b" is a(x=1), b()."""
    return [Call(word[0], {"x": int(word[1:])} if word[1:] else {}) for word in text.split()]


@pytest.mark.parametrize(
    ("made", "wanted", "verdicts", "matched", "others"),
    [
        # made, wanted, (exact, in_order, any_order), pairs by (place, order, any), (name_f1, argument_f1, duplicates)
        ("", "", (True, True, True), (0, 0, 0), (None, None, 0)),
        ("", "a1", (False, False, False), (0, 0, 0), (0.0, None, 0)),
        ("a1", "", (False, True, True), (0, 0, 0), (0.0, None, 0)),
        ("a1 b2", "a1 b2", (True, True, True), (2, 2, 2), (1.0, 1.0, 0)),
        ("b2 a1", "a1 b2", (False, False, True), (0, 1, 2), (1.0, 1.0, 0)),
        ("a1 c b2", "a1 b2", (False, True, True), (1, 2, 2), (0.8, 1.0, 0)),
        ("a1 a1", "a1", (False, True, True), (1, 1, 1), (2 / 3, 1.0, 1)),
        ("a1", "a1 a1", (False, False, False), (1, 1, 1), (2 / 3, 1.0, 0)),
        ("a1", "a2", (False, False, False), (0, 0, 0), (1.0, 0.0, 0)),
        ("a b", "a b", (True, True, True), (2, 2, 2), (1.0, 1.0, 0)),
        ("c", "a1", (False, False, False), (0, 0, 0), (0.0, None, 0)),
    ],
)
def test_table(made: str, wanted: str, verdicts: Any, matched: Any, others: Any) -> None:
    predicted, reference = row(made), row(wanted)
    for order, count in zip(ORDERS, matched, strict=True):
        found = compare(predicted, reference, order=order)
        assert (found.exact, found.in_order, found.any_order) == verdicts
        assert (found.matched, found.extra, found.missing) == (count, len(predicted) - count, len(reference) - count)
        assert found.precision == (count / len(predicted) if predicted else None)
        assert found.recall == (count / len(reference) if reference else None)
        assert (found.name_f1, found.argument_f1, found.duplicates) == others


@settings(max_examples=300)
@given(calls, calls, rules)
def test_what_holds_for_all_lists(predicted: list[Call], reference: list[Call], how: Rules) -> None:
    place, in_order, any_order = (compare(predicted, reference, how, order) for order in ORDERS)
    assert place.matched <= in_order.matched <= any_order.matched <= min(len(predicted), len(reference))
    assert not (place.exact and not place.in_order)
    assert not (place.in_order and not place.any_order)
    assert place.exact == (place.matched == len(predicted) == len(reference))
    assert place.in_order == (in_order.matched == len(reference))
    assert place.any_order == (any_order.matched == len(reference))
    assert not any_order.approximate
    for found in (place, in_order, any_order):
        for number in (found.precision, found.recall, found.f1, found.name_f1, found.argument_f1):
            assert number is None or 0 <= number <= 1
        assert (found.f1 is None) == (not predicted and not reference)
        for left, right in found.pairs:
            assert predicted[left].name == reference[right].name
            rule = how.of(predicted[left].name)
            assert agree(rule, predicted[left].arguments, reference[right].arguments)


@given(calls, calls, rules)
def test_the_best_assignment_is_the_best(predicted: list[Call], reference: list[Call], how: Rules) -> None:
    def right(left: int, place: int) -> bool:
        mine, theirs = predicted[left], reference[place]
        return mine.name == theirs.name and agree(how.of(mine.name), mine.arguments, theirs.arguments)

    places = [*range(len(reference)), *[-1] * len(predicted)]
    best = max(
        sum(place >= 0 and right(left, place) for left, place in enumerate(order))
        for order in set(permutations(places, len(predicted)))
    )
    assert compare(predicted, reference, how, "any_order").matched == best


@settings(max_examples=300)
@given(calls, calls, rules)
def test_arguments_are_counted_in_the_pairing_with_most_agreement(
    predicted: list[Call], reference: list[Call], how: Rules
) -> None:
    mine = [call.arguments for call in predicted if call.name == "a"]
    theirs = [call.arguments for call in reference if call.name == "a"]
    rule = how.of("a")
    only = compare([Call("a", each) for each in mine], [Call("a", each) for each in theirs], how)
    if not mine or not theirs:
        assert only.argument_f1 is None
        return
    size = min(len(mine), len(theirs))
    options = [
        [shared_arguments(rule, mine[i], theirs[j]) for i, j in zip(lefts, rights, strict=True)]
        for lefts in permutations(range(len(mine)), size)
        for rights in permutations(range(len(theirs)), size)
    ]
    most = max(sum(one.agreeing for one in option) for option in options)
    scores = [
        2 * most / total if (total := sum(one.predicted + one.reference for one in option)) else 1.0
        for option in options
        if sum(one.agreeing for one in option) == most
    ]
    # Partial modes count what the other side has: pairing equal calls first may leave a tie to the worse F1.
    best = [max(scores)] if rule.mode not in ("subset", "superset") else scores
    assert any(only.argument_f1 == pytest.approx(score) for score in best)


@given(calls, calls)
def test_f1_is_the_same_both_ways_and_perfect_for_itself(predicted: list[Call], reference: list[Call]) -> None:
    for order in ORDERS:
        one, other = compare(predicted, reference, order=order), compare(reference, predicted, order=order)
        assert (one.f1, one.name_f1, one.argument_f1) == (other.f1, other.name_f1, other.argument_f1)
        assert (one.precision, one.recall) == (other.recall, other.precision)
        assert compare(predicted, predicted, order=order).f1 in (None, 1.0)


def test_arguments_that_were_not_stated_agree_with_any() -> None:
    found = compare(row("a1 a2"), [Call("a", None), Call("a", {"x": 1})], order="any_order")
    assert (found.matched, found.argument_f1) == (2, 1.0)


def test_a_tool_has_its_own_rule() -> None:
    how = Rules(tools={"a": ArgumentRule(mode="ignore")})
    assert compare(row("a1 b2"), row("a9 b2"), how).exact
    assert not compare(row("a1 b1"), row("a9 b2"), how).exact


def test_partial_rules_find_the_pairing_that_first_fit_misses() -> None:
    """{} fits both references, {x: 1} only the second: taking them as they come leaves one without a partner."""
    made = [Call("a", {}), Call("a", {"x": 1})]
    wanted = [Call("a", {"x": 1}), Call("a", {"y": 2})]
    found = compare(made, wanted, Rules(ArgumentRule(mode="subset")), "any_order")
    assert found.matched == 2


def test_long_lists_are_bounded_and_say_so() -> None:
    made = [Call("a", {"x": number, "y": 1}) for number in range(3000)]
    wanted = [Call("a", {"x": number + 1500}) for number in range(3000)]
    exact = compare(made, made[::-1], order="any_order")
    assert (exact.matched, exact.argument_f1, exact.approximate) == (3000, 1.0, False)
    partial = compare(made, wanted, Rules(ArgumentRule(mode="superset")), "any_order")
    assert partial.approximate
