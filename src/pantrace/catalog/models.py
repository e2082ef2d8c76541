"""The table of models: looked up by name, never guessed."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Record, Usage
from pantrace.wire.text_file import read_text
from pantrace.wire.times import from_iso
from pantrace.wire.toml import parse

_LONGEST_NAME = 200
"""In characters. No model has a longer name, and the patterns below take quadratic time on hostile ones."""
# gemini-2.5-flash-001, claude-haiku-4-5@20251001, gpt-4o-2024-08-06, gemini-2.5-flash-preview-09-2025, ...-v1:0. One or
# two digits alone are no version suffix: claude-opus-4-9 is another model than claude-opus-4.
_VERSION = re.compile(
    r"(?:-(?:latest|preview|exp|experimental)(?:-\d\d-\d\d(?:\d\d)?)?|-\d{4}-\d\d-\d\d|[-@]\d{3,8}|-v\d+(?::\d+)?"
    r"|@(?:default|latest))+"
)
_BEDROCK = re.compile(r"(?:[a-z]{2,6}\.)?[a-z][a-z0-9]*\.(?=[a-z])")
# openai:gpt-5, google-gla:gemini-2.5-pro. A fine-tuned model (ft:gpt-4o:...) has a price of its own.
_PROVIDER = re.compile(r"(?!ft:)[a-z][a-z0-9_-]*:(?=[a-z])")
# claude-opus-4.6, as OpenRouter and Copilot spell it.
_DOTTED = re.compile(r"(?<=\d)\.(?=\d)")


class Rates(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """USD per million tokens."""

    input: float
    output: float
    """Reasoning included."""
    cache_read: float | None = None
    """None: no known discount; cached tokens then cost as much as fresh ones."""
    cache_write: float | None = None


class LongRates(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rates of calls with a long input."""

    above: int
    """They apply to calls with more input tokens than this."""


