"""Logs whose model calls are info events: each is counted once, and a zero that nobody counted is no number."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.formats.inspect import FORMAT
from pantrace.metrics import by_name
from pantrace.model import Sample, Score, Text, Usage, step_text, usage_total
from pantrace.wire.json import decode, encode

GOLDEN = ROOT / "inspect" / "hu_agent_ok.eval"
ZEROS = {"gpt-4o": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}}
USAGE = {"prompt_tokens": 500, "completion_tokens": 200}
STAMP = "2026-11-15T18:28:50.000000+00:00"


def model_call(**data: Any) -> dict[str, Any]:
    """An info event as `log_model_call` of Health Universe's A2A SDK writes it."""
    told = {
        "type": "model_call",
        "function": "analyze",
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Analyze"}],
        "response": "The analysis shows",
        "response_length": 18,
        "duration_seconds": 3.2,
        "usage": USAGE,
    }
    data = {key: value for key, value in (told | data).items() if value is not None}
    return {"event": "info", "uuid": "u", "timestamp": STAMP, "source": "model:analyze", "data": data}


def row(*events: dict[str, Any], **fields: Any) -> dict[str, Any]:
    base = {"id": "s", "epoch": 1, "input": "A2A Agent Execution", "target": "", "messages": [], "metadata": {}}
    return {**base, "store": {}, "uuid": "s", "events": list(events), "model_usage": ZEROS, **fields}


def loaded(*events: dict[str, Any], **fields: Any) -> Sample:
    assert FORMAT.load is not None
    return FORMAT.load(row(*events, **fields))


def cost(sample: Sample) -> Score:
    return by_name("token_usage").score(sample)


def test_a_model_call_told_as_information_has_its_tokens_and_its_price() -> None:
    sample = loaded(model_call())
    assert sample.trajectory is not None
    asked, step = sample.trajectory.steps
    assert (asked.role, asked.parts) == ("user", (Text(text="Analyze"),))
    assert (step.role, step.model, step.usage) == ("agent", "gpt-4o", Usage(input=500, output=200))
    assert [part.text for part in step.parts if isinstance(part, Text)] == ["The analysis shows"]
    assert step.at is not None
    assert step.ended is not None
    assert step.ended - step.at == pytest.approx(3.2)
    score = cost(sample)
    assert score.value == pytest.approx((500 * 2.5 + 200 * 10) / 1e6)
    assert (score.values["total_tokens"], score.values["llm_calls"]) == (700, 1)


def test_tokens_that_the_run_sums_up_too_are_counted_once() -> None:
    usage = {**USAGE, "total_tokens": 700}
    summed = {"gpt-4o": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 1400}}
    sample = loaded(model_call(usage=usage), model_call(usage=usage, response="more"), model_usage=summed)
    assert cost(sample).values["total_tokens"] == 1400
    assert cost(sample).value == pytest.approx(2 * (500 * 2.5 + 200 * 10) / 1e6)
    assert sample.trajectory is not None
    total = usage_total(sample.trajectory)
    assert total is not None
    assert (total.input, total.output, total.total) == (1000, 400, 1400)


def test_calls_with_the_same_answer_are_two_calls() -> None:
    assert cost(loaded(model_call(), model_call())).values["total_tokens"] == 1400


def test_real_model_events_go_before_information_about_them() -> None:
    message = {"id": "m1", "role": "assistant", "content": "The analysis shows"}
    output = {"choices": [{"message": message}], "usage": {"input_tokens": 500, "output_tokens": 200}}
    real = {"event": "model", "model": "gpt-4o", "timestamp": STAMP, "input": [], "output": output}
    assert cost(loaded(real, model_call(), messages=[message])).values["total_tokens"] == 700


def test_a_message_and_the_information_about_its_call_are_one_step() -> None:
    sample = loaded(model_call(), messages=[{"role": "assistant", "content": "The analysis shows"}])
    assert sample.trajectory is not None
    assert [step.usage for step in sample.trajectory.steps] == [Usage(input=500, output=200)]


def test_a_total_without_its_parts_has_no_price() -> None:
    summed = {"gpt-4o": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 700}}
    score = cost(loaded(model_usage=summed))
    assert (score.status, score.value) == ("not_applicable", None)
    assert score.explanation == "unknown cost: 1 calls report neither input nor output tokens"
    assert score.values["total_tokens"] == 700


