"""Numbers of real ADK recordings, computed by hand from their events (and wrong in what was published of them)."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

import pantrace
from corpus import CORPUS, needs_corpus
from pantrace.metrics import by_name, parse_settings
from pantrace.metrics.pooling import Sums
from pantrace.model import Sample, Score

pytestmark = [needs_corpus, pytest.mark.corpus]

WORKSHOP = CORPUS / "public/adk/workshop"
SHOP = CORPUS / "own/adk/garden_shop_shop_set_1794767056.7237554.evalset_result.json"


def samples(path: Path) -> dict[str, Sample]:
    return {sample.id: sample for sample in pantrace.read(str(path)).samples}


@pytest.fixture(scope="module")
def baseline() -> dict[str, Sample]:
    return samples(WORKSHOP / "cs_baseline.processed_interaction_sim.jsonl")


def scores(name: str, found: dict[str, Sample]) -> dict[str, Score]:
    return {id: by_name(name).score(sample) for id, sample in found.items()}  # noqa: A001


def pooled(name: str, found: dict[str, Sample]) -> float:
    check = by_name(name)
    sums = Sums()
    for sample in found.values():
        sums.add(check.score(sample).values)
    value, _ = sums.pooled(check.main)
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("case", "calls", "total", "cost", "tools", "peak"),
    [
        ("b961b0eb", 4, 17381, 0.006660, 2, 4617),
        ("863cbc8b", 6, 26673, 0.009896, 3, 4902),
        ("2c79e2d0", 7, 34247, 0.013473, 4, 5537),
        ("68b39c35", 4, 18010, 0.007214, 1, 4805),
        ("90f9fb35", 3, 12720, 0.005176, 0, 4535),
    ],
)
def test_the_baseline_case_by_case(
    baseline: dict[str, Sample], case: str, calls: int, total: int, cost: float, tools: int, peak: int
) -> None:
    sample = baseline[case]
    spent = by_name("token_usage").score(sample)
    assert (spent.values["llm_calls"], spent.values["total_tokens"]) == (calls, total)
    assert spent.values["list_cost_usd"] == pytest.approx(cost, abs=5e-7)
    assert by_name("tool_utilization").score(sample).value == tools
    assert by_name("context_saturation").score(sample).value == peak
    assert by_name("agent_handoffs").score(sample).value == 0


def test_the_sums_of_the_baseline(baseline: dict[str, Sample], tmp_path: Path) -> None:
    details = [score.values for score in scores("token_usage", baseline).values()]
    sums = {
        "prompt_tokens": 104618,
        "completion_tokens": 1375,
        "thinking_tokens": 3038,
        "cached_tokens": 68560,
        "total_tokens": 109031,
        "llm_calls": 24,
        "calls_missing_cached": 6,
        "calls_missing_thinking": 1,
    }
    assert {name: sum(each[name] for each in details) for name in sums} == sums
    assert mean(each["list_cost_usd"] for each in details) == pytest.approx(0.008484, abs=5e-7)
    own = tmp_path / "no-discount.toml"
    own.write_text('name = "own"\ndate = "2026-01-01"\n[models]\n"gemini-2.5-flash" = { input = 0.3, output = 2.5 }\n')
    check = by_name("token_usage")
    settings = parse_settings(check, {"prices": str(own)})
    found = [check.score(sample, settings) for sample in baseline.values()]
    assert mean(float(score.value or 0) for score in found) == pytest.approx(0.008484, abs=5e-7)
    assert {score.details["cache_discount"] for score in found} == {"none"}


def test_ratios_of_the_baseline_are_ratios_of_sums(baseline: dict[str, Sample]) -> None:
    assert pooled("cache_efficiency", baseline) == pytest.approx(68560 / 104618)
    assert pooled("cache_efficiency", baseline) == pytest.approx(0.6553, abs=5e-5)
    assert pooled("thinking_metrics", baseline) == pytest.approx(0.6884, abs=5e-5)
    thinking = [score.values for score in scores("thinking_metrics", baseline).values()]
    assert mean(each["total_candidate_tokens"] for each in thinking) == 275.0
    assert sum(each["turns_with_thinking"] for each in thinking) == 23


def test_made_up_spans_give_no_latency(baseline: dict[str, Sample]) -> None:
    assert {score.status for score in scores("latency_metrics", baseline).values()} == {"not_applicable"}


def test_transfers_of_the_isolated_agents() -> None:
    found = samples(WORKSHOP / "cs_m3_functional_isolation.processed_interaction_sim.jsonl")
    tokens = {case: score.values["total_tokens"] for case, score in scores("token_usage", found).items()}
    assert tokens == {"90f9fb35": 1352, "b961b0eb": 7318, "2c79e2d0": 13564, "863cbc8b": 7404, "68b39c35": 8110}
    transfers = {case: score.values["transfers"] for case, score in scores("agent_handoffs", found).items()}
    assert transfers == {"90f9fb35": 0, "b961b0eb": 1, "2c79e2d0": 2, "863cbc8b": 1, "68b39c35": 1}


def test_grounding_and_the_two_counts_of_calls() -> None:
    found = samples(WORKSHOP / "retail_baseline.processed_interaction_app.jsonl")
    chunks = [score.value for score in scores("grounding_utilization", found).values()]
    assert chunks == [21, 15, 0]
    details = [score.values for score in scores("token_usage", found).values()]
    assert [(each["calls_in_session"], each["calls_in_trace"]) for each in details] == [(9, 10), (7, 8), (1, 1)]
    assert details[1]["tool_use_prompt_tokens"] == 20554


def test_nested_spans_count_once() -> None:
    found = samples(WORKSHOP / "retail_baseline.processed_interaction_app.jsonl")
    (score,) = list(scores("latency_metrics", found).values())[:1]
    details = score.values | score.details
    assert details["total_latency_seconds"] == pytest.approx(231.95, abs=0.01)
    assert details["llm_latency_seconds"] <= details["total_latency_seconds"]
    assert details["source"] == "invocations"


@pytest.mark.parametrize(
    ("case", "calls", "tools", "total"),
    [
        ("wrong_tools", 2, 2, 1084),
        ("news_grounded", 1, 0, 435),
        ("blocked", 1, 0, 429),
        ("essay_truncated", 1, 0, 430),
        ("refund_multi_turn", 6, 4, 4826),
        ("stock_parallel", 2, 2, 1097),
        ("hello", 1, 0, 435),
    ],
)
def test_the_sample_set_of_adk_2_13(case: str, calls: int, tools: int, total: int) -> None:
    sample = samples(SHOP)[case]
    spent = by_name("token_usage").score(sample).values
    assert (spent["llm_calls"], spent["total_tokens"]) == (calls, total)
    assert by_name("tool_utilization").score(sample).value == tools


def test_the_refund_has_one_failed_tool_and_one_transfer() -> None:
    sample = samples(SHOP)["refund_multi_turn"]
    success = by_name("tool_success_rate").score(sample)
    assert (success.value, success.values["failed_tool_calls"]) == (0.75, 1)
    assert by_name("agent_handoffs").score(sample).value == 1
    assert by_name("cache_efficiency").score(sample).values["total_cached_tokens"] == 1920
