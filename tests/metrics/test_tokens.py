"""Metrics of tokens: what is absent first, then the arithmetic, then pools of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pantrace.catalog import catalog
from pantrace.metrics import Metric, by_name, parse_settings
from pantrace.metrics.pooling import Sums
from pantrace.model import Agent, Purpose, Sample, Score, Thinking, Trajectory, Usage
from short_samples import agent, run, usage, user

FLASH = {"model": "gemini-2.5-flash"}
TOKENS = ("token_usage", "cache_efficiency", "thinking_metrics", "output_density", "context_saturation")


def spent(*usages: Usage, model: str | None = "gemini-2.5-flash") -> Sample:
    return run(user("hi"), *(agent("ho", usage=each, model=model, id=f"m{n}") for n, each in enumerate(usages)))


@pytest.mark.parametrize("name", TOKENS)
def test_without_usage_nothing_is_measured(name: str) -> None:
    score = by_name(name).score(run(user("hi"), agent("ho", **FLASH)))
    assert (score.status, score.value) == ("not_applicable", None)


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("cache_efficiency", usage(100, 10), "no model call reports cached tokens"),
        ("cache_efficiency", usage(None, 10, cache_read=0), "no model call reports prompt tokens"),
        ("thinking_metrics", usage(100, 10), "no model call reports reasoning tokens"),
        ("thinking_metrics", usage(100, 0, reasoning=0), "no output tokens are reported"),
        ("output_density", usage(100, None), "no model call reports its output tokens"),
        ("context_saturation", Usage(cost_usd=1.0), "no model call reports its usage"),
        ("token_usage", usage(0, 0), "0 tokens are reported, so none were counted"),
        ("token_usage", usage(0, 0, total=0, cost_usd=0.0), "0 tokens are reported, so none were counted"),
    ],
)
def test_a_number_that_no_call_reports_is_not_zero(name: str, given: Usage, reason: str) -> None:
    score = by_name(name).score(spent(given))
    assert (score.status, score.explanation) == ("not_applicable", reason)


def test_thoughts_that_are_recorded_were_more_than_0_tokens() -> None:
    """OpenCode writes 0 where the provider does not count reasoning."""
    thought = agent(Thinking(text="hm"), "ho", usage=usage(100, 10, reasoning=0), **FLASH)
    score = by_name("thinking_metrics").score(run(user("hi"), thought))
    assert (score.status, score.value) == ("not_applicable", None)
    assert by_name("thinking_metrics").score(spent(usage(100, 10, reasoning=0))).value == 0


def test_an_unknown_model_has_an_unknown_cost_and_known_tokens() -> None:
    score = by_name("token_usage").score(spent(usage(100, 10), model="fake/scripted-1"))
    assert score.status == "not_applicable"
    assert score.explanation == "unknown cost: no price for fake/scripted-1"
    assert score.values["total_tokens"] == 110
    assert score.details["unpriced_models"] == ["fake/scripted-1"]
    assert score.values["estimated_cost_usd"] is None


def test_a_run_with_one_unpriced_call_has_no_cost() -> None:
    sample = run(agent("a", usage=usage(10, 1), **FLASH), agent("b", usage=usage(10, 1)))
    score = by_name("token_usage").score(sample)
    assert score.status == "not_applicable"
    assert score.details["unpriced_models"] == ["(not named)"]


def test_a_cost_that_the_source_reports_is_used_where_no_price_is_known() -> None:
    score = by_name("token_usage").score(spent(usage(100, 10, cost_usd=0.25), usage(1, 1, cost_usd=0.5), model="x/y"))
    assert score.value == 0.75
    assert score.details["cost_source"] == "reported"
    assert score.values["estimated_cost_usd"] == score.value


def test_a_partly_reported_cost_is_no_cost() -> None:
    score = by_name("token_usage").score(spent(usage(100, 10, cost_usd=0.25), usage(1, 1), model="x/y"))
    assert score.status == "not_applicable"
    assert score.values["reported_cost_usd"] == 0.25


def test_a_usage_that_tells_nothing_is_no_usage() -> None:
    assert by_name("token_usage").score(spent(Usage(), Usage(derived=("input",)))).status == "not_applicable"
    details = by_name("token_usage").score(spent(Usage(), usage(10, 1))).values
    assert (details["llm_calls"], details["calls_missing_usage"]) == (1, 1)


@pytest.mark.parametrize("given", [Usage(total=100), Usage(cache_read=5, total=100)])
def test_a_total_alone_cannot_be_priced(given: Usage) -> None:
    score = by_name("token_usage").score(spent(given))
    assert (score.status, score.values["total_tokens"]) == ("not_applicable", 100)
    assert score.explanation == "unknown cost: 1 calls report neither input nor output tokens"


def test_a_cost_without_tokens_is_a_reported_cost() -> None:
    score = by_name("token_usage").score(spent(Usage(cost_usd=0.5)))
    assert (score.value, score.details["cost_source"], score.values["total_tokens"]) == (0.5, "reported", None)


def test_a_reported_cost_of_0_may_mean_unknown() -> None:
    score = by_name("token_usage").score(spent(usage(100, 10, cost_usd=0.0), model="local/thing"))
    assert (score.status, score.values["reported_cost_usd"]) == ("not_applicable", 0.0)


def test_the_table_goes_before_what_the_source_reports() -> None:
    score = by_name("token_usage").score(spent(usage(1_000_000, 0, cost_usd=9.0)))
    assert score.value == pytest.approx(0.30)
    assert (score.details["cost_source"], score.values["reported_cost_usd"]) == ("table", 9.0)


def test_tokens_and_cost_of_a_run() -> None:
    score = by_name("token_usage").score(
        spent(usage(1050, 130, cache_read=600, reasoning=30, tool_prompt=50), usage(2000, 40))
    )
    cost = ((450 + 2000) * 0.30 + 600 * 0.03 + 170 * 2.50) / 1e6
    assert score.value == pytest.approx(cost)
    assert score.values | score.details == {
        "llm_calls": 2,
        "models_used": ["gemini-2.5-flash"],
        "total_tokens": 3220,
        "prompt_tokens": 3000,
        "completion_tokens": 140,
        "cached_tokens": 600,
        "estimated_cost_usd": score.value,
        "input_tokens": 3050,
        "output_tokens": 170,
        "thinking_tokens": 30,
        "tool_use_prompt_tokens": 50,
        "calls_missing_usage": 0,
        "calls_missing_prompt": 0,
        "calls_missing_completion": 0,
        "calls_missing_cached": 1,
        "calls_missing_thinking": 1,
        "unpriced_models": [],
        "price_table": catalog().version,
        "cache_discount": "table",
        "cost_source": "table",
        "reported_cost_usd": None,
        "list_cost_usd": pytest.approx((3050 * 0.30 + 170 * 2.50) / 1e6),
        "spent_tokens": 3220,
        "spent_usd": score.value,
    }


def test_without_a_cache_rate_cached_tokens_cost_the_full_rate(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('name = "own"\ndate = "2026-01-01"\n[models]\n"gemini-2.5-flash" = { input = 0.3, output = 2.5 }\n')
    check = by_name("token_usage")
    score = check.score(spent(usage(1000, 0, cache_read=800)), parse_settings(check, {"prices": str(own)}))
    assert score.value == pytest.approx(1000 * 0.30 / 1e6)
    assert score.details["cache_discount"] == "none"
    assert score.details["price_table"].startswith("own@2026-01-01+")


def test_the_model_of_a_call_may_be_its_agents() -> None:
    sample = run(agent("a", usage=usage(1_000_000, 0), agent="root"), agents=(Agent(name="root", model="gpt-5"),))
    assert by_name("token_usage").score(sample).value == pytest.approx(1.25)


def test_totals_of_the_source_stand_in_for_calls_without_usage() -> None:
    score = by_name("token_usage").score(run(agent("a"), usage={"gpt-5": usage(1_000_000, 0)}))
    assert score.value == pytest.approx(1.25)
    assert score.values["llm_calls"] is None
    child = Trajectory(steps=(agent("c"),), usage={"gpt-5": usage(1_000_000, 0)})
    mixed = run(agent("a", usage=usage(1_000_000, 0), model="gpt-5"), usage={"gpt-5": usage(9, 9)}, children=(child,))
    assert by_name("token_usage").score(mixed).value == pytest.approx(2.50)


def test_copied_context_and_commands_of_the_user_cost_nothing_and_sub_agents_do() -> None:
    child = Trajectory(steps=(agent("c", usage=usage(7, 1), **FLASH),))
    sample = run(
        agent("a", usage=usage(10, 1), **FLASH),
        agent("a", usage=usage(10, 1), kind="copied", **FLASH),
        agent("a", usage=usage(0, 0), kind="user_shell", **FLASH),
        agent("a", usage=usage(100, 1), kind="compaction", **FLASH),
        agent("a"),
        children=(child,),
    )
    details = by_name("token_usage").score(sample).values
    assert (details["llm_calls"], details["total_tokens"], details["calls_missing_usage"]) == (3, 120, 1)


@pytest.mark.parametrize(
    ("name", "value", "details"),
    [
        (
            "cache_efficiency",
            600 / 3000,
            {
                "cache_hit_rate": 0.2,
                "total_cached_tokens": 600,
                "total_fresh_prompt_tokens": 2400,
                "total_input_tokens": 3000,
                "calls_missing_cached": 1,
            },
        ),
        (
            "thinking_metrics",
            30 / 170,
            {
                "reasoning_ratio": 30 / 170,
                "total_thinking_tokens": 30,
                "total_candidate_tokens": 140,
                "total_output_tokens": 170,
                "turns_with_thinking": 1,
                "calls_missing_thinking": 1,
            },
        ),
        (
            "output_density",
            70,
            {
                "average_output_tokens": 70,
                "total_output_tokens": 140,
                "llm_calls_count": 2,
                "average_thinking_tokens": 30,
            },
        ),
        (
            "context_saturation",
            2040,
            {
                "max_total_tokens": 2040,
                "peak_usage_span": "m1",
                "peak_input_tokens": 2000,
                "context_window": 1048576,
                "saturation": 2000 / 1048576,
            },
        ),
    ],
)
def test_ratios(name: str, value: float, details: dict[str, Any]) -> None:
    sample = spent(usage(1050, 130, cache_read=600, reasoning=30, tool_prompt=50), usage(2000, 40))
    score = by_name(name).score(sample)
    assert score.value == pytest.approx(value)
    assert score.values | score.details == pytest.approx(details)


def test_the_fullest_window_is_not_always_the_largest_call() -> None:
    sample = run(
        agent("a", usage=usage(100_000, 10), model="gpt-4o"),
        agent("b", usage=usage(150_000, 10), model="gemini-2.5-flash"),
        agent("c", usage=usage(160_000, 10), model="nobody"),
    )
    details = by_name("context_saturation").score(sample).values
    assert (details["max_total_tokens"], details["context_window"]) == (160_010, 128_000)
    assert details["saturation"] == pytest.approx(100_000 / 128_000)


@pytest.mark.parametrize(
    ("name", "pooled"),
    [("cache_efficiency", 1000 / 10_100), ("thinking_metrics", 60 / 1060), ("output_density", 1000 / 2)],
)
def test_over_samples_every_call_weighs_the_same(name: str, pooled: float) -> None:
    check = by_name(name)
    samples = [
        spent(usage(10_000, 1000, cache_read=1000, reasoning=0)),
        spent(usage(100, 60, cache_read=0, reasoning=60)),
        spent(Usage(cost_usd=1.0)),
    ]
    assert _pooled(check, [check.score(sample) for sample in samples]) == (pytest.approx(pooled), 2)


def _pooled(check: Metric, scores: list[Score]) -> tuple[float | None, int]:
    """What the main measure comes to over these scores, and of how many samples."""
    sums = Sums()
    for score in scores:
        sums.add(score.values)
    return sums.pooled(check.main)


def test_the_cost_of_many_samples_is_a_sum_that_says_what_it_lacks() -> None:
    check = by_name("token_usage")
    assert _pooled(check, []) == (None, 0)
    scores = [check.score(spent(usage(1_000_000, 0))), check.score(spent(usage(1, 1), model="x"))]
    assert _pooled(check, scores) == (pytest.approx(0.30), 1)


def test_a_pool_without_a_scored_sample_has_no_value() -> None:
    check = by_name("cache_efficiency")
    assert _pooled(check, [check.score(Sample(id="x"))]) == (None, 0)


@pytest.mark.parametrize("staff", ["grader", "simulated_user"])
def test_what_the_tests_own_staff_asked_a_model_is_not_the_agents(staff: Purpose) -> None:
    grader = Trajectory(
        title="model_graded_fact",
        purpose=staff,
        steps=(user("grade this"), agent("GRADE: C", usage=usage(5_000, 500, reasoning=9), **FLASH)),
        children=(Trajectory(steps=(agent("deep", usage=usage(1, 1), **FLASH),)),),
    )
    steps = (user("hi"), agent("ho", usage=usage(10, 1), **FLASH))
    alone, graded = run(*steps), run(*steps, children=(grader,))
    for name in (*TOKENS, "agent_handoffs", "latency_metrics", "tool_utilization"):
        assert by_name(name).score(graded) == by_name(name).score(alone), name


def test_the_total_of_many_calls_is_not_priced_as_one_long_call() -> None:
    total = usage(1_000_000, 100_000)
    summed = by_name("token_usage").score(run(user("hi"), agent("ho"), usage={"gemini-2.5-pro": total}))
    assert summed.value == pytest.approx(1.25 + 1.00)
    assert summed.values["list_cost_usd"] == pytest.approx(1.25 + 1.00)
    assert "model calls" not in (summed.explanation or "")
    one_call = by_name("token_usage").score(spent(total, model="gemini-2.5-pro"))
    assert one_call.value == pytest.approx(2.50 + 1.50)


@pytest.mark.parametrize(
    ("at", "cost"), [(None, 1.0), (1_796_083_199.0, 1.0), (1_796_083_200.0, 2.0), (1_796_083_200_000.0, 2.0)]
)
def test_an_announced_price_holds_from_its_day_on(tmp_path: Path, at: float | None, cost: float) -> None:
    path = tmp_path / "own.toml"
    row = '"new" = { input = 1, output = 2, announced = [{ valid_from = "2026-12-01", input = 2, output = 4 }] }'
    path.write_text(f'name = "own"\ndate = "2026-11-16"\n[models]\n{row}\n')
    sample = run(agent("ho", usage=usage(1_000_000, 0), model="new", at=at))
    check = by_name("token_usage")
    score = check.score(sample, settings=parse_settings(check, {"prices": str(path)}))
    assert score.value == pytest.approx(cost)
    assert score.values["list_cost_usd"] == pytest.approx(cost)
