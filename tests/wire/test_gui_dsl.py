"""The action DSL against what the original parser gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pantrace.model import Action, Point
from pantrace.wire.gui_dsl import NAME, parse_action, parse_reply

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


def test_the_oracle_is_whole() -> None:
    assert len(ORACLE["parse"]) == 39


@pytest.mark.parametrize("case", ORACLE["parse"], ids=lambda case: repr(case["text"])[:50])
def test_parses_as_the_original(case: dict[str, Any]) -> None:
    reply = parse_reply(case["text"])
    assert (reply.thought, reply.state, reply.line) == (case["thought"], case["state"], case["action_str"])
    assert _as_original(reply.action) == case["action"]


def test_an_answer_that_cannot_be_parsed_is_not_a_failure_the_model_declared() -> None:
    assert parse_action("I give up").kind == "unparsed"


def test_what_was_clamped_is_kept_beside_the_point() -> None:
    target = parse_action("CLICK(x=640, y=0.5)").target
    assert target is not None
    assert target.point == Point(x=1.0, y=0.5, space="normalised")
    assert target.extra == {NAME: {"x": 640.0, "y": 0.5}}


def test_an_endless_mark_is_no_mark() -> None:
    assert parse_action(f"CLICK([{'9' * 5000}])").kind == "unparsed"
    assert parse_action(f"TYPE([{'9' * 5000}], 'x')").kind == "unparsed"
