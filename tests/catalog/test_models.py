"""The table of models: what it does not know first, then who is who, then what a call costs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from pantrace.catalog import Model, Rates, catalog, cost_usd, list_cost_usd
from pantrace.errors import UsageError
from pantrace.model import Usage


@pytest.mark.parametrize(
    "name",
    [
        None,
        "",
        "fake/scripted-1",
        "gemini-2.5-flash-image",
        "gemini-2.5-flash:free",
        "claude-opus-4-9",
        "gpt-5.9",
        "gpt-4o-audio-preview",
        "gpt-5-high",
        "gpt-4-32k",
        "claude-opus-4-6-fast",
        "claude-opus-4.9",
        "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "ft:gpt-4o",
        "ft:gpt-4o-2024-08-06:org::id",
        "my-gemini-2.5-flash",
        # Sold by many hosts at many prices.
        "openrouter/meta-llama/llama-3.3-70b-instruct",
        "together_ai/moonshotai/kimi-k2.5",
        "deepseek/deepseek-chat",
        "groq/openai/gpt-oss-120b",
        "qwen3:30b",
    ],
)
def test_an_unknown_model_has_no_price(name: str | None) -> None:
    assert catalog().find(name) is None


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("gemini-2.5-flash", 0.30),
        ("Gemini-2.5-Flash", 0.30),
        ("google/gemini-2.5-flash", 0.30),
        ("openrouter/google/gemini-2.5-flash", 0.30),
        ("gemini-2.5-flash-001", 0.30),
        ("gemini-2.5-flash-preview-09-2025", 0.30),
        ("gemini-2.5-flash-lite", 0.10),
        ("gemini-2.5-flash-lite-001", 0.10),
        ("gemini-2.0-flash-exp", 0.10),
        ("gemini-2.0-flash-lite", 0.075),
        ("gemini-3-pro-preview", 2.00),
        ("claude-opus-4-1-20250805", 15.00),
        ("claude-haiku-4-5@20251001", 1.00),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.00),
        ("global.anthropic.claude-opus-4-6-v1", 5.00),
        ("bedrock/converse/eu.anthropic.claude-3-5-sonnet-20241022-v2:0", 3.00),
        ("anthropic.claude-haiku-5-5", 0.10),
        ("vertex_ai/claude-opus-4-6@default", 5.00),
        ("claude-3-5-sonnet-v2@20241022", 3.00),
        ("projects/p/locations/global/publishers/anthropic/models/claude-opus-4-1@20250805", 15.00),
        ("publishers/google/models/gemini-2.5-pro", 1.25),
        ("models/gemini-2.5-flash-lite", 0.10),
        ("google-gla:gemini-2.5-pro", 1.25),
        ("openai:gpt-5-mini", 0.25),
        ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.00),
        ("openrouter/anthropic/claude-opus-4.6", 5.00),
        ("copilot/claude-3.5-sonnet", 3.00),
        ("claude-opus-5-5", 4.00),
        ("gpt-4o-2024-08-06", 2.50),
        ("gpt-4o-2024-05-13", 5.00),
        ("azure/gpt-4o-mini-2024-07-18", 0.15),
        ("gpt-5-chat-latest", 1.25),
        ("gpt-6.1-sol-2026-09-29", 2.00),
        ("gpt-4-0613", 30.00),
        ("gpt-4-0125-preview", 10.00),
        ("gpt-4-turbo-preview", 10.00),
        ("gpt-3.5-turbo-0125", 0.50),
        ("gpt-3.5-turbo-0613", 1.50),
        ("computer-use-preview-2025-03-11", 3.00),
        ("us.amazon.nova-pro-v1:0", 0.80),
        ("x-ai/grok-code-fast-1", 0.20),
    ],
)
def test_a_known_model_has_its_own_price(name: str, rate: float) -> None:
    found = catalog().find(name)
    assert found is not None
    assert found.input == rate


SHIPPED = catalog().models


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_the_shipped_rates_make_sense(name: str) -> None:
    model = SHIPPED[name]
    assert name == name.lower()
    assert_sensible(model)
    if model.long is not None:
        assert_dearer(model.long, model)
    for rates in (*model.past, *model.announced):
        assert_sensible(rates)
        if rates.long is not None:
            assert_dearer(rates.long, rates)
    assert not model.past or model.valid_from is not None
    assert (model.valid_from or "") <= catalog().date
    for each in model.announced:
        assert (each.valid_from or "") > catalog().date, "the announced price is the price by now"
    assert model.window is None or model.window >= 8192


def assert_sensible(rates: Rates) -> None:
    assert 0 < rates.input < rates.output
    assert rates.cache_read is None or rates.cache_read < rates.input
    assert rates.cache_write is None or rates.input < rates.cache_write < rates.output


def assert_dearer(rates: Rates, than: Rates) -> None:
    """All rates are at least as high, and the same ones are known."""
    assert_sensible(rates)
    assert rates.input > than.input
    for field in ("output", "cache_read", "cache_write"):
        dear, cheap = getattr(rates, field), getattr(than, field)
        assert (dear is None) == (cheap is None)
        assert dear is None or dear >= cheap


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_shipped_model_is_found_by_its_own_row(name: str) -> None:
    for spelled in ("{}", "vendor/{}", "openrouter/vendor/{}", "vendor:{}", "{}-latest", "{}@default"):
        assert catalog().find(spelled.format(name)) is SHIPPED[name]
        assert catalog().find(spelled.format(name).upper()) is SHIPPED[name]


CLAUDE = sorted(name for name in SHIPPED if name.startswith("claude-"))


@pytest.mark.parametrize("name", CLAUDE)
def test_claude_is_found_as_its_resellers_spell_it(name: str) -> None:
    for spelled in ("{}-20250929", "{}@20250929", "anthropic.{}-20250929-v1:0", "global.anthropic.{}-v1:0"):
        assert catalog().find(spelled.format(name)) is SHIPPED[name]


@pytest.mark.parametrize("name", CLAUDE)
def test_claude_writes_the_cache_for_a_quarter_more(name: str) -> None:
    rates: list[Rates | None] = [SHIPPED[name], SHIPPED[name].long]
    for each in rates:
        if each is not None and each.cache_write is not None and name != "claude-3-haiku":  # rounded by the vendor
            assert each.cache_write == pytest.approx(1.25 * each.input)


@pytest.mark.parametrize("name", sorted(name for name in SHIPPED if name.startswith("gpt-") and SHIPPED[name].long))
def test_long_calls_of_gpt_cost_twice_the_input_and_half_more_output(name: str) -> None:
    model = SHIPPED[name]
    assert model.long is not None
    assert model.long.above == 272_000
    assert (model.long.input, model.long.output) == pytest.approx((2 * model.input, 1.5 * model.output))


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(), 0),
        (Usage(output=1_000_000), 10.00),
        (Usage(input=100_000, output=0), 0.125),
        (Usage(input=100_000, cache_read=60_000), (40_000 * 1.25 + 60_000 * 0.125) / 1e6),
        (Usage(input=300_000, cache_read=100_000, output=10), (200_000 * 2.50 + 100_000 * 0.25 + 10 * 15) / 1e6),
    ],
)
def test_each_kind_of_token_at_its_rate(usage: Usage, cost: float) -> None:
    model = catalog().find("gemini-2.5-pro")
    assert model is not None
    assert cost_usd(usage, model) == pytest.approx(cost)


def test_written_cache_costs_more_and_the_list_cost_knows_no_cache() -> None:
    model = catalog().find("claude-sonnet-4-5")
    assert model is not None
    usage = Usage(input=1000, cache_read=500, cache_write=300, output=100)
    assert cost_usd(usage, model) == pytest.approx((200 * 3 + 500 * 0.30 + 300 * 3.75 + 100 * 15) / 1e6)
    assert list_cost_usd(usage, model) == pytest.approx((1000 * 3 + 100 * 15) / 1e6)


@pytest.mark.parametrize(
    ("name", "usage", "cost"),
    [
        # At the limit a call is still short; above it all of it is long, and cached tokens count as input.
        ("gemini-2.5-pro", Usage(input=200_000, output=1000), 200_000 * 1.25 + 1000 * 10),
        ("gemini-2.5-pro", Usage(input=200_001, output=1000), 200_001 * 2.50 + 1000 * 15),
        ("claude-haiku-5-5", Usage(input=100_001, cache_read=90_000, cache_write=10_000), 0.5 + 4500 + 6250),
        ("gpt-6-sol", Usage(input=272_001, cache_read=272_000, output=10), 4.0 + 272_000 * 0.40 + 150),
        ("claude-sonnet-4-6", Usage(input=900_000, output=10), 900_000 * 3.00 + 150),
        # No rate for cached input is known: it costs as much as fresh input.
        ("gpt-5-pro", Usage(input=1000, cache_read=900, output=10), 1000 * 15.00 + 1200),
        # OpenAI charged nothing extra for written cache before GPT-5.6.
        ("gpt-5", Usage(input=1000, cache_write=900), 1000 * 1.25),
    ],
)
def test_the_arithmetic_of_the_vendors(name: str, usage: Usage, cost: float) -> None:
    assert cost_usd(usage, SHIPPED[name]) == pytest.approx(cost / 1e6)


def test_an_announced_price_counts_for_dated_calls_only() -> None:
    model, usage = SHIPPED["gemini-4-argon"], Usage(input=1_000_000)
    begins = 1_796_083_200.0  # 2026-12-01T00:00Z
    assert [cost_usd(usage, model, at=at) for at in (None, begins - 1, begins)] == [2.00, 2.00, 4.00]
    assert list_cost_usd(usage, model, one_call=False, at=begins) == 4.00


def test_announced_rates_may_have_long_ones() -> None:
    long = {"above": 10, "input": 9, "output": 10}
    announced = [{"valid_from": "2026-12-01", "input": 3, "output": 4, "long": long}]
    model = msgspec.convert({"input": 1, "output": 2, "announced": announced}, Model, strict=False)
    assert cost_usd(Usage(input=11), model, at=2e9) == pytest.approx(99 / 1e6)


@pytest.mark.parametrize(
    ("name", "day", "input_rate"),
    [
        ("o3", None, 2.00),
        ("o3", "2025-04-20", 10.00),
        ("o3", "2025-06-09", 10.00),
        ("o3", "2025-06-10", 2.00),
        ("gpt-5.6-luna", "2026-07-01", 1.00),
        ("gpt-5.6-luna", "2026-07-30", 0.20),
        ("gpt-5.6", "2026-08-20", 5.00),
        ("gpt-5.6", "2026-08-21", 4.00),
        # Others raise it on 2026-09-01; the vendor called that off.
        ("claude-sonnet-5", "2026-09-02", 2.00),
        ("claude-sonnet-5", "2026-08-02", 2.00),
    ],
)
def test_a_call_is_priced_by_its_day(name: str, day: str | None, input_rate: float) -> None:
    at = datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() if day else None
    assert cost_usd(Usage(input=200_000), SHIPPED[name], at=at) == pytest.approx(0.2 * input_rate)


def test_long_calls_of_claude_were_dearer_until_their_day() -> None:
    model, usage = SHIPPED["claude-opus-4-6"], Usage(input=300_000, output=1000)
    march = datetime(2026, 3, 13, tzinfo=UTC).timestamp()
    assert [cost_usd(usage, model, at=at) for at in (None, march - 1, march)] == pytest.approx([1.525, 3.0375, 1.525])


def test_several_past_and_announced_prices_each_have_their_time() -> None:
    rows = [("2025-01-01", 1), ("2025-02-01", 2), ("2025-03-01", 3), ("2025-04-01", 4), ("2025-05-01", 5)]
    dated = [{"valid_from": day, "input": rate, "output": 9} for day, rate in rows]
    model = msgspec.convert({**dated[2], "past": dated[:2], "announced": dated[3:]}, Model, strict=False)
    days = ["2024-12-31", "2025-01-01", "2025-01-31", "2025-02-01", "2025-03-31", "2025-04-01", "2025-06-01"]
    times = [datetime.fromisoformat(f"{day}T23:59:59+00:00").timestamp() for day in days]
    found = [round(cost_usd(Usage(input=1_000_000), model, at=at)) for at in (None, *times)]
    assert found == [3, 1, 1, 1, 2, 3, 4, 5]


def test_an_own_table_stands_in_front_of_the_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('name = "own"\ndate = "2026-01-01"\n[models]\n"Gemini-2.5-flash" = { input = 1, output = 2 }\n')
    table = catalog(str(path))
    assert table.version == f"own@2026-01-01+{catalog().version}"
    own, shipped = table.find("google/gemini-2.5-flash-001"), table.find("gpt-5")
    assert own is not None
    assert (own.input, own.cache_read) == (1, None)
    assert shipped == catalog().find("gpt-5")


def test_an_own_name_with_a_colon_is_not_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('name = "own"\ndate = "2026-01-01"\n[models]\n"qwen3:latest" = { input = 1, output = 2 }\n')
    found = catalog(str(path)).find("ollama/qwen3:latest")
    assert found is not None
    assert found.input == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "is not a price table"),
        ('name = "a"\n', "is not a price table"),
        ('name = "a"\ndate = "b"\n[models]\nx = { input = 1, output = 1, cached = 1 }\n', "is not a price table"),
        (
            'name = "a"\ndate = "b"\n[models]\n'
            'x = { input = 1, output = 2, announced = [{ valid_from = "soon", input = 1, output = 2 }] }\n',
            "is not a price table: `valid_from` is not a day",
        ),
        (
            'name = "a"\ndate = "b"\n[models]\n'
            "x = { input = 1, output = 2, announced = [{ input = 1, output = 2 }] }\n",
            "must name a later day",
        ),
        (
            'name = "a"\ndate = "b"\n[models]\nx = { input = 1, output = 2, valid_from = "2026-01-01", '
            'past = [{ valid_from = "2026-02-01", input = 1, output = 2 }] }\n',
            "must name a later day",
        ),
        ('name = "a"\ndate = "b"\ncurrency = "EUR"\n', "must be in USD"),
    ],
)
def test_a_broken_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        catalog(str(path))


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        catalog(str(tmp_path / "none.toml"))
