"""Metric: one deterministic measurement of one sample. No clock, no randomness, no network."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Aggregate, Maker, Measure, Record, Sample, Scale, Score, Unit
from pantrace.wire.allowed_words import not_among

Numbers = dict[str, int | float | None]
"""Measures by name; whole numbers stay whole."""


class NoSettings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric that has nothing to set."""


class Measurement(Record, frozen=True, kw_only=True):
    """What a metric found."""

    value: float | bool | str
    """The main measure."""
    explanation: str | None = None
    values: Numbers = {}
    """The other measures by name, as the metric declares them; None: not applicable."""
    details: dict[str, Any] = {}
    """Names, lists and texts that explain the numbers."""
    evidence: tuple[str, ...] = ()
    """Ids of the steps that show it."""


class NotApplicable(Record, frozen=True):
    """The reason why there is nothing to measure. It is never zero and never a pass."""

    reason: str
    values: Numbers = {}
    """Measures that are known anyway: the tokens of a model without a price."""
    details: dict[str, Any] = {}


_REASONS = 16
"""How many reasons of a metric are cached; our metrics have at most half as many."""

Found = Measurement | NotApplicable
Function = Callable[[Sample, Any], Found]


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A named, versioned measurement, with its settings and the measures it declares."""

    name: str
    measure: Function
    version: str = "1"
    settings: type[Record] = NoSettings
    measures: tuple[Measure, ...]
    """Its numbers, the main one first."""
    per_turn: bool = True
    """Whether it also makes sense for one turn alone."""
    aggregate: Callable[[Iterable[Score]], list[Aggregate]] | None = None
    """Computes numbers over many samples that no measure declares, such as numbers by type of action."""

    maker: Maker = field(init=False)
    """The maker of its scores."""
    scale: Scale | None = field(init=False)
    """The scale of the main measure."""
    is_ours: bool = field(init=False)
    """Whether it comes with pantrace; what other metrics return is checked before it is used."""
    _absent: dict[str, Score] = field(init=False, repr=False, compare=False)
    """Scores without a value, by reason: the same object serves every sample."""

    def __post_init__(self) -> None:
        known = {each.name for each in self.measures}
        if len(known) < len(self.measures) or ("" in known and len(known) > 1):
            raise UsageError(f"the metric {self.name} declares two measures of one name, or one without a name")
        # Checked once, when the metric is made: a wrong declaration would show only in the summary of a run.
        for each in self.measures:
            if (each.pooling == "ratio") != (each.over is not None) or not known.issuperset(each.over or ()):
                raise UsageError(f"the measure {each.address} is a ratio of two sums: `over` names two measures of it")
        # The dataclass is frozen; these are computed once, as `score` runs for every sample.
        object.__setattr__(self, "maker", Maker(name=self.name, kind="check", version=self.version))
        object.__setattr__(self, "scale", self.main.scale)
        object.__setattr__(self, "is_ours", self.measure.__module__.startswith("pantrace."))
        object.__setattr__(self, "_absent", {})

    @property
    def main(self) -> Measure:
        """The measure that is the score's own value."""
        return self.measures[0]

    @property
    def summary(self) -> str:
        """One line: what is measured."""
        return (inspect.getdoc(self.measure) or self.name).partition("\n")[0]

    @property
    def documented(self) -> dict[str, str]:
        """The parts of the docstring: Formula, Not applicable when, Source."""
        text = inspect.getdoc(self.measure) or ""
        names = "Formula|Not applicable when|Source"
        found = re.findall(rf"^({names}): (.*?)(?=^(?:{names}): |\Z)", text, re.M | re.S)
        return {name: " ".join(value.split()) for name, value in found}

    def score(self, sample: Sample, settings: Record | None = None) -> Score:
        """The score of one sample; a metric that raises gives a failed score with the traceback in its details."""
        maker = self.maker
        try:
            found = self.measure(sample, settings if settings is not None else self.settings())
            # Our own metrics are tested and typed; checking what they return would only cost time.
            if (type(found) is not NotApplicable and type(found) is not Measurement) or not self.is_ours:
                found = _as_found(found)
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- a metric, perhaps a user's, must not end the run
            return Score(
                name=self.name,
                status="failed",
                explanation=f"the metric raised {type(error).__name__}: {error}",
                details={"traceback": traceback.format_exc()},
                maker=maker,
            )
        if isinstance(found, Measurement):
            value, values = found.value, found.values
            if main := self.measures[0].name:
                # `+value` turns true and false into 1 and 0.
                values = {main: None if isinstance(value, str) else +value, **values}
            return Score(
                name=self.name,
                value=value,
                values=values,
                scale=self.scale,
                explanation=found.explanation,
                details=found.details,
                evidence=found.evidence,
                maker=maker,
            )
        return self._without_value(found)

    def _without_value(self, found: NotApplicable) -> Score:
        plain = not found.values and not found.details
        if plain and (known := self._absent.get(found.reason)) is not None:
            return known
        made = Score(
            name=self.name,
            status="not_applicable",
            explanation=found.reason,
            values=found.values,
            details=found.details,
            maker=self.maker,
        )
        # A reason that quotes the sample is different each time; the limit keeps such reasons from filling the memory.
        if plain and len(self._absent) < _REASONS:
            self._absent[found.reason] = made
        return made


