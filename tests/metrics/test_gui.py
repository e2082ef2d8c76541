"""gui, profile strict: short episodes and their numbers. The profile openadapt-v1 has its golden data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pantrace.errors import UsageError
from pantrace.metrics import parse_settings
from pantrace.metrics.gui import gui
from pantrace.metrics.gui.metrics import aggregate, metrics
from pantrace.model import Action, Box, Case, Media, Point, Sample, Score, Step, Target, Text, Trajectory

SIZE = (1000, 500)


def click(x: float, y: float, **more: Any) -> Action:
    box = more.pop("box", None)
    return Action(kind="click", target=Target(point=Point(x=x, y=y, space="normalised"), box=box, **more))


def pixels(x: float, y: float, size: tuple[int, int] | None = SIZE) -> Action:
    return Action(kind="click", target=Target(point=Point(x=x, y=y, space="pixels", viewport=size)))


def mark(element: int | str | None, kind: str = "click", text: str | None = None) -> Action:
    return Action(kind=kind, target=Target(element=element), text=text)


DONE = Action(kind="done")
UNIT = Box(left=0.4, top=0.4, right=0.6, bottom=0.6, space="normalised")


def truth(*actions: Action, shown: bool | tuple[int, ...] = True) -> Trajectory:
    """An episode; `shown` are the places of the steps that have a screenshot."""
    steps = []
    for number, action in enumerate(actions):
        seen = shown if isinstance(shown, bool) else number in shown
        if seen:
            screen = Media(id=f"screen-{number}", uri=f"{number}.png")
            linked = Action(**{**{n: getattr(action, n) for n in action.__struct_fields__}, "before": screen.id})
            steps.append(Step(id=f"t{number}", role="agent", parts=(screen, linked)))
        else:
            steps.append(Step(id=f"t{number}", role="agent", parts=(action,)))
    return Trajectory(id="episode", steps=tuple(steps))


def did(*actions: Action) -> Trajectory:
    return Trajectory(steps=tuple(Step(id=f"p{n}", role="agent", parts=(each,)) for n, each in enumerate(actions)))


def scored(expected: Trajectory | None, trajectory: Trajectory | None, **settings: Any) -> Score:
    sample = Sample(id="x", case=Case(id="task"), trajectory=trajectory, expected=expected)
    return gui.score(sample, parse_settings(gui, settings))


def numbers(*scores: Score) -> dict[str, Any]:
    return {each.name: each.value for each in aggregate(scores) if not each.labels}


@pytest.mark.parametrize(
    ("expected", "trajectory", "reason"),
    [
        (truth(DONE), None, "has not been run"),
        (None, did(DONE), "no ground-truth episode"),
        (did(), did(DONE), "no GUI action"),
        (Trajectory(steps=(Step(role="agent", parts=(Text(text="hi"),)),)), did(DONE), "no GUI action"),
    ],
)
def test_not_applicable(expected: Any, trajectory: Any, reason: str) -> None:
    score = scored(expected, trajectory)
    assert (score.status, score.value, score.details) == ("not_applicable", None, {})
    assert reason in (score.explanation or "")


def test_an_episode_without_predictions_is_counted_by_both_profiles() -> None:
    old = scored(truth(DONE), did(), profile="openadapt-v1")
    assert (old.status, numbers(old)["num_episodes"], numbers(old)["num_steps"]) == ("not_applicable", 1, 0)
    assert numbers(old)["action_type_accuracy"] == 0.0
    new = scored(truth(DONE), did())
    assert (new.value, numbers(new)["num_steps"], numbers(new)["missing_predictions"]) == (0.0, 1, 1)


def test_no_episodes_have_no_rates() -> None:
    found = {each.name: each.value for each in aggregate([])}
    assert (found["num_episodes"], found["num_steps"], found["coord_error_count"]) == (0, 0, 0)
    assert found["action_type_accuracy"] is None
    assert {each.name: each.value for each in metrics([], "openadapt-v1")}["action_type_accuracy"] == 0.0


@pytest.mark.parametrize(
    ("wanted", "made", "correct", "details"),
    [
        (click(0.5, 0.5), click(0.55, 0.5), True, {"click_hits": 1, "click_total": 1}),
        (click(0.5, 0.5), click(0.551, 0.5), False, {"click_hits": 0, "click_total": 1}),
        (click(0.5, 0.5), pixels(500, 250), True, {"coord_errors": [0.0], "click_hits": 1}),
        (click(0.5, 0.5), pixels(500, 250, None), False, {"coord_errors": [], "click_total": 0, "clicks": 1}),
        (click(0.5, 0.5), Action(kind="click"), False, {"click_total": 0, "clicks": 1}),
        (click(0.5, 0.5), Action(kind="type", text="x"), False, {"click_total": 0, "coord_errors": []}),
        (click(0.9, 0.9), click(1.0, 1.0, extra={"gui-dsl": {"x": 512, "y": 300}}), False, {"off_screen": 1}),
        (click(0.9, 0.9), click(1.4, 0.9), False, {"off_screen": 1, "coord_errors": [], "click_total": 1}),
        (Action(kind="click"), click(0.1, 0.1), True, {"click_total": 0, "clicks": 1}),
        (click(0.5, 0.5, box=UNIT), click(0.6, 0.6), False, {"bbox_hits": 1, "bbox_total": 1}),
        (click(0.5, 0.5, box=UNIT), click(0.61, 0.5), False, {"bbox_hits": 0, "bbox_total": 1}),
        (click(0.5, 0.5, box=UNIT), DONE, False, {"bbox_hits": 0, "bbox_total": 1}),
        (Action(kind="drag"), Action(kind="drag"), True, {"bbox_total": 0, "click_total": 0}),
        (Action(kind="fail"), Action(kind="unparsed"), False, {"unparsed": 1, "type_matches": 0}),
        (DONE, DONE, True, {"num_steps": 1, "type_matches": 1}),
    ],
)
def test_one_step(wanted: Action, made: Action, correct: bool, details: dict[str, Any]) -> None:
    score = scored(truth(wanted), did(made))
    assert score.value == float(correct)
    assert {name: (score.values | score.details)[name] for name in details} == details
    assert score.evidence == (() if correct else ("p0",))


def test_boxes_in_pixels_are_scaled_by_the_screen_and_left_out_where_it_is_not_known() -> None:
    box = Box(left=400, top=200, right=600, bottom=300, space="pixels", viewport=SIZE)
    score = scored(truth(click(0.5, 0.5, box=box)), did(click(0.5, 0.5)))
    assert (score.values["bbox_hits"], score.values["bbox_total"]) == (1, 1)
    lost = Box(left=400, top=200, right=600, bottom=300, space="pixels")
    assert scored(truth(click(0.5, 0.5, box=lost)), did(click(0.5, 0.5))).values["bbox_total"] == 0
    old = scored(truth(click(0.5, 0.5, box=box)), did(click(0.5, 0.5)), profile="openadapt-v1")
    assert (old.values["bbox_hits"], old.values["bbox_total"]) == (0, 1)


@pytest.mark.parametrize(
    ("wanted", "made", "same"),
    [
        (Action(kind="type", text="a"), Action(kind="type", text="b"), False),
        (Action(kind="type", text="a"), Action(kind="type", text="a"), True),
        (Action(kind="hotkey", key="c", modifiers=("ctrl", "alt")),) * 2 + (True,),
        (Action(kind="hotkey", key="c", modifiers=("ctrl",)), Action(kind="hotkey", key="c"), False),
        (Action(kind="goto", url="https://a.org"), Action(kind="goto", url="https://b.org"), False),
        (Action(kind="scroll", direction="up"), Action(kind="scroll", direction="down"), False),
        (Action(kind="open_app", app="mail"), Action(kind="open_app", app="chat"), False),
        (Action(kind="drag", end=Point(x=0.5, y=0.5, space="normalised")), Action(kind="drag"), False),
        (
            Action(kind="drag", end=Point(x=0.5, y=0.5, space="normalised")),
            Action(kind="drag", end=Point(x=520, y=500, space="permille")),
            True,
        ),
    ],
)
def test_content_is_a_number_of_its_own(wanted: Action, made: Action, same: bool) -> None:
    found = numbers(scored(truth(wanted), did(made)))
    assert (found["mean_episode_step_score"], found["step_content_accuracy"]) == (1.0, float(same))


@pytest.mark.parametrize(
    ("wanted", "made", "value", "accuracy"),
    [
        (mark("2"), mark(2), 1.0, 1.0),
        (mark(2), mark(3), 0.0, 0.0),
        (mark("save"), mark("save"), 1.0, 1.0),
        (mark(1, "type", "x"), mark(None, "type", "x"), 0.0, 0.0),
        (mark(None), mark(7), 1.0, None),
        (Action(kind="click", raw={"element_index": "4"}), mark(4), 1.0, 1.0),
    ],
)
def test_marks(wanted: Action, made: Action, value: float, accuracy: float | None) -> None:
    score = scored(truth(wanted), did(made), dsl_mode="som")
    assert (score.value, numbers(score)["element_accuracy"]) == (value, accuracy)
    nothing = {name: numbers(score)[name] for name in ("mean_coord_error", "click_hit_rate", "bbox_hit_rate")}
    assert set(nothing.values()) == {None}
    assert numbers(score)["click_hit_rate_all"] is None


def test_predictions_go_to_the_steps_with_a_screenshot() -> None:
    steps = (click(0.1, 0.1), Action(kind="wait"), DONE)
    partly = truth(*steps, shown=(0, 2))
    score = scored(partly, did(click(0.1, 0.1), DONE))
    assert (score.values["num_steps"], score.values["correct_steps"], score.values["missing_predictions"]) == (3, 2, 1)
    assert not score.values["episode_success_rate"]
    every = scored(partly, did(click(0.1, 0.1), Action(kind="wait"), DONE))
    assert (every.value, every.values["episode_success_rate"]) == (1.0, True)
    old = scored(partly, did(click(0.1, 0.1), DONE), profile="openadapt-v1")
    assert (old.values["num_steps"], old.value, old.values["episode_success_rate"]) == (2, 1.0, True)


def test_a_log_without_screenshots_has_a_prediction_for_every_step() -> None:
    for profile in ("strict", "openadapt-v1"):
        score = scored(truth(click(0.1, 0.1), DONE, shown=False), did(click(0.1, 0.1), DONE), profile=profile)
        assert (score.value, score.values["num_steps"]) == (1.0, 2)


def test_an_episode_that_breaks_off_is_no_success_and_one_that_goes_on_is_counted() -> None:
    broken = scored(truth(DONE, DONE), did(DONE))
    assert (broken.value, broken.values["episode_success_rate"], broken.values["missing_predictions"]) == (
        0.5,
        False,
        1,
    )
    assert scored(truth(DONE, DONE), did(DONE), profile="openadapt-v1").values["episode_success_rate"]
    assert scored(truth(DONE), did(DONE, DONE)).values["extra_predictions"] == 1


def test_success_means_that_clicks_hit() -> None:
    missed = truth(click(0.1, 0.1), DONE), did(click(0.9, 0.9), DONE)
    assert numbers(scored(*missed))["episode_success_rate"] == 0.0
    assert numbers(scored(*missed, profile="openadapt-v1"))["episode_success_rate"] == 1.0


def test_many_episodes_step_by_step_and_episode_by_episode() -> None:
    long = scored(truth(DONE, DONE, DONE), did(DONE, DONE, DONE))
    short = scored(truth(DONE), did(Action(kind="wait")))
    found = numbers(long, short)
    assert (found["action_type_accuracy"], found["mean_episode_progress"]) == (0.75, 0.5)


def test_click_hit_rate_all_has_every_click_below_the_line() -> None:
    steps = truth(click(0.1, 0.1), click(0.2, 0.2), click(0.3, 0.3))
    found = numbers(scored(steps, did(click(0.1, 0.1), Action(kind="click"), DONE)))
    assert (found["click_hit_rate"], found["click_hit_rate_all"]) == (1.0, pytest.approx(1 / 3))


def test_metrics_by_type_of_action() -> None:
    score = scored(truth(click(0.1, 0.1), click(0.5, 0.5), DONE), did(click(0.1, 0.1), DONE, DONE))
    found = {(each.labels["action_type"], each.name): each.value for each in aggregate([score]) if each.labels}
    assert found == {
        ("click", "num_steps"): 2,
        ("click", "action_type_accuracy"): 0.5,
        ("click", "step_score"): 0.5,
        ("click", "mean_coord_error"): 0.0,
        ("click", "click_hit_rate"): 1.0,
        ("done", "num_steps"): 1,
        ("done", "action_type_accuracy"): 1.0,
        ("done", "step_score"): 1.0,
        ("done", "mean_coord_error"): None,
        ("done", "click_hit_rate"): None,
    }


MILESTONE = {"name": "saved", "step_index": 0, "expected_type": "click", "coord_threshold": 0.1}


@pytest.mark.parametrize(
    ("milestones", "weak"),
    [
        (None, None),
        ({}, None),
        ({"other": [MILESTONE]}, None),
        ({"task": []}, None),
        ({"task": [MILESTONE]}, 1.0),
        ({"*": [MILESTONE]}, 1.0),
        ({"episode": [MILESTONE]}, 1.0),
        ({"task": [MILESTONE | {"coord_threshold": 0.01}]}, 0.0),
        ({"task": [MILESTONE | {"expected_type": "done"}]}, 0.0),
        ({"task": [MILESTONE, MILESTONE | {"name": "later", "step_index": 9}]}, 0.0),
    ],
)
def test_weak_success(milestones: Any, weak: float | None) -> None:
    score = scored(truth(click(0.5, 0.5)), did(click(0.56, 0.5)), milestones=milestones)
    assert numbers(score)["weak_episode_success_rate"] == weak


def test_a_milestone_in_marks_is_reached_by_the_right_element() -> None:
    settings = {"dsl_mode": "som", "milestones": {"*": [MILESTONE]}}
    assert numbers(scored(truth(mark(1)), did(mark(1)), **settings))["weak_episode_success_rate"] == 1.0
    assert numbers(scored(truth(mark(1)), did(mark(2)), **settings))["weak_episode_success_rate"] == 0.0
    old = scored(truth(mark(1)), did(mark(1)), **settings, profile="openadapt-v1")
    assert numbers(old)["weak_episode_success_rate"] == 0.0


def test_milestones_from_files(tmp_path: Path) -> None:
    first, second = tmp_path / "m.json", tmp_path / "m.toml"
    first.write_text(json.dumps({"task": [MILESTONE]}))
    second.write_text('[[task]]\nname = "saved"\nstep_index = 0\nexpected_type = "click"\n')
    for file in (first, second):
        score = scored(truth(click(0.5, 0.5)), did(click(0.56, 0.5)), milestones=str(file))
        assert score.details["milestones"] == {"saved": True}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("{", "not valid"),
        ('{"task": [{"name": "x"}]}', "step_index"),
        ('{"task": [{"name": "x", "step_index": 0, "expected_type": "click", "near": 1}]}', "near"),
    ],
)
def test_wrong_milestones_are_told(content: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=message):
        parse_settings(gui, {"milestones": str(file)})


@pytest.mark.parametrize(
    ("said", "final", "rate"),
    [
        ([None, None], None, None),
        ([{"success": True}, {"success": False}], None, 0.0),
        ([{"success": True}, {"success": "yes"}], None, 1.0),
        ([None, None], {"success": True}, 1.0),
        ([{"success": 1}, None], None, None),
    ],
)
def test_the_last_truth_value_of_the_state_counts(said: list[Any], final: Any, rate: float | None) -> None:
    steps = tuple(Step(id=f"p{n}", role="agent", parts=(DONE,), state_delta=each) for n, each in enumerate(said))
    score = scored(truth(DONE, DONE), Trajectory(steps=steps, state=final))
    assert numbers(score)["state_success_rate"] == rate


def test_the_state_is_found_in_the_answer_as_it_was_written() -> None:
    answer = Action(kind="done", raw='State: {"success": true}\nAction: DONE()')
    assert numbers(scored(truth(DONE), did(answer)))["state_success_rate"] == 1.0


def test_counts_survive_being_written() -> None:
    from pantrace.wire.json import decode_as, encode

    score = scored(truth(click(0.5, 0.5), DONE), did(click(0.52, 0.5), DONE), milestones={"*": [MILESTONE]})
    assert aggregate([decode_as(encode(score), Score)]) == aggregate([score])
