"""What is peculiar to OpenAdapt's eval JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.convert import convert, write_run
from pantrace.engine.migrate import migrate
from pantrace.engine.read import read
from pantrace.engine.validate import validate
from pantrace.errors import LossRefused, NothingWritten, ReadError, UsageError
from pantrace.formats import by_name, detect
from pantrace.formats.openadapt_eval import Options, document_of
from pantrace.formats.openadapt_eval import migrate as migrated
from pantrace.formats.openadapt_eval.metrics import METRICS
from pantrace.model import Aggregate, Run, Sample

GOLDEN = ROOT / "openadapt-eval"
FULL = json.loads((GOLDEN / "v1_full.json").read_bytes())


def _document(**changes: Any) -> dict[str, Any]:
    metrics = {**FULL["metrics"], **changes}
    return {"config_path": "c.yaml", "backend": "qwen3", "dsl_mode": "som", "metrics": metrics}


def _levels(row: Any) -> list[tuple[str, str | None]]:
    return [(each.level, each.place) for each in validate(row, "openadapt-eval")]


def _value(run: Run, name: str) -> Any:
    return next(each for each in run.results if each.name == name).value


def test_null_and_absent_are_none_and_never_zero() -> None:
    run = read(GOLDEN / "v1_without_dsl_mode.json")
    assert [each.name for each in run.results] == list(METRICS)
    assert _value(run, "state_success_rate") is None
    assert _value(run, "episode_success_rate") == 0.0
    assert run.config["dsl_mode"] == "coord"


def test_extensions_have_words_in_the_model() -> None:
    run = read(GOLDEN / "v1_full.json")
    accuracy = run.results[2]
    assert (accuracy.name, accuracy.value, accuracy.low, accuracy.high) == ("action_type_accuracy", 0.9375, 0.87, 1.0)
    assert run.environment == {"device": "cuda", "gpu": "NVIDIA L4", "memory_gb": 24}
    assert run.checkpoint == "checkpoints/som/step_800"
    assert run.created == 1794765600
    assert Aggregate(name="accuracy", value=0.9, labels={"action_type": "type"}) in run.results


def test_a_document_is_written_as_it_was_read() -> None:
    assert document_of(read(GOLDEN / "v1_full.json"), Options()) == FULL


def test_all_known_metrics_are_written() -> None:
    document = document_of(Run(results=(Aggregate(name="num_steps", value=7.0),)), Options())
    assert list(document["metrics"]) == list(METRICS)
    assert document["metrics"]["num_steps"] == 7 and isinstance(document["metrics"]["num_steps"], int)
    assert document["metrics"]["click_hit_rate"] is None
    assert ("config_path" in document, "backend" in document, document["dsl_mode"]) == (False, False, "coord")


def test_document_parity_writes_zero_only_where_null_is_not_allowed() -> None:
    metrics = document_of(Run(), Options(document_parity=True))["metrics"]
    assert {name: value for name, value in metrics.items() if value is not None} == {
        "num_episodes": 0,
        "num_steps": 0,
        "action_type_accuracy": 0.0,
        "coord_error_count": 0,
        "episode_success_rate": 0.0,
    }


def test_repeated_names_do_not_overwrite_each_other(tmp_path: Path) -> None:
    run = Run(
        results=(
            Aggregate(name="match", metric="accuracy", value=0.5),
            Aggregate(name="match", metric="stderr", value=0.1),
        )
    )
    report = write_run(run, tmp_path / "out.json", to="openadapt-eval")
    written = json.loads((tmp_path / "out.json").read_bytes())["metrics"]
    assert (written["match"], written["match_stderr"]) == (0.5, 0.1)
    assert any(path == "run.results[].metric" for path, _, _ in report.losses)


def test_samples_are_a_loss_that_is_told(tmp_path: Path) -> None:
    results = (Aggregate(name="click_hit_rate", value=0.5),)
    run = Run(samples=[Sample(id="a"), Sample(id="b")], results=results)
    report = write_run(run, tmp_path / "out.json", to="openadapt-eval")
    assert report.losses == {("sample", "absent", "an eval JSON has a run's metrics and no samples"): 2}
    assert report.samples == 0
    with pytest.raises(LossRefused):
        write_run(run, tmp_path / "strict.json", to="openadapt-eval", strict=True)
    assert not (tmp_path / "strict.json").exists()


def test_samples_without_results_leave_nothing_to_write(tmp_path: Path) -> None:
    remedy = r"this run has no results \(`pantrace measure ... --format openadapt-eval` makes them"
    with pytest.raises(NothingWritten, match=f"has a run's metrics and no samples, and {remedy}"):
        write_run(Run(samples=[Sample(id="a")], model="m"), tmp_path / "out.json", to="openadapt-eval")
    assert not list(tmp_path.iterdir())


def test_a_foreign_header_is_measured(tmp_path: Path) -> None:
    report = write_run(Run(name="n", task="t"), tmp_path / "out.json", to="openadapt-eval")
    assert {path for path, _, _ in report.losses} == {"run.name", "run.task"}


def test_a_conversion_to_native_and_back_keeps_all(tmp_path: Path) -> None:
    convert(GOLDEN / "v1_full.json", tmp_path / "a.trace.jsonl", to="native", strict=True)
    convert(tmp_path / "a.trace.jsonl", tmp_path / "b.json", to="openadapt-eval", strict=True)
    assert json.loads((tmp_path / "b.json").read_bytes()) == FULL


# Validation


def test_the_documents_examples_are_in_order() -> None:
    assert _levels(FULL) == []
    assert _levels(_document(**{name: None for name, metric in METRICS.items() if metric.nullable})) == []


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"num_steps": None}, ("warning", "metrics.num_steps")),
        ({"num_steps": -1}, ("error", "metrics.num_steps")),
        ({"num_steps": 1.5}, ("error", "metrics.num_steps")),
        ({"num_steps": True}, ("error", "metrics.num_steps")),
        ({"episode_success_rate": 1.01}, ("error", "metrics.episode_success_rate")),
        ({"episode_success_rate": -1.0}, ("error", "metrics.episode_success_rate")),
        ({"action_type_accuracy": "0.5"}, ("error", "metrics.action_type_accuracy")),
        ({"bbox_hit_rate": 2}, ("error", "metrics.bbox_hit_rate")),
        ({"action_type_accuracy_ci": [0.99, 0.9]}, ("error", "metrics.action_type_accuracy_ci")),
        ({"action_type_accuracy_ci": [0.9]}, ("error", "metrics.action_type_accuracy_ci")),
        ({"action_type_accuracy_ci": [0.1, 0.2]}, ("warning", "metrics.action_type_accuracy_ci")),
        ({"click_hit_rate": 0.5}, ("warning", "metrics.click_hit_rate")),
    ],
)
def test_violations(changes: dict[str, Any], wanted: tuple[str, str]) -> None:
    assert _levels(_document(**changes)) == [wanted]


def test_a_distance_may_exceed_one() -> None:
    assert _levels(_document(mean_coord_error=1.2, coord_error_count=3)) == []


def test_header_violations() -> None:
    assert ("warning", "backend") in _levels({**_document(), "backend": "llava"})
    assert ("error", "dsl_mode") in _levels({**_document(), "dsl_mode": "pixels"})
    assert ("warning", "config_path") in _levels({key: FULL[key] for key in ("backend", "dsl_mode", "metrics")})
    coord = {**_document(element_accuracy=0.5), "dsl_mode": "coord"}
    assert ("warning", "metrics.element_accuracy") in _levels(coord)


def test_missing_primary_metrics() -> None:
    metrics = {name: value for name, value in FULL["metrics"].items() if name != "num_steps"}
    assert _levels({**FULL, "metrics": metrics}) == [("error", "metrics.num_steps")]
    metrics = {name: value for name, value in FULL["metrics"].items() if name != "click_hit_rate"}
    assert _levels({**FULL, "metrics": metrics}) == [("warning", "metrics.click_hit_rate")]


def test_a_sentinel_says_that_a_metric_was_withdrawn_and_returns_as_it_was(tmp_path: Path) -> None:
    row = _document(weak_episode_success_rate=-1.0, bbox_hit_rate=-1, click_distance_50th_percentile=-1.0)
    row["metrics_by_action_type"] = {"click": {"accuracy": -1.0, "recall": -1, "f1": 0.5}}
    nullable = [("warning", "metrics.bbox_hit_rate"), ("warning", "metrics.weak_episode_success_rate")]
    assert _levels(row) == nullable
    path = tmp_path / "old.json"
    path.write_text(json.dumps(row))
    run = read(path)
    withdrawn = [each for each in run.results if each.withdrawn]
    assert [(each.name, each.value) for each in withdrawn] == [
        ("bbox_hit_rate", None),
        ("weak_episode_success_rate", None),
        ("click_distance_50th_percentile", None),
        ("accuracy", None),
        ("recall", None),
    ]
    convert(path, tmp_path / "a.trace.jsonl", to="native", strict=True)
    convert(tmp_path / "a.trace.jsonl", tmp_path / "b.json", to="openadapt-eval", strict=True)
    # Compared as text: -1 and -1.0 are the same number.
    written = json.loads((tmp_path / "b.json").read_bytes())
    assert json.dumps(written, sort_keys=True) == json.dumps(row, sort_keys=True)


def test_a_number_that_must_be_there_cannot_be_withdrawn_unless_the_file_says_so() -> None:
    row = _document(episode_success_rate=-1.0)
    assert _levels(row) == [("error", "metrics.episode_success_rate")]
    assert _levels({**row, "deprecated_metrics": ["episode_success_rate"]}) == [
        ("warning", "metrics.episode_success_rate")
    ]


# Legacy and migration


def test_legacy_is_read_and_validated_with_warnings_only() -> None:
    path = GOLDEN / "legacy_flat.json"
    assert detect(path)[1] == "legacy"
    assert _value(read(path), "click_hit_rate") == 0.875
    assert {each.level for each in validate(path)} == {"warning"}


def test_migration_wraps_and_leaves_its_input_alone() -> None:
    old = {"action_type_accuracy": 0.469, "click_hit_rate": 0.85, "custom": 3}
    before = json.dumps(old)
    new = migrated(old)
    assert json.dumps(old) == before
    assert (new["config_path"], new["backend"], new["dsl_mode"]) == ("unknown", "unknown", "coord")
    assert new["metrics"]["custom"] == 3
    assert new["metrics"]["num_steps"] is None
    assert migrated(new) == new
    assert {each.level for each in by_name("openadapt-eval").check(new)} == {"warning"}  # type: ignore[misc]


def test_a_flat_file_that_names_its_backend_keeps_it() -> None:
    new = migrated({"backend": "claude", "action_type_accuracy": 1.0})
    assert new["backend"] == "claude"
    assert "backend" not in new["metrics"]


def test_migrate_writes_only_where_it_is_told_to(tmp_path: Path) -> None:
    old = tmp_path / "eval.json"
    old.write_bytes((GOLDEN / "legacy_flat.json").read_bytes())
    current = tmp_path / "current.json"
    current.write_text(json.dumps(migrated(FULL)))
    for several in ([old, current], [tmp_path]):
        with pytest.raises(UsageError, match="name it with -o"):
            migrate(several)
    (alone,) = migrate([old])
    assert (alone.output, alone.what) == (None, "openadapt-eval: migrated")
    assert alone.document["metrics"]["click_hit_rate"] == 0.875
    assert migrate([current])[0].what == "openadapt-eval: is already current"
    assert sorted(tmp_path.iterdir()) == [current, old]
    assert old.read_bytes() == (GOLDEN / "legacy_flat.json").read_bytes()
    into = tmp_path / "new"
    assert [each.output for each in migrate([old, current], into)] == [into / "eval.json", into / "current.json"]
    assert json.loads((into / "eval.json").read_bytes()) == alone.document
    assert migrate([old], tmp_path / "other.json")[0].output == tmp_path / "other.json"
    with pytest.raises(UsageError, match="overwritten"):
        migrate([old], tmp_path)
    with pytest.raises(UsageError, match="overwritten"):
        migrate([old], old)


def test_migrate_has_nothing_to_print_of_other_formats() -> None:
    with pytest.raises(UsageError, match="native has no older versions"):
        migrate([ROOT / "native/every_part.trace.jsonl"])


def test_migrate_refuses_what_is_broken(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"config_path": "c", "backend": "b", "metrics": {"num_steps": 3}')
    with pytest.raises(ReadError, match="broken"):
        migrate([broken])


@pytest.mark.parametrize("value", [[], 3, "x", None])
def test_metrics_of_another_kind_are_refused(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"config_path": "c", "backend": "b", "metrics": value}))
    with pytest.raises(ReadError, match="odd"):
        read(path, format="openadapt-eval")


@needs_corpus
def test_the_ten_real_files() -> None:
    folder = CORPUS / "public/openadapt/eval_json"
    paths = sorted(folder.glob("*.json"))
    runs = [read(path) for path in paths]
    assert len(runs) == 10
    oracle = json.loads((folder.parent / "eval_json_aggregate.json").read_bytes())["aggregate_evals"]
    accuracies = [_value(run, "action_type_accuracy") for run in runs]
    assert sum(accuracies) / 10 == pytest.approx(oracle["mean_action_accuracy"], rel=1e-12)
    hits = [value for run in runs if (value := _value(run, "click_hit_rate")) is not None]
    assert len(hits) == 4
    # The original counts an absent rate as zero.
    assert sum(hits) / 10 == pytest.approx(oracle["mean_click_hit_rate"], rel=1e-12)
    assert all(each.level == "warning" for path in paths for each in validate(path))
