"""Every number has a name, a unit, a direction and a way to be pooled, declared once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from any_sample import samples
from pantrace.errors import UsageError
from pantrace.metrics import Found, Measurement, NoSettings, all_metrics, measure_named, measures, metric
from pantrace.metrics.pooling import Sums
from pantrace.model import Measure, Outcome, Sample, Score, Trajectory, apart_in_words, in_words, numbers_of
from short_samples import agent, did, run, usage, user


def test_the_names_of_the_workshop_and_of_the_evaluation_json_are_measures() -> None:
    known = {each.address for each in measures()}
    assert known >= {
        "token_usage.estimated_cost_usd",
        "token_usage.total_tokens",
        "token_usage.llm_calls",
        "latency_metrics.total_latency_seconds",
        "latency_metrics.time_to_first_response_seconds",
        "cache_efficiency.cache_hit_rate",
        "thinking_metrics.reasoning_ratio",
        "tool_utilization.total_tool_calls",
        "tool_success_rate.failed_tool_calls",
        "grounding_utilization.total_grounding_chunks",
        "context_saturation.max_total_tokens",
        "agent_handoffs.total_handoffs",
        "output_density.average_output_tokens",
        "sandbox_usage.total_sandbox_ops",
        "trajectory_accuracy.recall",
        "gui.click_hit_rate",
        "gui.num_episodes",
        "outcome.success",
        "outcome.reward",
        "outcome.limit",
    }


@pytest.mark.parametrize("each", measures(), ids=lambda each: each.address)
def test_every_measure_says_what_it_is(each: Measure) -> None:
    assert each.unit is not None or each.address == "outcome.reward"
    assert each.what or not each.name
    assert measure_named(each.address) == each


@pytest.mark.parametrize(
    ("asked", "address", "unit", "better"),
    [
        ("cost", "token_usage.estimated_cost_usd", "USD", "lower"),
        ("tokens", "token_usage.total_tokens", "tokens", "lower"),
        ("latency", "latency_metrics.total_latency_seconds", "s", "lower"),
        ("token_usage", "token_usage.estimated_cost_usd", "USD", "lower"),
        ("gui.click_hit_rate", "gui.click_hit_rate", "share", "higher"),
        ("exact_match", "exact_match", "share", "higher"),
        ("tool_utilization.total_tool_calls", "tool_utilization.total_tool_calls", "count", None),
    ],
)
def test_a_measure_is_found_by_address_alias_and_metric(
    asked: str, address: str, unit: str, better: str | None
) -> None:
    found = measure_named(asked)
    assert found is not None
    assert (found.address, found.unit, found.better) == (address, unit, better)


@pytest.mark.parametrize("asked", ["fluency", "token_usage.totl_tokens", "usd", "", "."])
def test_of_what_nobody_declared_nothing_is_known(asked: str) -> None:
    assert measure_named(asked) is None


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(sample=samples())
def test_a_metric_gives_no_number_that_it_does_not_declare(sample: Sample) -> None:
    for each in all_metrics():
        score = each.score(sample)
        declared = {measure.name for measure in each.measures}
        assert set(score.values) <= declared
        if score.status == "scored" and each.main.name:
            assert score.values[each.main.name] == score.value
        assert not {name for name, value in score.details.items() if type(value) is float}


def test_numbers_of_a_score_have_addresses() -> None:
    score = Score(name="m", value=1.0, values={"a": 1, "b": None, "c": float("nan")})
    assert list(numbers_of(score)) == [("m.a", 1.0)]
    assert list(numbers_of(Score(name="m", value=True))) == [("m", 1.0)]
    assert list(numbers_of(Score(name="m", value="word"))) == []
    assert list(numbers_of(Score(name="m", status="unscored"))) == []


def test_tokens_of_a_model_without_a_price_are_numbers_all_the_same() -> None:
    sample = run(user("hi"), agent("ho", usage=usage(10, 2), model="nobody/knows"))
    numbers = dict(numbers_of(by("token_usage", sample)))
    assert numbers["token_usage.total_tokens"] == 12
    assert "token_usage.estimated_cost_usd" not in numbers


def by(name: str, sample: Sample) -> Score:
    return next(each for each in all_metrics() if each.name == name).score(sample)


@pytest.mark.parametrize(
    ("outcome", "status", "numbers"),
    [
        (Outcome(status="passed", reward=1.0), "scored", {"success": 1, "reward": 1.0, "limit": 0, "broken": 0}),
        (Outcome(status="failed", reward=0.0), "scored", {"success": 0, "reward": 0.0, "limit": 0, "broken": 0}),
        (Outcome(status="limit", reward=0.0), "scored", {"success": 0, "reward": 0.0, "limit": 1, "broken": 0}),
        (Outcome(status="error", reason="boom"), "not_applicable", {"limit": 0, "broken": 1}),
        (Outcome(status="unscored", reward=0.5), "not_applicable", {"reward": 0.5, "limit": 0, "broken": 0}),
        (None, "not_applicable", {}),
    ],
)
def test_how_a_run_ended(outcome: Outcome | None, status: str, numbers: dict[str, float]) -> None:
    score = by("outcome", Sample(id="x", trajectory=Trajectory(outcome=outcome)))
    assert (score.status, score.values) == (status, numbers)


@pytest.mark.parametrize(
    ("scores", "success"),
    [
        ([Score(name="accuracy", value="C")], 1),
        ([Score(name="accuracy", value="I")], 0),
        ([Score(name="accuracy", value=0.0)], 0),
        ([Score(name="accuracy", value="P")], None),
        ([Score(name="accuracy", value="C"), Score(name="style", value="I")], None),
        ([], None),
    ],
)
def test_where_no_outcome_is_told_the_one_stored_score_says_it(scores: list[Score], success: int | None) -> None:
    score = by("outcome", Sample(id="x", trajectory=Trajectory(), scores=tuple(scores)))
    assert score.values.get("success") == success
    assert score.values.get("broken") == (0 if scores else None)  # what was scored has come to its end


def test_a_run_at_a_limit_that_was_scored_is_what_its_score_says() -> None:
    trajectory = Trajectory(outcome=Outcome(status="limit", reason="time"))
    score = by("outcome", Sample(id="x", trajectory=trajectory, scores=(Score(name="accuracy", value="C"),)))
    assert score.values == {"success": 1, "limit": 1, "broken": 0}
    assert by("outcome", Sample(id="x", trajectory=trajectory)).values == {"success": 0, "limit": 1, "broken": 0}


def test_a_ratio_names_the_two_measures_it_is_made_of() -> None:
    def odd(sample: Sample, settings: NoSettings) -> Found:
        """Odd."""
        return Measurement(value=1)

    with pytest.raises(UsageError, match="a ratio of two sums"):
        metric(measures=(Measure(name="a", pooling="ratio", over=("b", "c")),))(odd)
    with pytest.raises(UsageError, match="two measures of one name"):
        metric(measures=(Measure(name="a"), Measure(name="a")))(odd)
    with pytest.raises(UsageError, match="for each of them"):
        metric(low=0, measures=(Measure(name="a"),))(odd)


@pytest.mark.parametrize("values", [{"a": "word"}, {"a": float("inf")}, {"": 1}, {1: 1}, [1]])
def test_what_another_metric_returns_as_values_is_looked_at(values: object) -> None:
    @metric(measures=(Measure(name="main"),))
    def odd(sample: Sample, settings: NoSettings) -> Found:
        """Odd."""
        return Measurement(value=1, values=values)  # type: ignore[arg-type]

    assert odd.score(Sample(id="x")).status == "failed"


def test_sums_are_exact_and_know_how_many_they_are_of() -> None:
    sums = Sums()
    for value in (1e16, 1.0, -1e16, None):
        sums.add({"a": value, "b": 2})
    assert sums.total("a") == (1.0, 3)
    assert sums.total("b") == (8, 4)
    assert sums.total("c") == (None, 0)


@pytest.mark.parametrize(
    ("number", "unit", "words"),
    [
        (0.00131, "USD", "$0.0013"),
        (12.5, "USD", "$12.50"),
        (4826, "tokens", "4,826 tokens"),
        (0.34, "s", "0.34 s"),
        (6 / 7, "share", "85.7 %"),
        (0.9996, "share", "99.96 %"),
        (1, "share", "100 %"),
        (0, "USD", "$0"),
        (2.5, "count", "2.5"),
        (1234.0, None, "1,234"),
    ],
)
def test_numbers_as_people_read_them(number: float, unit: str, words: str) -> None:
    assert in_words(number, unit) == words  # type: ignore[arg-type]


def test_two_numbers_show_the_digits_that_tell_them_apart() -> None:
    assert apart_in_words(0.0053, 0.005, "USD") == ("0.0053", "0.0050")
    assert apart_in_words(0.00500001, 0.005, "USD") == ("0.00500001", "0.00500000")
    assert apart_in_words(3, 2, "count") == ("3.00", "2.00")


def test_tools_called_are_a_sum_over_samples() -> None:
    sample = run(user("go"), agent(*did("a")))
    assert by("tool_utilization", sample).values["total_tool_calls"] == 1
