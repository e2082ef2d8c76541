"""The action DSL against what the original parser and formatter gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pantrace.model import Action, Point, Target
from pantrace.wire.gui_dsl import NAME, format_action, parse_action, parse_marks, parse_reply

ORACLE = json.loads((Path(__file__).parents[1] / "oracles/openadapt/dsl.json").read_bytes())


def _as_original(action: Action) -> dict[str, Any]:
    """The action as the original says it; there, an answer that cannot be parsed is a `fail`."""
    if action.kind == "unparsed":
        return {"type": "fail", "raw": {"text": action.raw}}
    said: dict[str, Any] = {"type": action.kind}
    if action.text is not None:
        said["text"] = action.text
    if action.target is not None and action.target.point is not None:
        said["normalized_coordinates"] = [action.target.point.x, action.target.point.y]
    if action.target is not None and action.target.element is not None:
        said["element"] = {"element_id": str(action.target.element)}
    return said


def _from_original(row: dict[str, Any]) -> Action:
    pair = row.get("normalized_coordinates")
    point = Point(x=pair[0], y=pair[1], space="normalised") if pair else None
    target = Target(point=point, element=row.get("element", {}).get("element_id"))
    return Action(kind=row["type"], text=row.get("text"), target=target, key=row.get("key"))


def test_the_oracle_is_whole() -> None:
    assert (len(ORACLE["parse"]), len(ORACLE["format"])) == (39, 12)


@pytest.mark.parametrize("case", ORACLE["parse"], ids=lambda case: repr(case["text"])[:50])
def test_parses_as_the_original(case: dict[str, Any]) -> None:
    reply = parse_reply(case["text"])
    assert (reply.thought, reply.state, reply.line) == (case["thought"], case["state"], case["action_str"])
    assert _as_original(reply.action) == case["action"]
    assert _as_original(parse_marks(reply.line)) == case["parse_action_som"]


@pytest.mark.parametrize("case", ORACLE["format"], ids=lambda case: case["coord"])
def test_formats_as_the_original(case: dict[str, Any]) -> None:
    action = _from_original(case["action"])
    assert format_action(action) == case["coord"]
    assert format_action(action, marks=True) == case["som"]


def test_an_answer_that_cannot_be_parsed_is_not_a_failure_the_model_declared() -> None:
    assert parse_action("I give up").kind == "unparsed"


def test_what_was_clamped_is_kept_beside_the_point() -> None:
    target = parse_action("CLICK(x=640, y=0.5)").target
    assert target is not None
    assert target.point == Point(x=1.0, y=0.5, space="normalised")
    assert target.extra == {NAME: {"x": 640.0, "y": 0.5}}


def test_pixels_are_written_only_when_their_viewport_is_known() -> None:
    pixels = Point(x=320, y=100, space="pixels")
    assert format_action(Action(kind="click", target=Target(point=pixels))) == "ACTION(type=click)"
    known = Point(x=320, y=100, space="pixels", viewport=(640, 400))
    assert format_action(Action(kind="click", target=Target(point=known))) == "CLICK(x=0.50, y=0.25)"


def test_an_endless_mark_is_no_mark() -> None:
    assert parse_action(f"CLICK([{'9' * 5000}])").kind == "unparsed"
    assert parse_marks(f"TYPE([{'9' * 5000}], 'x')").kind == "unparsed"
