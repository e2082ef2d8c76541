"""deepeval: two spellings of the same keys, metrics that broke down, expected calls, conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats.deepeval import load
from pantrace.model import Sample, Trajectory, call_pairs, final_response, turns, usage_total

FOLDER = ROOT / "deepeval"


def golden(name: str) -> list[Sample]:
    return list(read(FOLDER / name).samples)


def told(sample: Sample) -> Trajectory:
    assert sample.trajectory is not None
    return sample.trajectory


@pytest.mark.parametrize("name", ["test_run.json", "result.json"])
def test_metrics_are_scores_and_one_that_broke_down_has_none(name: str) -> None:
    first, second = golden(name)
    assert [(each.name, each.status, each.value, each.passed) for each in second.scores] == [
        ("Exact Match", "scored", 0.0, False),
        ("Away", "failed", None, None),
        ("Tool Correctness", "scored", 0.0, False),
    ]
    assert second.scores[1].explanation == "ValueError: judge is away"
    maker = second.scores[2].maker
    assert maker is not None and maker.model == "gpt-5.4" and second.scores[2].threshold == 0.5
    # The first test did not pass only because a metric broke down.
    outcomes = [told(each).outcome for each in (first, second)]
    assert [each.status for each in outcomes if each is not None] == ["unscored", "failed"]


def test_a_test_run_has_calls_and_what_was_expected() -> None:
    first, second = golden("test_run.json")
    ((pair,), case) = call_pairs(told(first)), first.case
    assert (pair.call.name, pair.call.arguments) == ("get_order", {"order_id": "A-17"})
    assert pair.result is not None and pair.result.output == {"status": "delivered"}
    assert case is not None and case.context == "A-17: delivered" and case.reference == "It was delivered."
    assert case.relevant_context == "orders: A-17 delivered"
    assert second.case is not None and second.case.expected_calls is not None
    assert [(each.name, each.arguments) for each in second.case.expected_calls] == [("refund", {"order_id": "B-99"})]


def test_expected_calls_that_are_not_told_are_not_none_at_all() -> None:
    base: dict[str, Any] = {"name": "t", "input": "q"}
    found = [load({**base, **more}).case for more in ({}, {"expectedTools": []})]
    assert [each.expected_calls for each in found if each is not None] == [None, ()]


def test_cost_and_time_are_the_agents_and_a_judges_cost_is_not() -> None:
    first, second = map(told, golden("test_run.json"))
    usage = usage_total(first)
    assert usage is not None and (usage.cost_usd, usage.input) == (0.002, None)
    assert first.invocations[0].seconds == 1.5
    assert usage_total(second) is None and second.invocations == ()


@pytest.mark.parametrize("name", ["conversation.json", "conversation_result.json"])
def test_a_conversation_has_turns_with_calls(name: str) -> None:
    (sample,) = golden(name)
    assert len(turns(told(sample))) == 2 and final_response(told(sample)) == "Bye!"
    assert [pair.result.output for pair in call_pairs(told(sample)) if pair.result is not None] == ["x"]
    assert [(each.name, each.value) for each in sample.scores] == [("Conv", 0.7)]


def test_names_are_made_unique_and_a_case_without_one_is_reported(tmp_path: Path) -> None:
    cases = [{"name": "a", "input": "1", "success": True}, {"name": "a", "input": "2"}, {"input": "3"}]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testCases": cases}))
    broken: list[ReadError] = []
    run = read(path, format="deepeval", on_broken=broken.append)
    assert [sample.id for sample in run.samples] == ["a", "a 2"]
    assert ["testCases[2]" in str(error) for error in broken] == [True]


def test_a_metric_that_was_skipped_is_unscored() -> None:
    sample = load({"name": "t", "metricsData": [{"name": "M", "success": None, "score": None}], "success": False})
    assert [(each.status, each.value) for each in sample.scores] == [("unscored", None)]
