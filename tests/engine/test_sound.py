"""What does not fit the model does not get in, and does not get out as pantrace's own format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.errors import ReadError, WriteError
from pantrace.formats import by_name
from pantrace.formats.native import NoOptions
from pantrace.model import Run, RunHeader, Sample, Step, Trajectory, header_of
from pantrace.wire.json import NonFinite, to_plain
from pantrace.wire.output_row import Row


def eval_set(tmp_path: Path, **header: Any) -> Path:
    case = {"eval_id": "c1", "conversation": [{"user_content": {"role": "user", "parts": [{"text": "hi"}]}}]}
    path = tmp_path / "a.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "s", "name": "x", "eval_cases": [case], **header}))
    return path


def test_an_id_that_is_a_number_is_text(tmp_path: Path) -> None:
    target = tmp_path / "out.trace.jsonl"
    convert(eval_set(tmp_path, eval_set_id=7), target, to="native")
    run = read(target)
    assert run.task == "7"
    assert [sample.id for sample in run.samples] == ["c1"]


@pytest.mark.parametrize("header", [{"eval_set_id": [7]}, {"name": {}}, {"creation_timestamp": "yesterday"}])
def test_a_header_that_cannot_be_kept_is_refused_by_name(header: dict[str, Any], tmp_path: Path) -> None:
    (key,) = header
    path = eval_set(tmp_path, **header)
    with pytest.raises(ReadError, match=key) as caught:
        convert(path, tmp_path / "out.trace.jsonl", to="native")
    assert str(path) in str(caught.value)
    assert caught.value.remedy
    assert not (tmp_path / "out.trace.jsonl").exists()


def tau_results(tmp_path: Path) -> Path:
    rows = json.loads((ROOT / "tau-bench" / "library.json").read_text())
    rows[1]["info"]["task"]["instruction"] = {"a": 1}
    path = tmp_path / "tau.json"
    path.write_text(json.dumps(rows))
    return path


def test_a_sample_that_does_not_fit_is_left_out_and_named(tmp_path: Path) -> None:
    path = tau_results(tmp_path)
    whole = list(read(ROOT / "tau-bench" / "library.json").samples)
    broken: list[ReadError] = []
    found = list(read(path, format="tau-bench", on_broken=broken.append).samples)
    assert len(found) == len(whole) - 1
    assert [error.message for error in broken] == [
        "case.question has a wrong type: expected `str | null`, got `object`",
    ]
    assert str(path) in str(broken[0])
    with pytest.raises(ReadError, match=r"case\.question"):
        convert(path, tmp_path / "out.trace.jsonl", to="native", format="tau-bench", strict=True)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (Run(task=7), "the run's task"),  # type: ignore[arg-type]
        (Run(samples=[Sample(id=7)]), "sample 7: id"),  # type: ignore[arg-type]
        (
            Run(samples=[Sample(id="a", trajectory=Trajectory(steps=(Step(role="bot"),)))]),  # type: ignore[arg-type]
            r"sample a: trajectory\.steps\[0\]\.role",
        ),
    ],
)
def test_what_could_not_be_read_again_is_not_written(run: Run, why: str, tmp_path: Path) -> None:
    save = by_name("native").save
    assert save is not None
    with pytest.raises(WriteError, match=why):
        rows = [Row(sample, None) for sample in run.samples]
        save(header_of(run), rows, tmp_path / "out.trace.jsonl", NoOptions())
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_any_kind_fit_where_the_model_leaves_them_open(tmp_path: Path) -> None:
    save = by_name("native").save
    assert save is not None
    sample = Sample(id="a", trajectory=Trajectory(state={"odd": NonFinite("NaN"), "big": 10**40}))
    save(RunHeader(), [Row(sample, to_plain(sample))], tmp_path / "out.trace.jsonl", NoOptions())
    assert list(read(tmp_path / "out.trace.jsonl").samples) == [sample]
