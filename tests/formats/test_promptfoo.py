"""promptfoo: what failed is not scored, repetitions of a test, calls of tools, answers from the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats.promptfoo import load
from pantrace.model import Sample, Trajectory, call_pairs, final_response, usage_total
from pantrace.wire.json import encode

FOLDER = ROOT / "promptfoo"


def golden(name: str) -> list[Sample]:
    return list(read(FOLDER / name).samples)


def told(sample: Sample) -> Trajectory:
    assert sample.trajectory is not None
    return sample.trajectory


@pytest.mark.parametrize("name", ["garden.json", "garden.jsonl"])
def test_each_assertion_is_a_score_with_its_reason(name: str) -> None:
    first, second = golden(name)
    assert [(each.name, each.value, each.passed) for each in second.scores] == [
        ("promptfoo", 0.5, False),
        ("contains", 0, False),
        ("javascript", 1, True),
    ]
    assert second.scores[1].explanation == 'Expected output to contain "yes it is"'
    outcomes = [told(each).outcome for each in (first, second)]
    assert [each.status for each in outcomes if each is not None] == ["passed", "failed"]
    # A wrong answer is no error of the agent.
    assert [step.error for step in told(second).steps] == [None, None]


def test_tokens_cost_and_time_are_those_of_the_answer() -> None:
    first, second = golden("garden.json")
    usage = usage_total(told(first))
    assert usage is not None
    assert (usage.input, usage.output, usage.total, usage.cache_read, usage.reasoning) == (21, 24, 45, 10, 8)
    assert usage.cost_usd == 0.000051
    assert told(first).invocations[0].seconds == 0.114
    assert told(second).agents[0].model == "gpt-5-mini"


def test_an_error_and_a_grader_that_broke_down_are_not_the_score_zero() -> None:
    _, broken, ungraded, _ = golden("refunds.json")
    assert [(each.status, each.value) for each in broken.scores] == [("failed", None)]
    outcome = told(broken).outcome
    assert outcome is not None and outcome.status == "error"
    assert told(broken).steps[-1].error is not None and told(broken).steps[-1].usage is None
    assert [(each.status, each.value) for each in ungraded.scores] == [("failed", None)] * 2
    outcome = told(ungraded).outcome
    assert outcome is not None and outcome.status == "unscored"


def test_the_same_test_again_is_another_epoch() -> None:
    assert [(each.id, each.epoch) for each in golden("refunds.json")] == [
        ("0-0", 1),
        ("0-0", 2),
        ("2-0", 1),
        ("2-0", 2),
    ]


def test_calls_come_from_the_answer_or_from_the_provider() -> None:
    first, _, _, last = map(told, golden("refunds.json"))
    assert [(pair.call.name, pair.call.arguments) for pair in call_pairs(first)] == [("refund", {"order_id": "B-99"})]
    assert [step.role for step in first.steps] == ["system", "user", "agent"]
    assert [pair.result.output for pair in call_pairs(last) if pair.result is not None] == ["a.txt"]
    assert final_response(last) == '{"status":"refunded"}'


def test_an_answer_from_the_cache_cost_nothing() -> None:
    assert usage_total(told(golden("refunds.json")[2])) is None


def test_assertions_of_the_same_kind_have_names_of_their_own() -> None:
    names = [each.name for each in golden("refunds.json")[0].scores]
    assert names == ["promptfoo", "tools", "llm-rubric", "llm-rubric 2"]


def test_a_row_of_another_kind_is_refused() -> None:
    with pytest.raises(ReadError, match="needs vars, success, and a score"):
        load({"vars": {}})


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai:gpt-5", "gpt-5"), ("anthropic:messages:claude-x", "claude-x"), ("file://agent.py", None), ("echo", None)],
)
def test_the_model_is_in_the_providers_id(provider: str, model: str | None) -> None:
    sample = load({"vars": {}, "success": True, "score": 1, "latencyMs": 1, "provider": provider})
    assert told(sample).agents[0].model == model


OLD = {
    "prompt": {"raw": "Say {{word}}", "display": "Say {{word}}"},
    "vars": {"word": "hello"},
    "response": {"output": "hello", "tokenUsage": {"total": 9, "prompt": 7, "completion": 2}},
    "success": True,
}


@pytest.mark.parametrize(
    "document",
    [
        {"version": 1, "results": [OLD, OLD | {"prompt": {"raw": "Shout {{word}}"}, "success": False}], "stats": {}},
        {"results": {"version": 2, "results": [OLD, OLD | {"prompt": {"raw": "Shout"}, "success": False}]}},
    ],
)
def test_old_versions_have_no_score_and_no_numbers_of_tests(tmp_path: Path, document: object) -> None:
    path = tmp_path / "output.json"
    path.write_bytes(encode(document))
    first, second = read(path).samples
    # Two prompts with the same variables are two samples, not two trials of one.
    assert first.id != second.id and (first.epoch, second.epoch) == (1, 1)
    assert [each.scores[0].value for each in (first, second)] == [True, False]
    outcomes = [told(each).outcome for each in (first, second)]
    assert [each.status for each in outcomes if each is not None] == ["passed", "failed"]
    assert final_response(told(first)) == "hello"
    total = usage_total(told(first))
    assert total is not None and (total.input, total.output) == (7, 2)
