"""Seed document 3, evaluation JSON of GUI agents: its examples and checks, what is measured, benchmark runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT as GOLDEN
from pantrace import convert, read, validate
from pantrace.engine.trace_analysis import trace_analysis
from pantrace.metrics import by_name, parse_settings
from pantrace.model import Action, Point, Sample, Score, Target
from pantrace.wire.json import decode
from seeds.recordings import pantrace
from short_samples import agent, run, user

EPISODES = GOLDEN / "openadapt-episodes"


class EvalMetrics(msgspec.Struct, kw_only=True):
    """The document's own check of `metrics`, in our words."""

    num_episodes: int
    num_steps: int
    action_type_accuracy: float
    mean_coord_error: float | None = None
    coord_error_count: int
    episode_success_rate: float
    click_hit_rate: float | None = None
    bbox_hit_rate: float | None = None
    mean_episode_progress: float | None = None
    mean_episode_step_score: float | None = None
    weak_episode_success_rate: float | None = None
    state_success_rate: float | None = None
    element_accuracy: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is below 0")
            if value is not None and value > 1 and name.endswith(("accuracy", "rate", "progress", "score")):
                raise ValueError(f"{name} is above 1")


class EvalOutput(msgspec.Struct, kw_only=True):
    """The document's own check of a file."""

    config_path: str
    backend: str
    dsl_mode: str = "coord"
    metrics: EvalMetrics


COMMON = {"num_episodes": 32, "coord_error_count": 0, "mean_coord_error": None, "click_hit_rate": None}
SOM = COMMON | {
    "action_type_accuracy": 1.0,
    "episode_success_rate": 1.0,
    "bbox_hit_rate": None,
    "mean_episode_progress": 1.0,
    "mean_episode_step_score": 1.0,
    "weak_episode_success_rate": 0.0,
    "state_success_rate": None,
    "element_accuracy": 1.0,
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "coordinates": {
        "config_path": "configs/qwen3vl_synthetic_dev.yaml",
        "backend": "qwen3",
        "metrics": {
            "num_episodes": 32,
            "num_steps": 224,
            "action_type_accuracy": 0.22321428571428573,
            "mean_coord_error": 0.03184812009573501,
            "coord_error_count": 19,
            "episode_success_rate": 0.0,
            "click_hit_rate": 0.9473684210526315,
        },
    },
    "marks": {
        "config_path": "configs/qwen3vl_synthetic_registration_som.yaml",
        "backend": "qwen3",
        "dsl_mode": "som",
        "metrics": {"num_steps": 384, **SOM},
    },
    "api": {
        "config_path": "configs/qwen3vl_synthetic_dev.yaml",
        "backend": "claude",
        "dsl_mode": "som",
        "metrics": {"num_steps": 192, **SOM},
    },
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_documents_examples_are_read_validated_and_come_back(name: str, tmp_path: Path) -> None:
    path, back, native = tmp_path / "eval.json", tmp_path / "back.json", tmp_path / "run.trace.jsonl"
    path.write_text(json.dumps(EXAMPLES[name]))
    assert [each for each in validate(path) if each.level == "error"] == []
    convert(path, back, to="openadapt-eval")
    assert (
        decode(back.read_bytes()).items() >= {**EXAMPLES[name], "metrics": decode(back.read_bytes())["metrics"]}.items()
    )
    assert decode(back.read_bytes())["metrics"].items() >= EXAMPLES[name]["metrics"].items()
    convert(path, native, to="native")
    again = tmp_path / "again.json"
    convert(native, again, to="openadapt-eval")
    for written in (back, again):
        accepted = msgspec.json.decode(written.read_bytes(), type=EvalOutput)
        assert accepted.metrics.num_steps == EXAMPLES[name]["metrics"]["num_steps"]
    (result,) = [each for each in read(path).results if each.name == "action_type_accuracy"]
    assert result.value == EXAMPLES[name]["metrics"]["action_type_accuracy"]


def test_the_documents_legacy_example_is_migrated_as_the_document_does(tmp_path: Path) -> None:
    legacy = {"action_type_accuracy": 0.469, "click_hit_rate": 0.85}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(legacy))
    found = decode(pantrace("migrate", path).stdout.encode())
    assert (found["config_path"], found["backend"]) == ("unknown", "unknown")
    assert {name: value for name, value in found["metrics"].items() if value is not None} == legacy