class DatedRates(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rates that apply from a day on, until the next ones begin."""

    valid_from: str | None = None
    """The first day on which they apply: YYYY-MM-DD, in UTC. None: from the beginning."""
    long: LongRates | None = None

    def __post_init__(self) -> None:
        if self.valid_from is not None and from_iso(self.valid_from) is None:
            raise ValueError(f"`valid_from` is not a day such as 2026-12-01: {self.valid_from!r}")

    @property
    def begin(self) -> float:
        """When they begin to apply, in UTC epoch seconds."""
        found = from_iso(self.valid_from) if self.valid_from is not None else None
        return found if found is not None else float("-inf")


class Model(DatedRates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prices and context window of one model. Its own rates are those of the table's date."""

    past: tuple[DatedRates, ...] = ()
    """What it cost before, oldest first."""
    announced: tuple[DatedRates, ...] = ()
    """What the vendor has announced that it will cost, nearest first."""
    window: int | None = None
    """Input tokens that fit into a call."""

    def __post_init__(self) -> None:
        DatedRates.__post_init__(self)
        begins = [each.begin for each in self.timeline]
        if begins != sorted(set(begins)):
            # With two rates for one day, the cost would depend on the order of the lines.
            raise ValueError("`valid_from` must name a later day each time: past rates, the row, announced rates")

    @property
    def timeline(self) -> tuple[DatedRates, ...]:
        """All its rates, in the order in which they apply."""
        return (*self.past, self, *self.announced)

    def rates_at(self, at: float | None) -> DatedRates:
        """The rates of a call made at that time (UTC epoch seconds). A call whose time is unknown gets the row's own
        rates, and a call older than all rates gets the oldest."""
        # Never today's date instead: the same recording must cost the same next year.
        if at is None or not (self.past or self.announced):
            return self
        held = [each for each in self.timeline if each.begin <= at]
        return held[-1] if held else self.timeline[0]


class Catalog(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """A dated table of models."""

    name: str
    date: str
    currency: str = "USD"
    models: dict[str, Model] = {}

    @property
    def version(self) -> str:
        """Name and date, as scores cite it."""
        return f"{self.name}@{self.date}"

    def find(self, name: str | None) -> Model | None:
        """The model of that name: the exact name, the name without its provider's prefix, or the longest known name
        that is followed by a version suffix; None if there is none."""
        return _find(self, name) if name and len(name) <= _LONGEST_NAME else None


@lru_cache(maxsize=256)
def _find(table: Catalog, name: str) -> Model | None:
    full = name.lower()
    last = full.rpartition("/")[2]
    bare = _PROVIDER.sub("", last, count=1)
    # The full name first: a user's own table may price a model of one provider ("openrouter/x") differently.
    for spelled in dict.fromkeys((full, last, bare, _BEDROCK.sub("", bare, count=1), _DOTTED.sub("-", bare))):
        if (found := _versioned(table.models, spelled)) is not None:
            return found
    return None


def _versioned(models: dict[str, Model], name: str) -> Model | None:
    if name in models:
        return models[name]
    # From the end, so that the longest known name wins: gpt-4o-mini-2024-07-18 is a gpt-4o-mini and not a gpt-4o.
    for end in range(len(name) - 1, 0, -1):
        if name[end] in "-@" and name[:end] in models and _VERSION.fullmatch(name, end):
            return models[name[:end]]
    return None


@cache
def catalog(path: str | None = None) -> Catalog:
    """The shipped table; with a path, that file's models in front of it. A file is read once per process."""
    shipped = _parse(files("pantrace.catalog").joinpath("models.toml").read_text("utf-8"), "models.toml")
    # Without a path nothing of the user's is read: a metric is a pure function of its sample and settings.
    if path is None:
        return shipped
    own = _parse(read_text(Path(path)), path)
    if own.currency != shipped.currency:
        raise UsageError(f"{path}: prices must be in {shipped.currency}, not {own.currency}")
    # The user's own prices win, model by model; all other models keep the shipped ones.
    models = {**shipped.models, **{name.lower(): model for name, model in own.models.items()}}
    # Both names, since scores cite the version: a cost may come from either table.
    return Catalog(name=f"{own.name}@{own.date}+{shipped.name}", date=shipped.date, models=models)


def _parse(text: str, path: str) -> Catalog:
    try:
        return msgspec.convert(parse(text), Catalog, strict=False)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path} is not a price table: {error}") from None


def cost_usd(usage: Usage, model: Model, *, one_call: bool = True, at: float | None = None) -> float:
    """What a call costs: fresh input, cached input, written cache and output, each at its own rate. The total of many
    calls (`one_call=False`) never gets the rates for long calls. `at`: when it was made, in UTC epoch seconds; None
    means unknown, and then the price is that of the table's date."""
    return costs_usd(usage, model, one_call=one_call, at=at)[0]


def list_cost_usd(usage: Usage, model: Model, *, one_call: bool = True, at: float | None = None) -> float:
    """What the same call would cost without a cache: all input at the full rate."""
    return costs_usd(usage, model, one_call=one_call, at=at)[1]


def costs_usd(usage: Usage, model: Model, *, one_call: bool = True, at: float | None = None) -> tuple[float, float]:
    """What a call costs, and what it would cost without a cache."""
    dated = model if at is None else model.rates_at(at)
    long = dated.long if one_call else None
    rates: Rates = long if long is not None and (usage.input or 0) > long.above else dated
    read, written = usage.cache_read or 0, usage.cache_write or 0
    # Never below zero: Anthropic's input excludes the cache, and a reader may meet such numbers without knowing it.
    fresh = max((usage.input or 0) - read - written, 0) * rates.input
    output = (usage.output or 0) * rates.output
    if not read and not written:
        dollars = (fresh + output) / 1_000_000
        return dollars, dollars
    listed = fresh + read * rates.input + written * rates.input + output
    read_rate = rates.cache_read if rates.cache_read is not None else rates.input
    write_rate = rates.cache_write if rates.cache_write is not None else rates.input
    return (fresh + read * read_rate + written * write_rate + output) / 1_000_000, listed / 1_000_000
