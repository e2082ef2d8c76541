"""Presets: their empty cases and what sets them apart. Agreement with the libraries is asked in tests/peers."""

from __future__ import annotations

import pytest

from any_calls import pairs
from pantrace.matching.arguments import ArgumentRule
from pantrace.matching.call import Call, Rules
from pantrace.matching.presets import PRESETS, Message, Options, Side, Undefined
from pantrace.matching.presets.bfcl import call_is_right

A, B = Call("a", {"x": 1}), Call("b", {})
OPTIONS = Options(tool="a")


def side(*calls: Call) -> Side:
    messages = (Message("user"), Message("assistant", calls)) if calls else (Message("user"),)
    return Side(calls=calls, invocations=(calls,), messages=messages)


def score(name: str, predicted: Side, reference: Side, options: Options = OPTIONS) -> float | None:
    found = PRESETS[name].score(predicted, reference, options)
    return None if isinstance(found, Undefined) else found


EMPTY = {
    # both empty, only the reference empty, only the prediction empty; None: no number
    "adk-exact": (1, 0, 0),
    "adk-in-order": (1, 1, 0),
    "adk-any-order": (1, 1, 0),
    "vertex-trajectory-exact-match": (1, 0, 0),
    "vertex-trajectory-in-order-match": (1, 1, 0),
    "vertex-trajectory-any-order-match": (1, 1, 0),
    "vertex-trajectory-precision": (None, 0, None),
    "vertex-trajectory-recall": (None, None, 0),
    "vertex-trajectory-single-tool-use": (0, 1, 0),
    "agentevals-strict": (1, 0, 0),
    "agentevals-unordered": (1, 0, 0),
    "agentevals-subset": (1, 0, 1),
    "agentevals-superset": (1, 1, 0),
    "ragas-tool-call-accuracy": (1, 0, 0),
    "ragas-tool-call-accuracy-any-order": (1, 0, 0),
    "ragas-tool-call-f1": (0, 0, 0),
    "deepeval-tool-correctness": (1, 0, 0),
    "deepeval-tool-correctness-ordered": (1, 0, 0),
    "deepeval-tool-correctness-exact": (1, 0, 0),
    "pydantic-evals-trajectory-match-exact": (1, 0, 0),
    "pydantic-evals-trajectory-match-in-order": (1, 0, 0),
    "pydantic-evals-trajectory-match-any-order": (1, 0, 0),
    "bfcl-ast": (1, 0, 0),
}


@pytest.mark.parametrize("name", PRESETS)
def test_empty_cases(name: str) -> None:
    found = (
        score(name, side(), side()),
        score(name, side(A), side()),
        score(name, side(), side(A)),
    )
    assert found == EMPTY[name]


@pytest.mark.parametrize("name", PRESETS)
def test_scores_stay_between_nothing_and_perfect(name: str) -> None:
    for predicted, reference in pairs(100, seed=5):
        found = score(name, side(*predicted), side(*reference))
        assert found is None or 0 <= found <= 1


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "bfcl-ast"])
def test_a_list_matches_itself(name: str) -> None:
    """Not so: BFCL, whose references are lists of answers; deepeval takes equal calls only once."""
    assert score(name, side(A, B), side(A, B)) == 1


@pytest.mark.parametrize(
    ("name", "made", "wanted", "value"),
    [
        ("adk-in-order", (A, B, A), (A, A), 1),
        ("adk-any-order", (A,), (A, A), 0),
        ("vertex-trajectory-any-order-match", (A,), (A, A), 1),
        ("vertex-trajectory-precision", (A, A, B), (A,), 2 / 3),
        ("ragas-tool-call-f1", (A, A), (A,), 1),
        ("ragas-tool-call-accuracy", (Call("a", {"x": "1", "extra": 2}),), (A,), 1),
        ("deepeval-tool-correctness", (A, A), (A, A), 0.5),
        ("deepeval-tool-correctness", (A, B, B), (A,), 1),
        ("pydantic-evals-trajectory-match-in-order", (B, A), (A, B), 0.5),
        ("pydantic-evals-trajectory-match-any-order", (B, A), (A, B), 1),
    ],
)
def test_what_sets_them_apart(name: str, made: tuple[Call, ...], wanted: tuple[Call, ...], value: float) -> None:
    assert score(name, side(*made), side(*wanted)) == pytest.approx(value)


def test_adk_takes_the_mean_over_invocations_and_wants_as_many() -> None:
    two = Side(calls=(A, B), invocations=((A,), (B,)))
    half = Side(calls=(A, A), invocations=((A,), (A,)))
    assert score("adk-exact", half, two) == 0.5
    refused = PRESETS["adk-exact"].score(side(A), two, OPTIONS)
    assert isinstance(refused, Undefined)
    assert "1 instead of 2" in refused.reason


def test_agentevals_strict_needs_messages() -> None:
    assert score("agentevals-strict", side(A), Side(calls=(A,))) is None


def test_agentevals_has_a_mode_per_tool() -> None:
    rules = Rules(tools={"a": ArgumentRule(mode="keys", keys=("x",))})
    more = Call("a", {"x": 1, "y": 2})
    assert score("agentevals-superset", side(more), side(A), Options(rules=rules)) == 1
    assert score("agentevals-superset", side(more), side(A)) == 0


@pytest.mark.parametrize(
    ("given", "answers", "right"),
    [
        ({"city": "New York"}, {"city": ["new-york", "NYC"]}, True),
        ({"city": "Boston"}, {"city": ["new-york"]}, False),
        ({}, {"unit": ["cm", ""]}, True),
        ({}, {"unit": ["cm"]}, False),
        ({"days": "2"}, {"days": [2]}, False),
        ({"days": 2.0}, {"days": [2]}, False),
        ({"share": 1}, {"share": [1.0]}, True),
        ({"tags": ["A."]}, {"tags": [["a"], ["b"]]}, True),
        ({"place": {"no": 5}}, {"place": [{"no": [5, 6], "zip": ["", 1]}]}, True),
        ({"place": {"no": 7}}, {"place": [{"no": [5, 6]}]}, False),
        ({"tags": []}, {"tags": [["a"], ""]}, True),
        ({"days": 2}, {"days": 2}, True),
    ],
)
def test_bfcl_without_a_schema(given: dict[str, object], answers: dict[str, object], right: bool) -> None:
    assert call_is_right(Call("find", given), Call("find", answers)) == right


def test_bfcl_with_a_schema() -> None:
    schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert call_is_right(Call("geo_find", {"n": 1}), Call("geo.find", {"n": [1]}), schema)
    assert not call_is_right(Call("geo.find", {}), Call("geo.find", {"n": [1, ""]}), schema)
    assert not call_is_right(Call("geo.find", {"n": 1, "m": 2}), Call("geo.find", {"n": [1], "m": [2]}), schema)
    assert not call_is_right(Call("geo.find", "text"), Call("geo.find", {"n": [1]}), schema)