def test_an_unknown_metric_is_kept_and_a_withdrawn_one_is_no_number(tmp_path: Path) -> None:
    document = EXAMPLES["coordinates"]
    metrics = {**document["metrics"], "click_distance_50th_percentile": 0.042, "bbox_hit_rate": -1.0}
    path, back = tmp_path / "eval.json", tmp_path / "back.json"
    path.write_text(json.dumps({**document, "metrics": metrics}))
    results = {each.name: each for each in read(path).results}
    assert results["click_distance_50th_percentile"].value == 0.042
    assert (results["bbox_hit_rate"].value, results["bbox_hit_rate"].withdrawn) == (None, True)
    convert(path, back, to="openadapt-eval")
    assert decode(back.read_bytes())["metrics"].items() >= metrics.items()
    told = pantrace("aggregate", path, path)
    assert "bbox_hit_rate" in told.stderr
    assert "withdrawn" in told.stderr


def _measured(tmp_path: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    out = tmp_path / "eval.json"
    source = EPISODES / "login_coord"
    done = pantrace("measure", source, "--reference", source, "--format", "openadapt-eval", "-o", out, *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = decode(out.read_bytes())
    return found, done.stderr


def test_measuring_writes_what_it_is_told_and_leaves_out_what_nobody_says(tmp_path: Path) -> None:
    found, told = _measured(tmp_path)
    assert {"config_path", "backend", "device", "gpu_model", "memory_gb", "checkpoint_path"}.isdisjoint(found)
    assert "config_path and backend left out, because the recordings do not say" in " ".join(told.split())
    assert found["dsl_mode"] == "coord"
    assert found["eval_duration_seconds"] >= 0
    assert found["eval_timestamp"].startswith("20")
    options = {
        "config_path": "configs/dev.yaml",
        "backend": "qwen3",
        "dsl_mode": "som",
        "checkpoint_path": "checkpoints/7",
        "device": "cuda",
    }
    found, told = _measured(
        tmp_path, *(part for key, value in options.items() for part in ("--option", f"{key}={value}"))
    )
    assert found.items() >= options.items()
    assert "left out" not in told
    accepted = msgspec.convert(found, EvalOutput)
    assert (accepted.backend, accepted.metrics.num_episodes) == ("qwen3", 1)
    # The mode that is written is the one in which actions were compared: by marks, of which these have none.
    assert found["metrics"]["click_hit_rate"] is None


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--format", "openadapt-eval", "--option", "confg_path=x"], "openadapt-eval has no option 'confg_path'"),
        (["--format", "openadapt-eval", "--option", "backend"], "--option 'backend' must be NAME=VALUE"),
        (["--format", "json", "--option", "backend=x"], "--option sets fields of --format openadapt-eval"),
    ],
)
def test_an_option_that_is_none_is_refused(arguments: list[str], why: str, tmp_path: Path) -> None:
    found = pantrace("measure", EPISODES / "login_coord", "-o", tmp_path / "x.json", *arguments)
    assert found.returncode == 2
    assert why in found.stderr


def _scores(path: Path, metric: str) -> dict[str, Score]:
    return {sample.id: by_name(metric).score(sample) for sample in read(path).samples}


def test_benchmark_folders_have_outcomes() -> None:
    found = _scores(EPISODES / "waa_results", "outcome")
    stated = {name: (score.value, score.values.get("reward"), score.values["limit"]) for name, score in found.items()}
    assert stated["err-1"] == (False, None, 1)
    assert (True, 1.0, 0) in stated.values()
    run_folder = _scores(EPISODES / "benchmark_run", "outcome")
    assert {name: score.status for name, score in run_folder.items()}["notepad-3"] == "not_applicable"
    assert run_folder["notepad/2"].values["reward"] == 0.5


def _acts(*actions: Action) -> Sample:
    return run(user("Open it."), *(agent(action, id=f"s{place}") for place, action in enumerate(actions)))


def _click(x: float) -> Action:
    return Action(kind="click", target=Target(point=Point(x=x, y=0.5, space="normalised")))


A, B, WAIT, TYPE = _click(0.1), _click(0.2), Action(kind="wait"), Action(kind="type", text="hi")


