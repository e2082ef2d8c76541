"""Field maps: said once, read and written, and nothing forgotten."""

from __future__ import annotations

import pytest

from pantrace.errors import ReadError
from pantrace.model import Step, ToolCall, Usage
from pantrace.wire.field_map import ANYTHING, INTEGER, NUMBER, OBJECT, TEXT, TIME, FieldMap

USAGE = FieldMap("x", Usage, {"in": ("input", INTEGER), "cost": ("cost_usd", NUMBER)})
CALL = FieldMap("x", ToolCall, {"call": ("id", TEXT), "fn": ("name", TEXT), "args": ("arguments", OBJECT)})
STEP = FieldMap("x", Step, {"when": ("at", TIME), "state": ("state_delta", OBJECT)})


def test_both_ways() -> None:
    raw = {"call": "c1", "fn": "ls", "args": {"path": "/"}}
    call = CALL.load(raw)
    assert call == ToolCall(id="c1", name="ls", arguments={"path": "/"})
    assert CALL.dump(call) == raw


@pytest.mark.parametrize(
    "raw",
    [
        {"fn": "ls", "tag": 1},
        {"fn": "ls", "args": "not an object"},
        {"fn": "ls", "call": 7},
        {"fn": "ls", "call": True, "deep": {"a": [1, {"b": 2}]}},
    ],
)
def test_what_has_no_word_or_another_type_comes_back(raw: dict[str, object]) -> None:
    call = CALL.load(raw)
    assert call.name == "ls"
    assert CALL.dump(call) == raw


def test_a_field_said_twice_keeps_both() -> None:
    twice = FieldMap("x", ToolCall, {"fn": ("name", TEXT), "name": ("name", TEXT)})
    assert twice.load({"fn": "ls", "name": "ls"}) == ToolCall(name="ls")
    assert twice.load({"fn": "ls", "name": "dir"}) == ToolCall(name="ls", extra={"x": {"name": "dir"}})
    assert twice.load({"fn": "ls"}, name="cat") == ToolCall(name="cat", extra={"x": {"fn": "ls"}})


def test_null_is_nothing() -> None:
    assert CALL.load({"fn": "ls", "call": None, "more": None}) == ToolCall(name="ls")


def test_true_is_no_number() -> None:
    assert USAGE.load({"in": True, "cost": False}) == Usage(extra={"x": {"in": True, "cost": False}})


def test_zero_is_written() -> None:
    assert USAGE.dump(USAGE.load({"in": 0, "cost": 0.0})) == {"in": 0, "cost": 0.0}


@pytest.mark.parametrize(
    "text", ["2026-03-01T10:00:00.250Z", "2026-03-01T10:00:00Z", "2026-03-01T11:00:00.250001+01:00", "soon"]
)
def test_a_time_comes_back_in_its_own_words(text: str) -> None:
    step = STEP.load({"when": text}, role="user")
    assert (step.at is None) == (text == "soon")
    assert STEP.dump(step) == {"when": text}


def test_a_time_that_no_calendar_has_is_left_out() -> None:
    assert STEP.dump(Step(role="user", at=1e300)) == {}


@pytest.mark.parametrize(("raw", "why"), [({}, "a tool call needs fn"), ([], "must be an object"), ("ls", "'ls'")])
def test_what_cannot_be_read_is_told(raw: object, why: str) -> None:
    with pytest.raises(ReadError, match=why):
        CALL.load(raw)


def test_given_fields_and_extra_stay() -> None:
    call = CALL.load({"fn": "ls", "odd": 1}, ("odd",), extra={"x": {"mine": 2}, "y": 3})
    assert call.extra == {"x": {"mine": 2}, "y": 3}
    assert CALL.dump(CALL.load({"fn": "ls", "odd": 1}, extra={"x": {"mine": 2}}), "mine") == {"fn": "ls", "odd": 1}


def test_the_shape_for_validation() -> None:
    many = FieldMap("x", ToolCall, {"fn": ("name", TEXT), "args": ("arguments", ANYTHING)})
    assert many.shape("fn", note=(str, None)) == {"fn": str, "note?": (str, None)}
