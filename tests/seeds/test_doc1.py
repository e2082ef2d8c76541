"""Seed document 1, OpenCode sessions for Vertex AI: its schema, its rules, and its authors' files and habits."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from any_sample import samples
from corpus import CORPUS, needs_corpus
from pantrace import convert, read, validate
from pantrace.errors import SampleRefused
from pantrace.formats import by_name
from pantrace.model import Run, Sample, Step, Text, ToolCall, ToolResult, Trajectory, call_pairs, with_samples
from pantrace.wire.json import encode

SEED = by_name("vertex-seed")
GOLDEN = Path(__file__).parents[1] / "golden"
SHAPES = list(product((0, 1), (True, False)))


def _row(sample: Sample, base: int, final: bool) -> Any:
    assert SEED.dump is not None
    return SEED.dump(sample, SEED.options(turn_base=base, include_final=final))


def _errors(row: Any) -> list[str]:
    return [f"{each.place}: {each.message}" for each in validate(row, "vertex-seed") if each.level == "error"]


@pytest.mark.parametrize(("base", "final"), SHAPES)
def test_every_shape_that_we_write_passes_our_own_validation(base: int, final: bool) -> None:
    silent = Sample(
        id="s",
        trajectory=Trajectory(
            id="s",
            steps=(
                Step(role="user", parts=(Text(text="List it."),)),
                Step(role="agent", parts=(ToolCall(id="1", name="ls"), ToolResult(call_id="1", output="a"))),
            ),
        ),
    )
    row = _row(silent, base, final)
    assert _errors(row) == []
    assert SEED.load is not None
    read = SEED.load(row)
    assert read.trajectory is not None
    assert [step.role for step in read.trajectory.steps] == ["user", "agent"]
    assert [pair.call.name for pair in call_pairs(read.trajectory)] == ["ls"]


@given(samples())
def test_any_sample_in_any_shape_passes(sample: Sample) -> None:
    for base, final in SHAPES:
        try:
            row = _row(sample, base, final)
        except SampleRefused:
            return
        assert _errors(row) == []


@needs_corpus
@pytest.mark.parametrize(("base", "final"), SHAPES)
def test_the_real_store_in_every_shape_passes(base: int, final: bool, tmp_path: Path) -> None:
    options = {"turn_base": str(base), "include_final": str(final).lower()}
    out = tmp_path / "rows.json"
    convert(CORPUS / "own/opencode/sqlite-1.18.33/opencode.db", out, to="vertex-seed", options=options)
    assert [each for each in validate(out) if each.level == "error"] == []


def _run(path: Path) -> Run:
    run = read(path)
    return with_samples(run, list(run.samples))


def test_a_stored_result_of_the_service_is_scores_and_null_is_false() -> None:
    (sample,) = _run(GOLDEN / "vertex-result/jsonpickle.json").samples
    (score,) = sample.scores
    assert (score.name, score.value, score.status) == ("general_quality_v1", 0.6666667, "scored")
    assert [each["verdict"] for each in score.details["verdicts"]] == [True, False, True]
    assert [each["importance"] for each in score.details["verdicts"]] == ["HIGH", "MEDIUM", "HIGH"]
    small, large = _run(GOLDEN / "vertex-result/two_candidates.json").samples
    assert [small.id, large.id] == ["rake-price/small", "rake-price/large"]
    assert [score.status for score in large.scores] == ["scored", "unscored"]
    assert large.scores[1].explanation == "RESOURCE_EXHAUSTED"


def test_a_pickle_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    harm = {"py/reduce": [{"py/function": "os.system"}, {"py/tuple": [f"touch {mark}"]}]}
    whole = {
        "py/object": "vertexai._genai.types.common.EvaluationResult",
        "py/state": {"__dict__": {"eval_case_results": [], "win_rates": harm}},
    }
    path = tmp_path / "result.json"
    path.write_bytes(encode(whole))
    assert list(_run(path).samples) == []
    assert not mark.exists()


@needs_corpus
def test_the_real_result_of_the_service() -> None:
    (path,) = (CORPUS / "public/vertex").glob("*.json")
    (sample,) = _run(path).samples
    (score,) = sample.scores
    assert score.value == pytest.approx(5 / 9, abs=1e-6)
    assert [each["verdict"] for each in score.details["verdicts"]].count(True) == 5
    assert len(score.details["verdicts"]) == 9
    assert {each["importance"] for each in score.details["verdicts"]} == {"HIGH", "MEDIUM"}
    assert sample.case is not None
    assert (sample.case.question or "").startswith("The API is timing out")