@pytest.mark.parametrize(
    ("actions", "repeated", "longest", "wasted"),
    [
        ([A], 0, 1, 0),
        ([A, B, A], 1, 1, 0),
        ([A, A, A, A], 3, 4, 3),
        ([A, B, A, B, A, B, TYPE], 4, 1, 4),
        ([WAIT, WAIT, WAIT], 0, 0, 0),
        ([A, Action(kind="unparsed"), B], 0, 1, 1),
    ],
)
def test_repeats_loops_and_waste_of_gui_actions(
    actions: list[Action], repeated: int, longest: int, wasted: int
) -> None:
    found = by_name("gui_actions").score(_acts(*actions))
    assert found.values["actions"] == len(actions)
    counts = [found.values[name] for name in ("repeated_actions", "longest_run", "wasted_actions")]
    assert counts == [repeated, longest, wasted]
    assert found.values["wasted_share"] == pytest.approx(wasted / len(actions))
    assert sum(found.details["action_counts"].values()) == len(actions)


def test_actions_that_may_be_repeated_can_be_named_and_a_chat_has_none() -> None:
    check = by_name("gui_actions")
    sample = _acts(A, A)
    assert check.score(sample, parse_settings(check, {"ignore": ["click"]})).values["repeated_actions"] == 0
    assert check.score(run(user("hi"), agent("ho"))).explanation == "no GUI action is recorded"


THEIRS = CORPUS / "own/openadapt/golden/trace_analyzer.json"
RUNS = CORPUS / "own/openadapt/evals_run"


def _analysed(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    theirs = decode(THEIRS.read_bytes())[name]
    return theirs, trace_analysis(read(RUNS / name).samples)


@needs_corpus
@pytest.mark.parametrize("name", ["planner_trajectories", "full_eval.jsonl"])
def test_failure_modes_actions_and_steps_are_those_of_trace_analyzer(name: str) -> None:
    theirs, ours = _analysed(name)
    assert ours["failure_modes"] == theirs["failure_modes"]
    assert ours["action_distribution"] == theirs["action_distribution"]
    # Its cost is a guess by the number of steps, and times that nobody recorded are its zeros: ours are null.
    guessed = {
        "cost_estimate_usd",
        *(key for key in ("avg_time_per_episode", "total_time") if not theirs["summary"][key]),
    }
    for key, value in theirs["summary"].items():
        assert ours["summary"][key] == (None if key in guessed else value), key


@needs_corpus
def test_a_task_whose_folder_is_not_called_after_it_counts() -> None:
    """TraceAnalyzer looks for the folder's name (notepad_2) in a file that says notepad/2, and drops its result."""
    theirs, ours = _analysed("waa_eval_fixture")
    assert ours["action_distribution"] == theirs["action_distribution"]
    assert theirs["summary"]["episodes_by_status"] == {"passed": 1, "infra_error": 1, "evaluation_error": 1}
    assert ours["summary"]["episodes_by_status"] == {"passed": 1, "infra_error": 1, "failed": 1}
    assert [(each["mode"], each["episode_ids"]) for each in ours["failure_modes"]] == [
        ("server_error", ["notepad-3"]),
        ("task_incomplete", ["notepad/2"]),
    ]
    assert (ours["summary"]["total_steps"], theirs["summary"]["total_steps"]) == (8, 5)
    assert ours["step_statistics"]["passed"] == {"episodes": 1, "min": 5, "median": 5.0, "max": 5}


@needs_corpus
def test_two_full_evaluations_are_compared_case_by_case() -> None:
    theirs = decode(THEIRS.read_bytes())["compare(full_eval, full_eval_b)"]
    told = pantrace(
        "compare", RUNS / "full_eval.jsonl", RUNS / "full_eval_b.jsonl", "--metric", "outcome.reward", "--json"
    )
    (found,) = decode(told.stdout.encode())["comparisons"]
    changed = {flip["case"]: flip["after"] - flip["before"] for flip in found["flips"]}
    assert changed == {each["task_id"]: each["score_delta"] for each in (*theirs["improved"], *theirs["regressed"])}
    assert found["ties"] == len(theirs["unchanged"])


def test_the_analysis_is_written_beside_the_diagnosis(tmp_path: Path) -> None:
    out = tmp_path / "analysis.json"
    done = pantrace("diagnose", EPISODES / "waa_results", "--trace-analysis", out)
    assert done.returncode == 0, done.stderr
    found = decode(out.read_bytes())
    assert list(found) == ["summary", "failure_modes", "action_distribution", "step_statistics"]
    assert {each["mode"]: each["episode_ids"] for each in found["failure_modes"]}["timeout"] == ["err-1"]
