"""Select: which samples of a pile are wanted."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pantrace.errors import UsageError
from pantrace.model import Sample
from pantrace.wire.json import to_plain

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass
class Selection:
    """Wanted samples; what has no time cannot be said to be since anything, and is left out and counted."""

    since: float | None = None
    sessions: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    limit: int | None = None
    undated: int = 0
    """Samples left out because `since` was given and they have no time."""

    @property
    def narrows(self) -> bool:
        """Whether some samples may be left out."""
        return bool(self.since is not None or self.sessions or self.where or self.limit is not None)

    def apply(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        count = 0
        for sample in samples:
            if self._wants(sample):
                yield sample
                count += 1
                if count == self.limit:
                    return

    def _wants(self, sample: Sample) -> bool:
        if self.sessions and sample.id not in self.sessions and _session(sample) not in self.sessions:
            return False
        if self.since is not None:
            created = sample.trajectory.created if sample.trajectory else None
            if created is None:
                self.undated += 1
                return False
            if created < self.since:
                return False
        return not self.where or all(condition.holds(sample) for condition in self.where)


def _session(sample: Sample) -> str | None:
    return sample.trajectory.id if sample.trajectory else None


def parse_since(text: str, now: datetime) -> float:
    """30m, 2h, 7d, 1w, today, yesterday, 2026-11-15 or 2026-11-15T08:00 (local time unless a zone is given)."""
    if (match := re.fullmatch(r"(\d+)([mhdw])", text)) is not None:
        return (now - timedelta(**{_UNITS[match[2]]: int(match[1])})).timestamp()
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    if text == "today":
        return midnight.timestamp()
    if text == "yesterday":
        return (midnight - timedelta(days=1)).timestamp()
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except ValueError:
        raise UsageError(
            f"--since {text!r} is not a time; try 30m, 2h, 7d, today, 2026-11-15 or 2026-11-15T08:00"
        ) from None


_SHORT = {
    "agent": ("case.agent", "trajectory.agents.name", "trajectory.steps.agent"),
    "model": ("trajectory.agents.model", "trajectory.steps.model"),
    "title": ("trajectory.title",),
    "status": ("trajectory.outcome.status",),
    "format": ("trajectory.source.format",),
    "session": ("trajectory.id",),
    "tool": ("trajectory.steps.parts.name",),
    "label": ("case.labels",),
}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Condition:
    """FIELD OP VALUE over one sample; true if any value at the path fits (for != : if none is equal)."""

    paths: tuple[str, ...]
    op: str
    value: str
    pattern: re.Pattern[str] | None = None

    def holds(self, sample: Sample) -> bool:
        plain = to_plain(sample)
        values = [value for path in self.paths for value in _values(plain, path.split("."))]
        if self.op == "!=":
            return not any(_equal(value, self.value) for value in values)
        if self.op == "=":
            return any(_equal(value, self.value) for value in values)
        if self.pattern is not None:
            return any(self.pattern.search(str(value)) for value in values)
        compare = _COMPARE[self.op]
        number = float(self.value)
        return any(
            compare(value, number)
            for value in values
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        )


def _equal(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted.lower() == str(value).lower()
    if isinstance(value, (int, float)):
        try:
            return value == float(wanted)
        except ValueError:
            return False
    return str(value) == wanted


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _values(item, path)
    elif not path:
        if value is not None and not isinstance(value, dict):
            yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _values(value[path[0]], path[1:])


def parse_where(text: str) -> Condition:
    """agent=build, label.difficulty!=easy, title~^S1, trajectory.steps.usage.input>1000."""
    match = re.fullmatch(r"\s*([\w.\-]+)\s*(!=|>=|<=|=|~|>|<)\s*(.*)", text, re.DOTALL)
    if match is None:
        raise UsageError(f"--where {text!r} is not FIELD OP VALUE; OP is one of = != ~ > >= < <=")
    name, op, value = match.groups()
    first, _, rest = name.partition(".")
    paths = tuple(f"{path}.{rest}" if rest else path for path in _SHORT[first]) if first in _SHORT else (name,)
    pattern = None
    if op == "~":
        try:
            pattern = re.compile(value)
        except re.error as error:
            raise UsageError(f"--where {text!r}: not a regular expression: {error}") from None
    elif op in _COMPARE:
        try:
            float(value)
        except ValueError:
            raise UsageError(f"--where {text!r}: {op} needs a number") from None
    return Condition(paths, op, value, pattern)