def _as_found(found: Any) -> Found:
    """What a metric returned, if it can become a score; a TypeError or ValueError says why not."""
    if isinstance(found, NotApplicable):
        details = msgspec.to_builtins(found.details, str_keys=True)
        return NotApplicable(str(found.reason), _as_numbers(found.values), details)
    if not isinstance(found, Measurement):
        raise TypeError(f"it returned {found!r:.80}; a metric returns Measurement(value=...) or NotApplicable(reason)")
    value = found.value
    if not isinstance(value, bool | int | float | str):
        raise TypeError(f"its value is {value!r:.80}, neither a number nor a truth value nor a text")
    if not isinstance(value, str) and not _is_finite(value):
        raise ValueError(f"its value is {value!r:.40}, which is not a number")
    if not isinstance(found.explanation, str | None) or not all(isinstance(each, str) for each in found.evidence):
        raise TypeError("its explanation is no text, or its evidence has other things than ids of steps")
    return msgspec.structs.replace(
        found,
        values=_as_numbers(found.values),
        evidence=tuple(found.evidence),
        details=msgspec.to_builtins(found.details, str_keys=True),
    )


def _as_numbers(values: Any) -> Numbers:
    """The measures that a plugin's metric returned, if each is a number with a name."""
    if not isinstance(values, dict) or not all(isinstance(name, str) and name for name in values):
        raise TypeError(f"its values are {values!r:.80}; they are numbers by name")
    for name, value in values.items():
        if not isinstance(value, int | float | None) or (value is not None and not _is_finite(value)):
            raise TypeError(f"its measure {name} is {value!r:.40}, which is not a number")
    return {name: None if value is None else +value for name, value in values.items()}


def _is_finite(value: float) -> bool:
    """Whether a number can be stored as a float; an integer may be too large."""
    try:
        return isfinite(value)
    except OverflowError:
        return False


def metric(
    *,
    version: str = "1",
    name: str | None = None,
    settings: type[Record] = NoSettings,
    low: float | None = None,
    high: float | None = None,
    better: Literal["higher", "lower"] | None = None,
    unit: Unit | None = None,
    yes_or_no: bool = False,
    measures: Sequence[Measure] = (),
    per_turn: bool = True,
    aggregate: Callable[[Iterable[Score]], list[Aggregate]] | None = None,
) -> Callable[[Function], Metric]:
    """Make a metric from a function `(sample, settings) -> Measurement | NotApplicable`; its name is the function's.

    The docstring's first line says what is measured; the paragraphs `Formula:`, `Not applicable when:` and `Source:`
    explain it. Without `better` the number is only reported: neither direction is good. A metric with several numbers
    declares them as `measures`, the main one first, instead of `low`, `high`, `better`, `unit` and `yes_or_no`."""
    given = (low, high, better, unit, yes_or_no) != (None, None, None, None, False)
    if measures and given:
        raise UsageError("a metric that declares measures says low, high, better and unit for each of them")
    only = Measure(low=low, high=high, better=better, unit=unit, yes_or_no=yes_or_no, headline=True)

    def made(measure: Function) -> Metric:
        own = name or measure.__name__
        return Metric(
            name=own,
            measure=measure,
            version=version,
            settings=settings,
            measures=tuple(msgspec.structs.replace(each, metric=own) for each in measures or (only,)),
            per_turn=per_turn,
            aggregate=aggregate,
        )

    return made


def parse_settings(chosen: Metric, given: Mapping[str, Any]) -> Record:
    """A metric's settings, from values of a plan or from texts of the command line (names separated by commas, lists
    and objects as JSON). A UsageError lists the settings that exist."""
    fields = {each.name: each.type for each in msgspec.structs.fields(chosen.settings)}
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key not in fields:
            raise UsageError(f"{chosen.name} has no setting {key!r}; its settings: {', '.join(fields) or 'none'}")
        try:
            values[key] = _unfolded(value, fields[key])
        except msgspec.DecodeError as error:
            raise UsageError(f"wrong setting for {chosen.name}: {key} is not JSON: {error}") from None
    try:
        return msgspec.convert(values, chosen.settings, strict=False)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        path = where.strip("`").removeprefix("$.")
        hint = not_among(what, chosen.settings, path)
        raise UsageError(f"wrong setting for {chosen.name}: " + (f"{path}: {hint}" if hint else str(error))) from None


def _unfolded(value: Any, kind: Any) -> Any:
    # A setting that may be text keeps its commas and brackets: they may be part of a pattern.
    takes_text = kind is str or (get_origin(kind) in (Union, UnionType) and str in get_args(kind))
    if not isinstance(value, str) or takes_text:
        return value
    if value.startswith(("[", "{")):
        return msgspec.json.decode(value)
    several = [each for each in (kind, *get_args(kind)) if get_origin(each) in (tuple, list)]
    return [part.strip() for part in value.split(",") if part.strip()] if several else value