@pytest.mark.parametrize(
    ("events", "usage", "reason"),
    [
        ((), ZEROS, "no model call reports its usage"),
        ((), {"input_tokens": 0, "output_tokens": 0}, "no model call reports its usage"),
        ((model_call(usage=None),), ZEROS, "no model call reports its usage"),
        ((model_call(usage={"prompt_tokens": 0, "completion_tokens": 0}),), ZEROS, "no model call reports its usage"),
        ((model_call(usage="Usage(700)"),), ZEROS, "no model call reports its usage"),
        ((model_call(model="house-model"),), ZEROS, "unknown cost: no price for house-model"),
    ],
)
def test_what_nobody_counted_costs_nothing_known(events: tuple[Any, ...], usage: Any, reason: str) -> None:
    score = cost(loaded(*events, model_usage=usage))
    assert (score.status, score.value, score.explanation) == ("not_applicable", None, reason)


def test_a_model_that_was_counted_stays_beside_one_that_was_not() -> None:
    counted = {**ZEROS, "gpt-4o-mini": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}
    sample = loaded(model_usage=counted)
    assert sample.trajectory is not None
    assert sample.trajectory.usage == {"gpt-4o-mini": Usage(input=10, output=5, total=15)}
    assert cost(sample).values["total_tokens"] == 15


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                **USAGE,
                "prompt_tokens_details": {"cached_tokens": 400},
                "completion_tokens_details": {"reasoning_tokens": 50},
            },
            Usage(input=500, output=200, cache_read=400, reasoning=50),
        ),
        (
            {"input_tokens": 100, "output_tokens": 200, "cache_read_input_tokens": 400},
            Usage(input=500, output=200, cache_read=400),
        ),
    ],
)
def test_providers_counts_keep_their_meaning(usage: dict[str, Any], expected: Usage) -> None:
    sample = loaded(model_call(usage=usage))
    assert sample.trajectory is not None
    assert sample.trajectory.steps[1].usage == expected


def test_a_duration_that_nobody_measured_is_no_duration() -> None:
    sample = loaded(model_call(duration_seconds=0.0))
    assert by_name("latency_metrics").score(sample).status == "not_applicable"


def test_a_call_that_was_stamped_when_it_was_over_lasted_as_long_as_it_worked() -> None:
    """That logger takes both stamps of a tool call after it: 46 microseconds apart, with half a second of work."""
    (sample,) = read(GOLDEN).samples
    score = by_name("latency_metrics").score(sample)
    assert score.values["tool_latency_seconds"] == pytest.approx(0.5)


def test_other_information_is_no_model_call() -> None:
    for data in (
        {"type": "task_state", "state": "working"},
        {"type": "model_call"},
        "model_call",
        None,
        ["model_call"],
    ):
        sample = loaded({"event": "info", "timestamp": STAMP, "source": "agent", "data": data})
        assert sample.trajectory is not None
        assert [step.kind for step in sample.trajectory.steps] == ["note"]
        assert usage_total(sample.trajectory) is None


def test_what_a_model_was_told_before_is_not_told_again() -> None:
    more = [
        {"role": "user", "content": "Analyze"},
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": "On"},
    ]
    sample = loaded(model_call(), model_call(messages=more, response="Done"))
    assert sample.trajectory is not None
    assert [step_text(step) for step in sample.trajectory.steps] == ["Analyze", "The analysis shows", "On", "Done"]


def test_such_a_log_returns_as_it_was(tmp_path: Path) -> None:
    """Its events are written again as information, and its zeros as zeros."""
    log, back = tmp_path / "log.eval", tmp_path / "back.eval"
    sample = row(
        {"event": "tool", "id": "t", "function": "f", "arguments": {}, "result": "ok", "timestamp": STAMP},
        model_call(),
        model_call(response=""),
        model_call(error="rate limit"),
    )
    with zipfile.ZipFile(GOLDEN) as source, zipfile.ZipFile(log, "w") as target:
        for name in source.namelist():
            target.writestr(name, encode(sample) if name.startswith("samples/") else source.read(name))
    # The id of its summary is not that of the sample: that is repaired.
    assert {path for path, _, _ in convert(log, back, to="inspect").losses} <= {"id", "eval.dataset.sample_ids[]"}
    (first,), (second,) = read(log).samples, read(back).samples
    assert first.trajectory is not None
    assert second.trajectory is not None
    assert [step.usage for step in first.trajectory.steps[2:]] == [Usage(input=500, output=200)] * 3
    assert first.trajectory.steps[4].error is not None
    assert second.trajectory.steps == first.trajectory.steps
    assert FORMAT.dump is not None
    written = decode(encode(FORMAT.dump(first, None)))
    assert (written["events"], written["messages"], written["model_usage"]) == (sample["events"], [], ZEROS)


@needs_corpus
def test_no_recording_of_the_corpus_costs_nothing() -> None:
    counted = 0
    for path in sorted((CORPUS / "own" / "inspect").rglob("*.eval")):
        for sample in read(path, on_broken=lambda error: None).samples:
            counted += 1
            score = cost(sample)
            assert score.value != 0, (path.name, sample.id, json.dumps(score.details, default=str))
    assert counted > 20
