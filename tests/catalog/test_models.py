"""The table of models: what it does not know first, then who is who, then what a call costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pantrace.catalog import catalog, cost_usd, list_cost_usd
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
        "my-gemini-2.5-flash",
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
        ("gpt-4o-2024-08-06", 2.50),
        ("gpt-4o-2024-05-13", 5.00),
    ],
)
def test_a_known_model_has_its_own_price(name: str, rate: float) -> None:
    found = catalog().find(name)
    assert found is not None
    assert found.input == rate


@pytest.mark.parametrize("name", sorted(catalog().models))
def test_the_shipped_rates_make_sense(name: str) -> None:
    model = catalog().models[name]
    assert name == name.lower()
    assert 0 < model.input < model.output
    assert model.cache_read is None or model.cache_read < model.input
    assert model.cache_write is None or model.cache_write > model.input
    assert model.long is None or model.long.input > model.input


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


def test_an_own_table_stands_in_front_of_the_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('name = "own"\ndate = "2026-01-01"\n[models]\n"Gemini-2.5-flash" = { input = 1, output = 2 }\n')
    table = catalog(str(path))
    assert table.version == f"own@2026-01-01+{catalog().version}"
    own, shipped = table.find("google/gemini-2.5-flash-001"), table.find("gpt-5")
    assert own is not None
    assert (own.input, own.cache_read) == (1, None)
    assert shipped == catalog().find("gpt-5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "is not a price table"),
        ('name = "a"\n', "is not a price table"),
        ('name = "a"\ndate = "b"\n[models]\nx = { input = 1, output = 1, cached = 1 }\n', "is not a price table"),
        ('name = "a"\ndate = "b"\ncurrency = "EUR"\n', "must be in USD"),
    ],
)
def test_a_broken_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        catalog(str(path))


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        catalog(str(tmp_path / "none.toml"))
