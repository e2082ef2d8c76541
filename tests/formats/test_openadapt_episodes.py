"""What is peculiar to OpenAdapt's episodes and the logs around them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT, golden_inputs
from pantrace.engine.convert import convert
from pantrace.engine.migrate import migrate
from pantrace.engine.read import Notes, read, read_pile
from pantrace.engine.validate import validate
from pantrace.errors import ReadError, SampleRefused, UnknownFormat
from pantrace.formats import by_name, detect
from pantrace.formats.format import NoOptions
from pantrace.formats.openadapt_episodes.older_shapes import flat_action
from pantrace.model import (
    Action,
    Box,
    Media,
    Outcome,
    Point,
    Sample,
    Step,
    Target,
    Text,
    Thinking,
    ToolCall,
    Trajectory,
    Usage,
)
from pantrace.wire.json import to_plain
from pantrace.wire.loss import sample_losses
from pantrace.wire.pantrace_key import without_carried

NAME = "openadapt-episodes"
GOLDEN = ROOT / NAME
FORMAT = by_name(NAME)


def _episode(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"episode_id": "e", "instruction": "Do it", "steps": list(steps), **fields}


def _row(action: dict[str, Any], observation: dict[str, Any] | None = None, index: int = 0) -> dict[str, Any]:
    return {"step_index": index, "observation": observation or {}, "action": action}


def _load(row: Any) -> Sample:
    assert FORMAT.load is not None
    return FORMAT.load(row)


def _dump(sample: Sample) -> Any:
    assert FORMAT.dump is not None
    return FORMAT.dump(sample, NoOptions())


def _steps(sample: Sample) -> tuple[Step, ...]:
    assert sample.trajectory is not None
    return sample.trajectory.steps


def _outcome(sample: Sample) -> Outcome | None:
    assert sample.trajectory is not None
    return sample.trajectory.outcome


def _actions(sample: Sample) -> list[Action]:
    return [part for step in _steps(sample) for part in step.parts if isinstance(part, Action)]


def _media(sample: Sample) -> dict[str | None, Media]:
    return {part.id: part for step in _steps(sample) for part in step.parts if isinstance(part, Media)}


def _by_id(path: Path) -> dict[str, Sample]:
    return {sample.id: sample for sample in read(path).samples}


# Outcomes


def test_a_missing_outcome_is_not_a_failure() -> None:
    assert _outcome(_load(_episode())) is None
    assert _outcome(_load(_episode(final_reward=0.3))) == Outcome(status="unscored", reward=0.3)
    assert _outcome(_load(_episode(success=False, final_reward=0.0))) == Outcome(status="failed", reward=0.0)


def test_arena_task_without_result_is_an_error_and_not_a_zero() -> None:
    samples = _by_id(GOLDEN / "waa_results")
    outcome = _outcome(samples["err-1"])
    assert outcome is not None
    assert (outcome.status, outcome.reason, outcome.reward) == ("limit", "Time limit exceeded in vlc/err-1", None)
    passed = samples["366de66e-cbae-4d72-b042-26390db2b145-WOS"]
    assert _outcome(passed) == Outcome(status="passed", reward=1.0)


def test_arena_task_that_merely_stopped_is_unscored(tmp_path: Path) -> None:
    task = tmp_path / "notepad" / "t1"
    shutil.copytree(next((GOLDEN / "waa_results").glob("*/*/*/*/notepad/*")), task)
    (task / "result.txt").unlink()
    (sample,) = read(task).samples
    assert _outcome(sample) == Outcome(status="unscored", reason="there is no result.txt")
    assert [each.level for each in validate(task)] == ["warning"]
    (task / "result.txt").write_text("half")
    with pytest.raises(ReadError, match="is not a number"):
        list(read(task).samples)


def test_infrastructure_errors_are_no_verdict() -> None:
    samples = _by_id(GOLDEN / "benchmark_run")
    outcome = _outcome(samples["notepad-3"])
    assert outcome is not None
    assert (outcome.status, outcome.reason, outcome.reward) == ("error", "Connection refused", None)
    assert _outcome(samples["notepad/2"]) == Outcome(status="failed", reward=0.5)


def test_full_evaluation_has_outcomes_and_milestones_but_no_steps() -> None:
    samples = _by_id(GOLDEN / "full_eval.jsonl")
    statuses = {name: outcome.status for name, each in samples.items() if (outcome := _outcome(each))}
    assert statuses == {"a": "passed", "b": "failed", "c": "failed", "d": "error"}
    stored = {score.name: score.value for score in samples["b"].scores}
    assert stored == {"milestones": 0.5, "num_steps": 15, "elapsed_seconds": 90.0}
    assert [score.name for score in samples["c"].scores] == ["num_steps", "elapsed_seconds"]
    assert read(GOLDEN / "full_eval.jsonl").model == "claude-sonnet-4-6"


def test_a_number_that_no_float_holds_is_kept_and_is_no_score(tmp_path: Path) -> None:
    line = {"task_id": "a", "score": 1, "success": True, "elapsed_seconds": 10**399, "steps": 3}
    path = tmp_path / "full_eval.jsonl"
    path.write_text(json.dumps({"_meta": True, "planner_model": "m"}) + "\n" + json.dumps(line) + "\n")
    (sample,) = read(path).samples
    assert [score.name for score in sample.scores] == ["num_steps"]
    assert sample.extra[NAME]["metadata"]["elapsed_seconds"] == 10**399
    # Writers that reckon with scores stumbled over it.
    assert convert(path, tmp_path / "out.eval", to="inspect").samples == 1


@pytest.mark.parametrize(
    ("golden", "place", "value", "told"),
    [
        ("legacy.json", (0, "steps", 1, "action"), [1], "item 1, steps[1].action: must be an object, is an array"),
        ("legacy.json", (0, "steps", 1), {}, "item 1, steps[1].action: is missing"),
        ("legacy.json", (0, "steps", 0, "observation"), "x", "steps[0].observation: must be an object, is text"),
        ("demo.json", ("steps", 2), 7, "steps[2]: must be an object, is an integer"),
        ("demo.json", ("metadata",), True, "metadata: must be an object, is true or false"),
        ("step_log.jsonl", (0, "pred_action"), None, "[0].pred_action: must be an object, is null"),
        ("benchmark_run/tasks/notepad_2/execution.json", ("steps", 0), [1], "steps[0]: must be an object, is an array"),
    ],
)
def test_a_record_of_a_wrong_shape_is_refused_by_its_place(
    golden: str, place: tuple[Any, ...], value: Any, told: str, tmp_path: Path
) -> None:
    path = tmp_path / Path(golden).name
    lines = (GOLDEN / golden).read_text().splitlines()
    document: Any = [json.loads(line) for line in lines] if path.suffix == ".jsonl" else json.loads("".join(lines))
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    told_lines = [json.dumps(each) for each in document] if path.suffix == ".jsonl" else [json.dumps(document)]
    path.write_text("\n".join(told_lines))
    broken: list[ReadError] = []
    list(read(path, format=NAME, on_broken=broken.append).samples)
    assert str(broken[0]).endswith(told)


# Points and what was seen


def test_pixels_and_normalised_points_do_not_mix() -> None:
    pixels = {"type": "click", "coordinates": {"x": 10, "y": 20}}
    share = {"type": "click", "normalized_coordinates": [0.1, 0.2]}
    both = {**pixels, **share}
    first, second, third = _actions(
        _load(_episode(_row(pixels, {"screen_size": [100, 50]}), _row(share, index=1), _row(both, index=2)))
    )
    assert first.target == Target(point=Point(x=10, y=20, space="pixels", viewport=(100, 50)))
    assert second.target == third.target == Target(point=Point(x=0.1, y=0.2, space="normalised"))
    assert third.extra == {NAME: {"coordinates": {"x": 10, "y": 20}}}


@pytest.mark.parametrize(
    ("x", "y", "space"), [(0.5, 0.25, "normalised"), (1.0, 0.0, "normalised"), (640, 400, "pixels"), (1, 0, "unknown")]
)
def test_the_space_of_an_undeclared_point(x: float, y: float, space: str) -> None:
    legacy = {
        "id": "e",
        "goal": "g",
        "steps": [{"t": 0, "observation": {}, "action": {"type": "click", "x": x, "y": y}}],
    }
    (action,) = _actions(_load(legacy))
    assert action.target is not None and action.target.point is not None
    assert (action.target.point.x, action.target.point.y, action.target.point.space) == (x, y, space)
    assert _actions(_load(_dump(_load(legacy)))) == [action]


def test_boxes_and_marks() -> None:
    bounds = {"x": 10, "y": 20, "width": 30, "height": 40}
    pixel = {"type": "click", "element": {"element_id": "7", "bounds": bounds}, "raw": {"bbox": [0.1, 0.1, 0.2, 0.2]}}
    (action,) = _actions(_load(_episode(_row(pixel))))
    assert action.target is not None
    assert action.target.box == Box(left=10, top=20, right=40, bottom=60, space="pixels")
    assert action.target.element == "7"
    assert action.raw == {"bbox": [0.1, 0.1, 0.2, 0.2]}
    sample = next(iter(read(GOLDEN / "batch_som.json").samples))
    mark = _actions(sample)[0].target
    assert mark is not None and mark.box is not None
    assert (mark.element, mark.box.space) == (1, "normalised")


def test_an_episode_shows_the_screen_before_the_action() -> None:
    (sample,) = read(GOLDEN / "login_coord").samples
    first = _actions(sample)[0]
    assert first.after is None
    assert _media(sample)[first.before].uri == "login_coord/episode_0000/episode_0000_login_step_0.png"
    assert all(each.data is None for each in _media(sample).values())


def test_the_arena_shows_the_screen_after_the_action() -> None:
    sample = _by_id(GOLDEN / "waa_results")["366de66e-cbae-4d72-b042-26390db2b145-WOS"]
    media = _media(sample)
    seen = [
        (
            action.kind,
            media[action.before].uri if action.before else None,
            media[action.after].uri if action.after else None,
        )
        for action in _actions(sample)
    ]
    reset, *shots = [f"screenshot-step_{name}.png" for name in ("reset_20260102@030405", "0_20260102@030410")] + [
        f"screenshot-step_{name}.png" for name in ("1_20260102@030415", "2_20260102@030420", "3_20260102@030425")
    ]
    assert seen == [
        ("hover", reset, None),
        ("click", None, shots[0]),
        ("type", shots[0], shots[1]),
        ("wait", shots[1], shots[2]),
        ("done", shots[2], shots[3]),
    ]


def test_several_actions_of_one_turn_stay_one_step() -> None:
    sample = _by_id(GOLDEN / "waa_results")["366de66e-cbae-4d72-b042-26390db2b145-WOS"]
    turn = _steps(sample)[1]
    assert [part.kind for part in turn.parts if isinstance(part, Action)] == ["hover", "click"]
    rows = _dump(sample)["steps"]
    assert [row["step_index"] for row in rows] == [0, 1, 2, 3, 4]
    assert rows[1]["pantrace"]["continues"] is True
    assert _steps(_load(json.loads(json.dumps(_dump(sample)))))[1] == turn


def test_relative_timestamps_are_not_clock_times() -> None:
    relative, absolute = 3.0, 1_794_767_199.5
    timed = {**_row({"type": "wait"}), "timestamp": relative, "duration_ms": 10}
    step = _steps(_load(_episode(timed)))[1]
    assert (step.at, step.ended) == (None, None)
    assert step.extra == {NAME: {"timestamp": 3.0, "duration_ms": 10}}
    step = _steps(_load(_episode({**timed, "timestamp": absolute})))[1]
    assert (step.at, step.ended) == (absolute, absolute + 0.01)


# Shapes


def test_task_ids_come_from_the_file_and_not_from_the_folder() -> None:
    assert "notepad/2" in _by_id(GOLDEN / "benchmark_run")


def test_planner_lines_are_gathered_even_when_they_alternate(tmp_path: Path) -> None:
    lines = (GOLDEN / "planner.jsonl").read_text().splitlines()
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text("\n".join(lines[index] for index in (0, 3, 1, 4, 2, 5)))
    found = {name: to_plain(_steps(each)) for name, each in _by_id(mixed).items()}
    assert found == {name: to_plain(_steps(each)) for name, each in _by_id(GOLDEN / "planner.jsonl").items()}


def test_a_cut_accessibility_tree_stays_text(tmp_path: Path) -> None:
    row = json.loads((GOLDEN / "planner.jsonl").read_text().splitlines()[0])
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({**row, "a11y_tree": '{"role": "win...'}))
    (sample,) = read(path).samples
    assert _steps(sample)[1].extra[NAME]["observation"] == {"raw": {"a11y_tree": '{"role": "win...'}}


def test_a_step_log_holds_predictions_and_ground_truth() -> None:
    samples = _by_id(GOLDEN / "step_log.jsonl")
    wrong = samples["episode_0001_login"]
    assert [action.kind for action in _actions(wrong)] == ["click", "unparsed"]
    assert wrong.expected is not None
    truth = [part.kind for step in wrong.expected.steps for part in step.parts if isinstance(part, Action)]
    assert truth == ["click", "type"]
    assert _load(_dump(wrong)).expected == wrong.expected


def test_lists_wrappers_and_lines_hold_the_same_episodes(tmp_path: Path) -> None:
    rows = json.loads((GOLDEN / "batch_som.json").read_bytes())
    (tmp_path / "wrapped.json").write_text(json.dumps({"episodes": rows}))
    (tmp_path / "lines.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    wanted = [_load(row) for row in rows]
    for name in ("wrapped.json", "lines.jsonl"):
        assert detect(tmp_path / name)[0].name == NAME
        found = list(read(tmp_path / name).samples)
        assert [_steps(each) for each in found] == [_steps(each) for each in wanted]


def test_one_broken_episode_of_a_list_does_not_sink_it(tmp_path: Path) -> None:
    rows = json.loads((GOLDEN / "batch_som.json").read_bytes())
    rows[0]["steps"][1]["action"] = "click"
    path = tmp_path / "batch.json"
    path.write_text(json.dumps(rows))
    broken: list[ReadError] = []
    assert len(list(read(path, on_broken=broken.append).samples)) == 1
    assert (broken[0].place, broken[0].path) == ("item 1, steps[1]", str(path))


def test_a_folder_of_other_things_is_not_claimed(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "waa_results/pyautogui", tmp_path / "runs/waa")
    (tmp_path / "runs/other").mkdir()
    (tmp_path / "runs/other/session.json").write_text("{}")
    with pytest.raises(UnknownFormat):
        detect(tmp_path / "runs")
    notes = Notes.keeping()
    assert len(list(read_pile([tmp_path / "runs"], notes=notes).samples)) == 2
    assert [(path.name, reason) for path, reason in notes.ignored] == [("session.json", "no known format")]


@pytest.mark.parametrize(
    "text",
    [
        '{"steps": []}',
        '{"episode_id": "e", "steps": []}',
        '{"id": "x", "goal": "g", "steps": [{"name": "s"}]}',
        '{"task_id": "t", "score": 1}',
        '{"step_num": 1, "action": "x"}',
        '{"episodes": []}',
    ],
)
def test_neighbouring_shapes_are_not_claimed(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UnknownFormat):
        detect(path)


def test_odd_values_are_kept(tmp_path: Path) -> None:
    odd = _episode(
        {**_row({"type": "type", "text": 5, "coordinates": [1, 2], "element": "x"}), "reasoning": ["a"]},
        task_id=7,
        success="yes",
        created_at="yesterday",
        future={"a": 1},
    )
    written = _dump(_load(odd))
    assert {key: written[key] for key in ("task_id", "success", "created_at", "future")} == {
        "task_id": 7,
        "success": "yes",
        "created_at": "yesterday",
        "future": {"a": 1},
    }
    step = written["steps"][0]
    assert (step["action"]["text"], step["action"]["coordinates"], step["reasoning"]) == (5, [1, 2], ["a"])


# Writing


def test_a_sample_without_gui_actions_is_refused() -> None:
    steps = (Step(role="agent", parts=(ToolCall(name="bash", arguments={}),)),)
    with pytest.raises(SampleRefused):
        _dump(Sample(id="s", trajectory=Trajectory(steps=steps)))


def test_steps_without_a_gui_action_are_lost_and_told() -> None:
    steps = (
        Step(role="user", parts=(Text(text="Do it"),)),
        Step(
            role="agent",
            parts=(
                Media(id="m1", mime="image/png", uri="a.png"),
                Thinking(text="hm"),
                Action(kind="click", before="m1"),
                ToolCall(id="c", name="bash", arguments={"a": 1}),
            ),
            usage=Usage(input=3),
        ),
        Step(role="user", parts=(Text(text="more"),)),
    )
    sample = Sample(id="s", trajectory=Trajectory(id="s", steps=steps))
    row = _dump(sample)
    losses = sample_losses(sample, _load(row), FORMAT.lost, NAME)
    assert {loss.path for loss in losses} == {"trajectory.steps[2]"}
    plain = sample_losses(sample, _load(without_carried(row, FORMAT.corners)), FORMAT.lost, NAME)
    assert {"trajectory.steps[1].usage", "trajectory.steps[1].parts[3]"} < {loss.path for loss in plain}


def test_a_screenshot_is_written_once() -> None:
    """A remainder that told whole steps would double the size of an episode with pictures in it."""
    screen = Media(id="m1", mime="image/png", data="iVBORw0KGgo" + "A" * 500)
    parts = (screen, Thinking(text="hm"), Text(text="so"), Action(kind="click", before="m1"), Action(kind="wait"))
    steps = (
        Step(role="agent", parts=parts, usage=Usage(input=3)),
        Step(role="user", parts=(Text(text="more"),)),
        Step(role="agent", parts=(Action(kind="done", before="m1"),)),
    )
    sample = Sample(id="s", trajectory=Trajectory(id="t", steps=steps))
    row = _dump(sample)
    assert json.dumps(row).count("A" * 500) == 2  # once for each step that shows it
    assert [row["step_index"] for row in row["steps"]] == [0, 1, 2]
    assert _steps(_load(row))[1] == steps[0]


@pytest.mark.parametrize(
    "action",
    [
        Action(kind="middle_click", target=Target(point=Point(x=-5, y=1.5, space="pixels"))),
        Action(kind="click", target=Target(point=Point(x=500, y=20, space="permille", axes="yx"))),
        Action(kind="type"),
        Action(kind="scroll", direction="sideways", amount=1.5),
        Action(kind="answer", text="42", raw={"bbox": [1]}),
        Action(kind="drag", end=Point(x=0.5, y=0.5, space="normalised"), raw="drag it", after="gone"),
        Action(kind="click", target=Target(box=Box(left=0.5, top=1, right=2, bottom=3, space="pixels"))),
        Action(kind="key", key="c", id="a1", extra={"other": {"a": 1}}),
    ],
    ids=lambda action: action.kind,
)
def test_any_action_survives_and_openadapt_could_load_it(action: Action) -> None:
    row = _dump(Sample(id="s", trajectory=Trajectory(steps=(Step(role="agent", parts=(action,)),))))
    assert [each.message for each in FORMAT.check(row) if each.level == "error"] == []  # type: ignore[misc]
    assert _actions(_load(row)) == [action]


@pytest.mark.parametrize("path", [path for name, path in golden_inputs() if name == NAME], ids=lambda path: path.name)
def test_what_is_written_is_in_order(path: Path) -> None:
    for sample in read(path).samples:
        assert [each for each in validate(_dump(sample), NAME) if each.level == "error"] == []


def test_an_endless_scroll_does_not_stop_the_writing() -> None:
    endless = Step(role="agent", parts=(Action(kind="scroll", amount=float("inf")),))
    assert "scroll_amount" not in _dump(Sample(id="s", trajectory=Trajectory(steps=(endless,))))["steps"][0]["action"]


# Validation and migration


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (_episode(), []),
        (_episode(_row({"type": "tap"})), [("error", "steps[0].action.type")]),
        (_episode(_row({"type": "type"})), [("error", "steps[0].action.text")]),
        (_episode(_row({"type": "key"})), [("error", "steps[0].action.key")]),
        (_episode(_row({"type": "goto", "url": None})), [("error", "steps[0].action.url")]),
        (
            _episode(_row({"type": "click", "coordinates": {"x": -1, "y": 2}})),
            [("error", "steps[0].action.coordinates.x")],
        ),
        (
            _episode(_row({"type": "click", "normalized_coordinates": [640, 400]})),
            [("warning", "steps[0].action.normalized_coordinates")],
        ),
        (
            _episode(_row({"type": "click", "normalized_coordinates": [0.5]})),
            [("error", "steps[0].action.normalized_coordinates")],
        ),
        (_episode(_row({"type": "wait"}, index=-1)), [("error", "steps[0].step_index")]),
        (_episode(_row({"type": "wait"}), _row({"type": "wait"})), [("warning", "steps[1].step_index")]),
        (_episode(source="mind2web"), [("error", "source")]),
        ({"instruction": "x", "steps": []}, [("error", "episode_id")]),
    ],
)
def test_violations(row: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert [(each.level, each.place) for each in validate(row, NAME)] == wanted


def test_the_goldens_are_in_order() -> None:
    for name in ("login_coord", "batch_som.json", "benchmark_run", "planner.jsonl", "step_log.jsonl"):
        assert validate(GOLDEN / name) == [], name
    assert {each.level for each in validate(GOLDEN / "legacy.json")} == {"warning"}


def test_legacy_episodes_are_migrated(tmp_path: Path) -> None:
    (done,) = migrate([GOLDEN / "legacy.json"], tmp_path)
    output = done.output
    assert done.what == "openadapt-episodes: migrated"
    assert output is not None
    assert validate(output) == []
    before, after = next(iter(read(GOLDEN / "legacy.json").samples)), next(iter(read(output).samples))
    assert _steps(before) == _steps(after)


def test_unknown_legacy_types_do_not_become_clicks() -> None:
    legacy = {"id": "e", "goal": "g", "steps": [{"t": 0, "observation": {}, "action": {"type": "unknown"}}]}
    assert [action.kind for action in _actions(_load(legacy))] == ["unknown"]


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and _contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return len(whole) == len(part) and all(_contains(*pair) for pair in zip(whole, part, strict=True))
    return bool(whole == part)


@needs_corpus
def test_legacy_becomes_what_the_original_loader_made_and_more() -> None:
    folder = CORPUS / "public/openadapt/episodes"
    legacy = json.loads((folder / "sample_data.legacy.json").read_bytes())
    assert FORMAT.migrate is not None
    ours = FORMAT.migrate(legacy)
    assert _contains(ours, json.loads((folder / "sample_data.migrated_by_loader.json").read_bytes()))
    # The original loses the target's role and name.
    assert ours[0]["steps"][0]["action"]["element"] == {"role": "textfield", "name": "Username"}


@needs_corpus
def test_all_real_episodes_return_without_loss(tmp_path: Path) -> None:
    for number, folder in enumerate(("own/openadapt/episodes", "own/openadapt/evals_run", "own/openadapt/waa_results")):
        report = convert(CORPUS / folder, tmp_path / str(number), to=NAME)
        assert all(path.startswith("run.") for path, _, _ in report.losses)  # an episode has no place for a run
        assert report.samples


@needs_corpus
def test_metric_cases_are_read_with_every_action() -> None:
    cases = json.loads((CORPUS / "own/openadapt/golden/trajectory_metrics.json").read_bytes())["cases"]
    for case in cases:
        for row in case["episodes"]:
            sample = _load(row)
            assert [action.kind for action in _actions(sample)] == [step["action"]["type"] for step in row["steps"]]
            assert _contains(_dump(sample), row)


@needs_corpus
def test_demos_are_demonstrations() -> None:
    (sample,) = read(CORPUS / "public/openadapt/openadapt_evals_demos/custom-notepad-hello__manual__demo.json").samples
    assert [action.kind for action in _actions(sample)] == ["key", "type", "key", "click", "type"]
    assert _outcome(sample) is None


def test_what_a_flat_action_says_twice_or_in_another_type_is_kept() -> None:
    action = flat_action(
        {"type": "click", "x": 0.5, "key": 7, "raw": "a", "raw_action": "b", "target_node_id": "n", "element_index": 3}
    )
    assert (action.raw, action.target) == ("b", Target(element="n"))
    assert action.extra["openadapt-episodes"] == {"x": 0.5, "key": 7, "raw": "a", "element_index": 3}
