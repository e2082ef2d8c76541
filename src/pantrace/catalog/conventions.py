"""Conventions of token counts: what each producer's numbers mean, by version."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from pantrace.model import Record, Usage

_NUMBER = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


class Convention(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How some versions of a producer count tokens. Names are the producer's keys, with a dot between nested ones."""

    producer: str
    since: str | None = None
    """The first version that counts this way; None: from the beginning."""
    before: str | None = None
    """The first version that no longer does; None: all later versions do."""
    input: tuple[str, ...]
    """Counts that add up to the input."""
    output: tuple[str, ...]
    """Counts that add up to the output."""
    cache_read: str | None = None
    cache_write: str | None = None
    reasoning: str | None = None
    tool_prompt: str | None = None
    total: str | None = None
    naive: tuple[str, str]
    """The two counts that one would add up without knowing the convention."""
    decided_by_total: bool = False
    """Some providers behind this producer count differently; a record's own total shows which way is right."""
    repeats: str | None = None
    """Where the recording repeats the same counts."""
    source: str

    @property
    def versions(self) -> str:
        """The versions that it applies to, in words."""
        if self.since is None:
            return f"before {self.before}" if self.before is not None else "all"
        return f"{self.since} and later" if self.before is None else f"{self.since} until before {self.before}"

    def holds_for(self, number: tuple[int, ...]) -> bool:
        """Whether a version counts this way."""
        since, before = (version_number(each) for each in (self.since, self.before))
        return (since is None or number >= since) and (before is None or number < before)

    def usage(self, counts: dict[str, Any]) -> Usage:
        """Tokens in pantrace's convention, by this row alone (`decided_by_total` is the reader's business)."""
        return Usage(
            input=_sum(counts, self.input),
            output=_sum(counts, self.output),
            cache_read=_count(counts, self.cache_read),
            cache_write=_count(counts, self.cache_write),
            reasoning=_count(counts, self.reasoning),
            tool_prompt=_count(counts, self.tool_prompt),
            total=_count(counts, self.total),
        )

    def naive_sum(self, counts: dict[str, Any]) -> int | None:
        """The sum of the two counts with the most obvious names: what a naive reader would report."""
        return _sum(counts, self.naive)


class _Book(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    conventions: tuple[Convention, ...]


@cache
def conventions() -> tuple[Convention, ...]:
    """Every row of the table."""
    text = files("pantrace.catalog").joinpath("token_conventions.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Book).conventions


def convention(producer: str, version: str | None) -> Convention | None:
    """How a version of a producer counts; None if the producer has several conventions and the version is unknown."""
    rows = [each for each in conventions() if each.producer == producer]
    # A producer that always counted one way needs no version, and many recordings have none.
    if len(rows) == 1:
        return rows[0]
    number = version_number(version)
    return next((each for each in rows if each.holds_for(number)), None) if number is not None else None


def version_number(version: str | None) -> tuple[int, ...] | None:
    """The three numbers of a version; None when it has none. Builds between releases call themselves 0.0.0."""
    found = _NUMBER.match(version) if version is not None else None
    # A development build (0.0.0) may be older or newer than any row: better no convention than a wrong one.
    number = tuple(map(int, found.groups())) if found else (0, 0, 0)
    return number if any(number) else None


def _count(counts: dict[str, Any], name: str | None) -> int | None:
    if name is None:
        return None
    outer, _, inner = name.partition(".")
    value = counts.get(name)  # attributes of spans have dots in their own names
    if value is None and inner:
        value = found.get(inner) if isinstance(found := counts.get(outer), dict) else None
    # `type`, not isinstance: `true` is no count.
    return value if type(value) is int else None


def _sum(counts: dict[str, Any], names: tuple[str, ...]) -> int | None:
    found = [value for name in names if (value := _count(counts, name)) is not None]
    return sum(found) if found else None
