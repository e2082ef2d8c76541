"""Aggregation: null left out and counted, weighted and not, and the ten published files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.aggregate import aggregate, group_evaluations, within
from pantrace.engine.compare_stored import compare_stored
from pantrace.engine.convert import write
from pantrace.engine.metric_values import (
    Evaluation,
    copies_among,
    read_evaluations,
    short_names,
    warnings_of,
    without_groups,
)
from pantrace.engine.migrate import migrate
from pantrace.engine.plot import figure, kind_of, label_names, save
from pantrace.engine.read import Notes, open_run
from pantrace.engine.stored_evaluation import samples_of
from pantrace.errors import UsageError
from pantrace.formats import by_name
from pantrace.model import Case, Maker, Run, Sample, Scale, Score
from pantrace.stats import Estimate
from pantrace.wire.rows import raise_broken

EVALS = CORPUS / "public/openadapt/eval_json"


def eval_file(folder: Path, name: str, **metrics: Any) -> Path:
    path = folder / f"{name}.json"
    document = {"config_path": "c.yaml", "backend": metrics.pop("backend", "qwen3"), "metrics": metrics}
    path.write_text(json.dumps(document))
    return path


def evaluations(*paths: Path, by: tuple[str, ...] = ()) -> list[Evaluation]:
    return read_evaluations(list(paths), by=by, notes=Notes())


def scored(folder: Path, name: str, rows: list[tuple[str, int, Any, str]], label: str = "easy") -> Path:
    """A native file of samples (case, epoch, value, status)."""
    samples = [
        Sample(
            id=case,
            epoch=epoch,
            case=Case(id=case, labels={"difficulty": label if case < "m" else "hard"}),
            scores=(Score(name="reward", value=value, status=status, maker=Maker(name="x")),),  # type: ignore[arg-type]
        )
        for case, epoch, value, status in rows
    ]
    path = folder / f"{name}.trace.jsonl"
    write(Run(name=name, samples=samples), path, to="native")
    return path


def test_a_metric_that_is_null_everywhere_has_no_mean(tmp_path: Path) -> None:
    found = aggregate(evaluations(eval_file(tmp_path, "a", click_hit_rate=None, num_episodes=4)))
    summary = found.metrics["click_hit_rate"]
    assert (summary.mean, summary.weighted_mean, summary.evaluations, summary.null) == (None, None, 0, 1)
    assert found.documented() == {
        "mean_action_accuracy": None,
        "mean_click_hit_rate": None,
        "mean_episode_success": None,
    }


def test_null_is_left_out_and_counted_unless_asked_for(tmp_path: Path) -> None:
    files = [
        eval_file(tmp_path, "a", click_hit_rate=0.8, coord_error_count=10, num_episodes=5),
        eval_file(tmp_path, "b", click_hit_rate=None, coord_error_count=0, num_episodes=5),
    ]
    plain = aggregate(evaluations(*files)).metrics["click_hit_rate"]
    zeros = aggregate(evaluations(*files), null_as_zero=True).metrics["click_hit_rate"]
    assert (plain.mean, plain.null) == (0.8, 1)
    assert (zeros.mean, zeros.null) == (0.4, 1)
    assert zeros.weighted_mean == 0.8


def test_a_withdrawn_metric_is_left_out_counted_and_warned_of(tmp_path: Path) -> None:
    files = [
        eval_file(tmp_path, "a", bbox_hit_rate=0.9, click_hit_rate=0.8, coord_error_count=10, num_episodes=5),
        eval_file(tmp_path, "b", bbox_hit_rate=-1.0, click_hit_rate=None, coord_error_count=-1, num_episodes=5),
        eval_file(tmp_path, "c", bbox_hit_rate=None, click_hit_rate=0.6, coord_error_count=10, num_episodes=5),
    ]
    found = evaluations(*files)
    whole = aggregate(found)
    gone = whole.metrics["bbox_hit_rate"]
    # 0.9 alone; with the sentinel it would be (0.9 - 1) / 2 = -0.05.
    assert (gone.mean, gone.evaluations, gone.null, gone.withdrawn) == (0.9, 1, 1, 1)
    # The script counts null as 0, and never the sentinel: 0.9 / 2.
    assert aggregate(found, null_as_zero=True).metrics["bbox_hit_rate"].mean == pytest.approx(0.45)
    assert whole.totals["coord_error_count"] == 20
    assert whole.metrics["click_hit_rate"].weighted_mean == pytest.approx(0.7)
    (warning,) = warnings_of(found)
    assert warning.startswith(f"{files[1]}: left out: coord_error_count, bbox_hit_rate")


def test_a_number_outside_its_scale_is_left_out_and_warned_of(tmp_path: Path) -> None:
    files = [
        eval_file(tmp_path, "a", episode_success_rate=0.5, click_hit_rate=1.0000000000000002, num_episodes=5),
        eval_file(tmp_path, "b", episode_success_rate=250.0, click_hit_rate=1.0, num_episodes=5),
    ]
    found = evaluations(*files)
    assert aggregate(found).metrics["episode_success_rate"].mean == 0.5
    assert aggregate(found).metrics["click_hit_rate"].mean == pytest.approx(1.0)
    (warning,) = warnings_of(found)
    assert warning.startswith(f"{files[1]}: left out: episode_success_rate (250 is outside its scale")
    compared = {each.metric: each for each in compare_stored([(("a", files[0]), ("b", files[1]))])}
    left_out = compared["episode_success_rate"]
    assert (left_out.second, left_out.difference, left_out.verdict) == (None, None, "inconclusive")
    (sample,) = samples_of(
        open_run(files[1], by_name("openadapt-eval"), "", raise_broken), by_name("openadapt-eval"), files[1]
    )
    (score,) = [each for each in sample.scores if each.name == "episode_success_rate"]
    assert (score.status, score.value, score.explanation) == ("failed", None, "250 is outside its scale")


def test_a_withdrawn_metric_is_not_compared_and_not_drawn(tmp_path: Path) -> None:
    files = [
        eval_file(tmp_path, name, bbox_hit_rate=bbox, click_hit_rate=0.8, coord_error_count=10, num_episodes=5)
        for name, bbox in (("a", 0.9), ("b", -1.0))
    ]
    found = {each.metric: each for each in compare_stored([(("a", files[0]), ("b", files[1]))])}
    gone = found["bbox_hit_rate"]
    assert (gone.second, gone.difference, gone.verdict, gone.better) == (None, None, "inconclusive", "higher")
    assert gone.notes == ("the second run has withdrawn this metric (-1), so there is nothing to compare",)
    drawn = json.dumps(figure("comparison", evaluations(*files), ["a", "b"]))
    assert "n/a: not applicable, withdrawn or not in the file." in drawn
    assert '"value": -1' not in drawn
    assert '"value": 0.9' in drawn


def test_a_stored_interval_that_does_not_hold_its_value_is_none(tmp_path: Path) -> None:
    path = eval_file(tmp_path, "a", action_type_accuracy=0.5, action_type_accuracy_ci=[-1.0, -1.0], num_episodes=20)
    (found,) = evaluations(path)
    estimate = found.metrics["action_type_accuracy"].estimate
    assert estimate is not None
    assert (estimate.value, estimate.low, estimate.high) == (0.5, None, None)


def test_copies_are_told(tmp_path: Path) -> None:
    legacy = tmp_path / "old.json"
    legacy.write_text(json.dumps({"action_type_accuracy": 0.5, "num_episodes": 4}))
    migrate([legacy], tmp_path / "new.json")
    other = eval_file(tmp_path, "other", action_type_accuracy=0.5, num_episodes=4)
    (warning,) = copies_among(evaluations(tmp_path))
    assert warning.startswith(f"{tmp_path / 'new.json'} and {legacy} hold the same numbers")
    assert list(copies_among(evaluations(legacy, other))) == []
    rows = [("a", 1, 1.0, "scored"), ("b", 1, 0.0, "scored")]
    runs = [scored(tmp_path, name, rows) for name in ("one", "two")] + [scored(tmp_path, "three", rows[:1])]
    assert len(list(copies_among(evaluations(*runs)))) == 1


def test_weights_are_the_counts_of_the_file(tmp_path: Path) -> None:
    files = [
        eval_file(tmp_path, "a", action_type_accuracy=1.0, num_steps=10, num_episodes=2),
        eval_file(tmp_path, "b", action_type_accuracy=0.5, num_steps=30, num_episodes=6),
    ]
    summary = aggregate(evaluations(*files)).metrics["action_type_accuracy"]
    assert summary.mean == 0.75
    assert summary.weighted_mean == pytest.approx(0.625)
    assert summary.weight == 40
    # Eight episodes, not forty steps: Wilson of 5 in 8.
    assert (summary.weighted_low, summary.weighted_high) == pytest.approx((0.305742, 0.863155), abs=1e-6)


def test_counts_are_summed_and_not_averaged(tmp_path: Path) -> None:
    files = [eval_file(tmp_path, name, num_episodes=4, num_steps=28, click_hit_rate=0.5) for name in "ab"]
    found = aggregate(evaluations(*files))
    assert found.totals == {"num_episodes": 8, "num_steps": 56}
    assert "num_episodes" not in found.metrics


def test_stored_intervals_win(tmp_path: Path) -> None:
    path = eval_file(tmp_path, "a", action_type_accuracy=0.47, action_type_accuracy_ci=[0.44, 0.5], num_steps=9)
    (found,) = evaluations(path)
    estimate = found.metrics["action_type_accuracy"].estimate
    assert estimate is not None
    assert (estimate.low, estimate.high, estimate.method) == (0.44, 0.5, "as stored")


def test_groups_and_an_unknown_one(tmp_path: Path) -> None:
    files = [eval_file(tmp_path, name, backend=name, click_hit_rate=0.5) for name in ("one", "two")]
    found = group_evaluations(evaluations(*files, by=("backend", "dsl_mode")), ["backend", "dsl_mode"])
    assert [group.by for group in found] == [
        {"backend": "one", "dsl_mode": "coord"},
        {"backend": "two", "dsl_mode": "coord"},
    ]
    with pytest.raises(UsageError, match="known are backend"):
        evaluations(*files, by=("nothing",))


def test_samples_are_averaged_by_case_and_parted_by_label(tmp_path: Path) -> None:
    rows = [("a", 1, 1.0, "scored"), ("a", 2, 0.0, "scored"), ("z", 1, 1.0, "scored"), ("z", 2, None, "failed")]
    path = scored(tmp_path, "run", rows)
    (whole,) = evaluations(path)
    assert whole.metrics["reward"].left_out == 1
    assert whole.metrics["reward"].estimate is not None
    # Case a: (1 + 0) / 2, case z: 1. Over cases (0.5 + 1) / 2, not over trials 2 / 3.
    assert whole.metrics["reward"].estimate.value == pytest.approx(0.75)
    parts = evaluations(path, by=("label.difficulty",))
    assert [(part.group, part.samples) for part in parts] == [(("easy",), 2), (("hard",), 2)]
    (again,) = without_groups(parts)
    assert again.metrics["reward"].estimate == whole.metrics["reward"].estimate
    assert (again.samples, again.metrics["reward"].left_out) == (4, 1)


def test_values_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    rows = [("a", 1, None, "unscored"), ("b", 1, "word", "scored"), ("c", 1, True, "scored"), ("d", 1, "C", "scored")]
    (found,) = evaluations(scored(tmp_path, "run", rows))
    assert (found.metrics["reward"].left_out, found.metrics["reward"].weight) == (2, 2)
    strange = eval_file(tmp_path, "strange", click_hit_rate=float("nan"), action_type_accuracy=0.5)
    (stored,) = evaluations(strange)
    assert stored.metrics["click_hit_rate"].estimate is None
    assert aggregate([stored]).metrics["click_hit_rate"].null == 1


def test_what_the_source_stored_is_not_mixed_with_what_was_measured(tmp_path: Path) -> None:
    scores = tuple(
        Score(name="reward", value=value, maker=Maker(name="x", kind=kind))  # type: ignore[arg-type]
        for kind, value in (("stored", 0.0), ("check", 1.0))
    )
    path = tmp_path / "x.trace.jsonl"
    write(Run(samples=[Sample(id="a", scores=scores)]), path, to="native")
    (found,) = evaluations(path)
    values = {name: each.estimate.value for name, each in found.metrics.items() if each.estimate}
    assert values == {"reward (stored)": 0.0, "reward": 1.0}


def test_which_end_is_good_is_only_said_where_it_is_known(tmp_path: Path) -> None:
    (plain,) = evaluations(scored(tmp_path, "numbers", [("a", 1, 1.0, "scored"), ("b", 1, 0.0, "scored")]))
    (graded,) = evaluations(scored(tmp_path, "grades", [("a", 1, "C", "scored"), ("b", 1, "I", "scored")]))
    assert plain.metrics["reward"].scale is None
    assert plain.metrics["reward"].bounds == Scale(low=0.0, high=1.0)
    assert graded.metrics["reward"].scale == Scale(low=0.0, high=1.0)


def test_an_interval_ends_where_the_scale_does() -> None:
    wide = Estimate(value=0.7, low=0.3, high=1.2, n=4, method="t")
    cut = within(wide, Scale(low=0.0, high=1.0))
    assert (cut.low, cut.high) == (0.3, 1.0)
    assert within(wide, None) == wide
    sure = within(Estimate(value=1.0, low=1.0, high=1.0, n=4, method="clustered t"), None)
    assert (sure.low, sure.high) == (None, None)


def test_names_lose_what_they_share() -> None:
    assert short_names(["eval_a_login", "eval_b_login"]) == ["a", "b"]
    assert short_names(["eval_a", "eval_a_b"]) == ["eval a", "eval a b"]
    assert short_names(["only_one"]) == ["only one"]


def test_as_many_labels_as_files(tmp_path: Path) -> None:
    found = evaluations(*(eval_file(tmp_path, name, click_hit_rate=0.5) for name in "ab"))
    assert label_names(found, ["A", "B"]) == ["A", "B"]
    with pytest.raises(UsageError, match="2 evaluations and 1 labels"):
        label_names(found, ["A"])
    with pytest.raises(UsageError, match="the same"):
        label_names(found, ["A", "A"])


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    found = evaluations(*(eval_file(tmp_path / folder, "eval", click_hit_rate=0.5) for folder in ("x", "y")))
    assert label_names(found, []) == ["x", "y"]


def test_figures_say_what_they_need(tmp_path: Path) -> None:
    stored = evaluations(eval_file(tmp_path, "a", click_hit_rate=0.5))
    for kind in ("distribution", "paired", "passk"):
        with pytest.raises(UsageError, match="only results"):
            figure(kind, stored, ["a"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'nope'"):
        figure("comparison", stored, ["a"], ["nope"])
    once = evaluations(scored(tmp_path, "one", [("a", 1, 1.0, "scored")]))
    with pytest.raises(UsageError, match="more than once"):
        figure("passk", once, ["a"])
    with pytest.raises(UsageError, match="needs two"):
        figure("paired", once, ["a"])
    other = evaluations(scored(tmp_path, "two", [("b", 1, 1.0, "scored")]))
    with pytest.raises(UsageError, match="no case in common"):
        figure("paired", once + other, ["a", "b"])
    with pytest.raises(UsageError, match=r"\.png, \.svg"):
        kind_of(Path("x.gif"))


def test_paired_and_distribution_from_files(tmp_path: Path) -> None:
    before = scored(tmp_path, "one", [("a", 1, 0.0, "scored"), ("b", 1, 1.0, "scored"), ("c", 1, 1.0, "scored")])
    after = scored(tmp_path, "two", [("a", 1, 1.0, "scored"), ("a", 2, 0.0, "scored"), ("b", 1, 1.0, "scored")])
    found = evaluations(before, after)
    drawn = figure("paired", found, ["one", "two"])
    assert drawn["title"]["subtitle"][1:] == [
        "2 cases: 1 higher, 0 lower, 1 the same.",
        "Trials of a case are averaged. Not drawn: 1 cases only in one, 0 only in two.",
    ]
    spread = figure("distribution", found, ["one", "two"])
    assert [panel["title"]["subtitle"] for panel in spread["concat"]] == ["n = 3 · mean 0.67", "n = 3 · mean 0.67"]


def test_the_golden_of_tau_bench_draws_its_curve() -> None:
    drawn = figure("passk", evaluations(ROOT / "tau-bench/library.json"), ["library"])
    assert [row["value"] for row in drawn["data"]["values"]] == [0.25, 0.0]
    assert "left out of pass^k" in drawn["title"]["subtitle"][-1]


@needs_corpus
def test_the_ten_published_files() -> None:
    found = evaluations(EVALS)
    assert len(found) == 10
    whole = aggregate(found)
    assert whole.metrics["click_hit_rate"].mean == pytest.approx(0.719, abs=5e-4)
    assert (whole.metrics["click_hit_rate"].evaluations, whole.metrics["click_hit_rate"].null) == (4, 6)
    oracle = json.loads((CORPUS / "public/openadapt/eval_json_aggregate.json").read_text())
    parity = aggregate(found, null_as_zero=True).documented()
    assert parity["mean_click_hit_rate"] == pytest.approx(0.288, abs=5e-4)
    assert parity == pytest.approx(oracle["aggregate_evals"], rel=1e-12)


@needs_corpus
def test_the_ten_published_files_are_drawn_with_gaps() -> None:
    found = evaluations(EVALS)
    drawn = figure("comparison", found, label_names(found, []))
    gaps = {
        panel["title"]["text"]: sum(row["value"] is None for row in panel["data"]["values"])
        for panel in drawn["concat"]
    }
    assert gaps == {
        "Action type accuracy": 0,
        "Mean coord error": 2,
        "Click hit rate": 6,
        "Episode success rate": 0,
    }


@needs_corpus
def test_the_ten_published_files_become_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="the extra `analysis` is not installed")
    found = evaluations(EVALS)
    save(figure("comparison", found, label_names(found, [])), tmp_path / "comparison.png")
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")


@needs_corpus
def test_the_airline_curve() -> None:
    found = evaluations(CORPUS / "public/tau_bench/gpt-4o-airline.json.gz")
    drawn = figure("passk", found, ["gpt-4o"])
    assert [row["value"] for row in drawn["data"]["values"]] == pytest.approx([0.42, 0.2733, 0.22, 0.2], abs=5e-5)
