"""When arguments agree: tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from any_sample import json_value
from pantrace.matching.arguments import ArgumentRule, Shared, agree, arguments_of, shared_arguments, signature
from pantrace.matching.values import Likeness, alike, canonical

LOOSE = Likeness(normalise=True, tolerance=0.01)


@pytest.mark.parametrize(
    ("left", "right", "strictly", "loosely"),
    [
        (1, 1.0, True, True),
        (1, True, False, False),
        (0, False, False, False),
        (None, False, False, False),
        ("1", 1, False, False),
        ("New  York", "new york ", False, True),
        (100, 100.9, False, True),
        (100, 102, False, False),
        (0, 0.005, False, True),
        (10**400, 10**400, True, True),
        (10**400, 1.5, False, False),
        ([1, 2], [1, 2], True, True),
        ([1, 2], [2, 1], False, False),
        ([1], [1, 1], False, False),
        ([], {}, False, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ({"a": {"b": "X"}}, {"a": {"b": "x"}}, False, True),
        ({"a": None}, {}, False, False),
    ],
)
def test_values(left: Any, right: Any, strictly: bool, loosely: bool) -> None:
    assert (alike(left, right), alike(right, left)) == (strictly, strictly)
    assert (alike(left, right, LOOSE), alike(right, left, LOOSE)) == (loosely, loosely)


@given(json_value, json_value)
def test_equal_keys_mean_alike(left: Any, right: Any) -> None:
    for how in (Likeness(), Likeness(normalise=True)):
        assert (canonical(left, how) == canonical(right, how)) == alike(left, right, how)
        assert alike(left, left, how)


def test_the_key_of_true_is_no_list() -> None:
    assert canonical(True) != canonical(["truth", 1])
    assert canonical(True) != canonical(1)


RULE = {mode: ArgumentRule(mode=mode) for mode in ("exact", "ignore", "subset", "superset", "allowed")}  # type: ignore[arg-type]
RULE["keys"] = ArgumentRule(mode="keys", keys=("q", "page.size"))


@pytest.mark.parametrize(
    ("mode", "given", "wanted", "right", "counts"),
    [
        ("exact", {"q": "x"}, {"q": "x"}, True, (1, 1, 1)),
        ("exact", {"q": "x", "n": 1}, {"q": "x"}, False, (1, 2, 1)),
        ("exact", {}, {}, True, (0, 0, 0)),
        ("exact", "free text", "free text", True, (1, 1, 1)),
        ("exact", "free text", {"q": "x"}, False, (0, 1, 1)),
        ("ignore", {"q": "x"}, {"q": "y"}, True, (0, 0, 0)),
        ("subset", {}, {"q": "x"}, True, (0, 0, 0)),
        ("subset", {"q": "x"}, {"q": "x", "n": 1}, True, (1, 1, 1)),
        ("subset", {"q": "x", "n": 1}, {"q": "x"}, False, (1, 2, 1)),
        ("superset", {"q": "x", "n": 1}, {"q": "x"}, True, (1, 1, 1)),
        ("superset", {}, {"q": "x"}, False, (0, 0, 1)),
        ("keys", {"q": "x", "page": {"size": 5, "no": 1}}, {"q": "x", "page": {"size": 5}}, True, (2, 2, 2)),
        ("keys", {"q": "x", "page.size": 5}, {"q": "x", "page": {"size": 5}}, True, (2, 2, 2)),
        ("keys", {"q": "x"}, {"q": "x", "page": {"size": 5}}, False, (1, 2, 2)),
        ("allowed", {"q": "b"}, {"q": ["a", "b"]}, True, (1, 1, 1)),
        ("allowed", {"q": "c"}, {"q": ["a", "b"]}, False, (0, 1, 1)),
        ("allowed", {"q": "a"}, {"q": ["a"], "unit": ["cm", ""]}, True, (1, 1, 1)),
        ("allowed", {"q": "a"}, {"q": ["a"], "unit": ["cm"]}, False, (1, 1, 2)),
        ("allowed", {"q": "a", "n": 1}, {"q": "a"}, False, (1, 2, 1)),
    ],
)
def test_modes(mode: str, given: Any, wanted: Any, right: bool, counts: tuple[int, int, int]) -> None:
    assert agree(RULE[mode], given, wanted) == right
    assert shared_arguments(RULE[mode], given, wanted) == Shared(*counts)


@given(json_value, json_value, st.sampled_from(["exact", "ignore", "keys"]))
def test_a_signature_decides_where_it_says_so(left: Any, right: Any, mode: str) -> None:
    rule = RULE[mode]
    assert rule.by_signature
    assert agree(rule, left, right) == (signature(rule, left) == signature(rule, right))


@given(json_value, json_value, json_value, st.sampled_from(["exact", "ignore", "keys", "subset", "superset"]))
def test_rules_are_transitive_where_they_say_so(one: Any, two: Any, three: Any, mode: str) -> None:
    rule = RULE[mode]
    assert rule.transitive
    if agree(rule, one, two) and agree(rule, two, three):
        assert agree(rule, one, three)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, {}),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("{broken", "{broken"),
        ("plain", "plain"),
        ("\ud800{", "\ud800{"),
        ([1], [1]),
    ],
)
def test_arguments_are_objects_where_they_are(value: Any, found: Any) -> None:
    assert arguments_of(value) == found
