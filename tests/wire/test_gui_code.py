"""Action code against what the original parser gave; where it was wrong, the deviation is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pantrace.model import Action, Point, Target
from pantrace.wire.gui_code import parse_code

ORACLE = json.loads((Path(__file__).parents[1] / "oracles/openadapt/waa_converters.json").read_bytes())

PIXELS = Target(point=Point(x=100, y=200, space="pixels"))

DEVIATIONS: dict[str, tuple[str, tuple[Action, ...]]] = {
    "WAIT": ("the original types the word", (Action(kind="wait"),)),
    "pyautogui.click(x=100, y=200)": ("the original raises", (Action(kind="click", target=PIXELS),)),
    "pyautogui.write('it\\'s')": ("the original keeps the backslash", (Action(kind="type", text="it's"),)),
    "pyautogui.click(1.5, 2.5)": (
        "the original cuts off the fraction",
        (Action(kind="click", target=Target(point=Point(x=1.5, y=2.5, space="pixels"))),),
    ),
    "computer.mouse.move_id(id=78)": (
        "the original types the code",
        (Action(kind="hover", target=Target(element=78)),),
    ),
    "import time; time.sleep(2)": ("the original types the code", (Action(kind="wait", seconds=2),)),
    "": ("the original types nothing", (Action(kind="unknown"),)),
    "pyautogui.click(100, 200); pyautogui.write('x')": (
        "the original raises",
        (Action(kind="click", target=PIXELS), Action(kind="type", text="x")),
    ),
    "pyautogui.click(-5, 10)": (
        "the original raises",
        (Action(kind="click", target=Target(point=Point(x=-5, y=10, space="pixels"))),),
    ),
}


def _said(action: Action) -> tuple[str, dict[str, Any]]:
    params: dict[str, Any] = {}
    if action.target is not None and action.target.point is not None:
        params["coordinates"] = {"x": action.target.point.x, "y": action.target.point.y}
    if action.end is not None:
        params["end_coordinates"] = {"x": action.end.x, "y": action.end.y}
    named = {
        "text": action.text,
        "key": action.key,
        "modifiers": list(action.modifiers) or None,
        "scroll_direction": action.direction,
        "scroll_amount": action.amount,
    }
    return action.kind, params | {name: value for name, value in named.items() if value is not None}


def _bare(action: Action) -> Action:
    return Action(kind=action.kind, target=action.target, text=action.text, seconds=action.seconds)


def test_the_oracle_is_whole() -> None:
    codes = [case["in"] for case in ORACLE["parse_waa_action"]]
    assert len(codes) == 27
    assert set(DEVIATIONS) <= set(codes)


@pytest.mark.parametrize("case", ORACLE["parse_waa_action"], ids=lambda case: case["in"] or "empty")
def test_parses_as_the_original_or_better(case: dict[str, Any]) -> None:
    found = parse_code(case["in"])
    if case["in"] in DEVIATIONS:
        why, wanted = DEVIATIONS[case["in"]]
        assert tuple(_bare(action) for action in found) == wanted, why
    else:
        assert [_said(action) for action in found] == [(case["type"], case["params"])]


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("computer.mouse.move_id(id=78)\ncomputer.mouse.single_click() # go", ["hover", "click"]),
        ("computer.keyboard.press('ctrl+c')", ["hotkey"]),
        ("computer.os.open_program('msedge')", ["open_app"]),
        ("computer.clipboard.paste()", ["unknown"]),
        ("pyautogui.click(10, 20, button='right')", ["right_click"]),
        ("pyautogui.click(10, 20, clicks=2)", ["double_click"]),
        ("pyautogui.press(['tab', 'enter'])", ["key", "key"]),
        ("x = 3\npyautogui.click(x, 4)", ["unknown", "unknown"]),
        ("for i in range(3): pyautogui.press('tab')", ["unknown"]),
        ("click here please", ["unknown"]),
        ("DONE", ["done"]),
        ("import os", ["unknown"]),
        ("pyautogui.write('a\\d')", ["type"]),
        ("\x00", ["unknown"]),
        ("(" * 3000, ["unknown"]),
    ],
)
def test_kinds(code: str, kinds: list[str]) -> None:
    assert [action.kind for action in parse_code(code)] == kinds


def test_code_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert parse_code(f"open({str(mark)!r}, 'w').write('x')")[0].kind == "unknown"
    assert parse_code(f"pyautogui.write(open({str(mark)!r}, 'w'))")[0].kind == "unknown"
    assert not mark.exists()


def test_points_keep_their_space() -> None:
    pixels = parse_code("pyautogui.moveTo(5, 6)")[0].target
    share = parse_code("computer.mouse.move_abs(x=0.22, y=0.75)")[0].target
    assert pixels is not None and pixels.point is not None and pixels.point.space == "pixels"
    assert share is not None and share.point is not None and share.point.space == "normalised"
