"""Where: conditions on the fields of a sample. One that can never be true is refused before anything is read."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pantrace.errors import UsageError
from pantrace.metrics import by_name, measure_named
from pantrace.model import Sample, numbers_of
from pantrace.wire.patterns import compiled, search

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"\s*([^=!~<>]+?)\s*(==|!=|>=|<=|=|~|>|<)\s*(.*)", re.DOTALL)
FORMS = "FIELD=VALUE, FIELD!=VALUE, FIELD~REGEX, or FIELD>NUMBER with >, >=, < or <="


@dataclass(frozen=True)
class Condition:
    """FIELD OP VALUE for one sample; true if any value of the field fits (for !=: if none is equal)."""

    text: str
    """As it was given."""
    name: str
    paths: tuple[str, ...]
    op: str
    value: str
    open: bool = False
    """Whether only the data shows if there is such a field: a label, a key of `extra`."""
    pattern: re.Pattern[str] | None = None
    number: float | None = None
    """What to compare with, if the value is a time."""
    measure: str | None = None
    """Address of the measure, if the condition is about one."""

    def values(self, sample: Sample) -> list[Any]:
        """All values of this field in the sample."""
        if self.measure is not None:
            return measured(sample, self.measure)
        from .fields import values_at

        return [value for path in self.paths for value in values_at(sample, path.split("."))]

    def names_beside(self, sample: Sample) -> Iterable[str]:
        """Names where the field would be, as they would be written in a condition."""
        from .fields import names_beside

        holder = self.name.rpartition(".")[0]
        return (f"{holder}.{name}" for path in self.paths for name in names_beside(sample, path.split(".")))

    def fits(self, values: Iterable[Any]) -> bool:
        """Whether the condition is true if the field has these values."""
        if self.op == "!=":
            return not any(_equal(value, self.value) for value in values)
        if self.op == "=":
            return any(_equal(value, self.value) for value in values)
        if self.pattern is not None:
            return any(search(self.pattern, _text(value)) for value in values)
        compare, number = _COMPARE[self.op], self.number if self.number is not None else float(self.value)
        return any(compare(found, number) for value in values if (found := _number(value)) is not None)


def parse_where(text: str) -> Condition:
    """agent=build, label.difficulty!=easy, title~^S1, trajectory.steps.usage.input>1000, tokens>1000."""
    from .fields import Field, field

    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"--where {text!r} is not a condition; it is one of {FORMS}")
    name, op, value = match.groups()
    op = "=" if op == "==" else op
    try:
        measure = None
        try:
            found = field(name)
        except UsageError:
            # Fields of the model take precedence over measures of the same name.
            if (measure := measure_named(name)) is None:
                raise
            found = Field(paths=(), number=True, text=False, words=(), open=False)
        # Before the check: "2h" is not a number, but a valid value for a time.
        moment = _moment(name, op, value)
        if moment is None:
            _refuse_what_never_holds(name, op, value, found.number, found.text, found.words)
        pattern = compiled(value) if op == "~" else None
    except UsageError as error:
        raise UsageError(f"--where {text!r}: {error}") from None
    address = measure.address if measure is not None else None
    return Condition(text, name, found.paths, op, value, found.open, pattern, moment, address)


_TIMES = ("created", "at", "started", "ended")


def _moment(name: str, op: str, value: str) -> float | None:
    """The time that a field with times is compared with, as for `--since`: 2026-11-15, 2h, today."""
    if op not in _COMPARE or name.rpartition(".")[2] not in _TIMES or _number(value) is not None:
        return None
    from datetime import UTC, datetime

    from .select import parse_since

    return parse_since(value, datetime.now(UTC), name)


def measured(sample: Sample, address: str) -> list[float]:
    """The numbers of a measure: those of the source, otherwise what its metric computes with its default settings."""
    stored = [number for score in sample.scores for name, number in numbers_of(score) if name == address]
    if stored:
        return stored
    score = by_name(address.partition(".")[0]).score(sample)
    return [number for name, number in numbers_of(score) if name == address]


def _refuse_what_never_holds(name: str, op: str, value: str, number: bool, text: bool, words: tuple[str, ...]) -> None:
    if op in _COMPARE:
        if not number:
            raise UsageError(f"{op} compares numbers, and {name} is not a number; use =, != or ~")
        if _number(value) is None:
            raise UsageError(f"{op} must be followed by a number, not {value!r}")
    elif op in ("=", "!=") and not text:
        if words and not number and value not in words and value.lower() not in {"true", "false"} & set(words):
            raise UsageError(f"{name} is one of {', '.join(words)}, never {value!r}")
        if number and not words and _number(value) is None:
            raise UsageError(f"{name} is a number, never {value!r}")


def _number(value: Any) -> float | None:
    """A value as a number; a text such as "3" counts as one, because labels are texts."""
    # True is 1 in Python, but `passed>0` is not a comparison of numbers.
    if isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _equal(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted.lower() == _text(value)
    if isinstance(value, (int, float)):
        return value == _number(wanted)
    return str(value) == wanted
