"""Carry the rest: keep what a format cannot say of a sample in a free corner of its row, and bring it back from there.

A format gives a plain reader and a plain writer and names its corner; it need not know that anything is carried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import Sample
from pantrace.wire.optional import object_of

from .difference import SAME, apply_difference, difference
from .loss import without_source
from .pantrace_key import CARRIER, is_ours, may_carry

Load = Callable[[Any], Sample]
Dump = Callable[[Sample, Any], Any]
Wanted = Callable[[Sample, Sample], Sample]
"""Takes what a row says and the sample; returns what the row should have said."""


def _whole_sample(actual: Sample, sample: Sample) -> Sample:
    return without_source(sample)


class Corner(NamedTuple):
    """Where a row keeps the rest of a sample, for rows where a path is not enough."""

    take: Callable[[Any], tuple[Any, Any]]
    """A row as the format's own reader shall see it, and what lies in its corner; None if nothing does."""
    put: Callable[[Any, Any], Any]
    """A row with something in its corner; the row that is given is not changed."""


def _at(path: str) -> Corner:
    keys = path.split(".")
    return Corner(
        lambda row: _take(row, keys) if isinstance(row, dict) else (row, None),
        lambda row, rest: _put(row, keys, rest),
    )


def carry_rest(
    load: Load,
    dump: Dump,
    corner: str | Corner,
    wanted: Wanted = _whole_sample,
    rest_of: Callable[[Any, Any], Any] = difference,
) -> tuple[Load, Dump]:
    """Wrap a reader and a writer so that the rest of a sample is kept at `corner` ("extra.pantrace"). `rest_of`
    computes the rest from what the row says and what it should say."""
    take, put = _at(corner) if isinstance(corner, str) else corner

    def load_whole(row: Any) -> Sample:
        bare, rest = take(row)
        sample = load(bare)
        return apply_difference(sample, rest) if isinstance(rest, (dict, list)) and rest else sample

    def dump_whole(sample: Sample, options: Any) -> Any:
        row = dump(sample, options)
        # Read as it will be read: taking the corner away may leave nothing of the object that it lay in.
        actual = _read_back(load, take(put(row, {}))[0])
        rest = rest_of(actual, wanted(actual, sample)) if may_carry() else SAME
        return put(row, rest) if rest else row

    return load_whole, dump_whole


def carry_rest_in_log(load: Load, dump: Dump) -> tuple[Load, Dump]:
    """The same for a row that is a list of records: the rest becomes a record of its own, of type `pantrace`."""

    def load_whole(row: Any) -> Sample:
        places = [place for place, each in enumerate(row) if is_ours(each)] if isinstance(row, list) else []
        if not places:
            return load(row)
        bare = [each for each in row if not is_ours(each)]
        # The last one counts: a log that was written, continued and written again has several.
        rest = row[places[-1]][CARRIER]
        if not isinstance(rest, (dict, list)):
            return load(bare)
        actual = load([each for each in row[: places[-1]] if not is_ours(each)])
        sample = apply_difference(actual, rest)
        # A tool has gone on with a session that we wrote: what it added stands behind our record.
        return sample if places[-1] == len(row) - 1 else _with_later_steps(sample, actual, load(bare))

    def dump_whole(sample: Sample, options: Any) -> Any:
        row = dump(sample, options)
        actual = _read_back(load, row)
        rest = difference(actual, without_source(sample)) if may_carry() else SAME
        return row if rest is SAME else [*row, {"type": CARRIER, CARRIER: rest}]

    return load_whole, dump_whole


def _read_back(load: Load, row: Any) -> Sample:
    """What a row says to a reader that ignores the corner."""
    try:
        return load(row)
    except ReadError as error:
        # Written all the same, it would be a file that nobody can read.
        raise SampleRefused(f"what the format can say of it could not be read again: {error.message}") from None


_AT_THE_END = ("ended", "usage", "outcome", "response", "title", "leaf")
"""Fields that get a new value when a session goes on."""


def _with_later_steps(sample: Sample, actual: Sample, now: Sample) -> Sample:
    """A sample with the steps that a tool added after we wrote it. `actual` is what our part of the log says, `now`
    what all of it says."""
    before, after, whole = actual.trajectory, now.trajectory, sample.trajectory
    if before is None or after is None or whole is None:
        return now
    anew = {name: getattr(after, name) for name in _AT_THE_END if getattr(after, name) != getattr(before, name)}
    steps = (*whole.steps, *after.steps[len(before.steps) :])
    times = (*whole.invocations, *after.invocations[len(before.invocations) :])
    trajectory = msgspec.structs.replace(whole, steps=steps, invocations=times, **anew)
    return msgspec.structs.replace(sample, trajectory=trajectory)


def _take(row: dict[str, Any], path: list[str]) -> tuple[dict[str, Any], Any]:
    """A row without the value at a path, and that value; objects left empty by this are dropped."""
    first, *inner = path
    if first not in row or (inner and not isinstance(row[first], dict)):
        return row, None
    found, left = row[first], None
    if inner:
        left, found = _take(row[first], inner)
    bare = {key: value for key, value in row.items() if key != first}
    return ({**bare, first: left} if left else bare), found


def _put(row: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    first, *inner = path
    if not inner:
        return {**row, first: value}
    around = row.get(first)
    return {**row, first: _put(object_of(around), inner, value)}
