"""Weigh: what of a sample the row that was written for it says, read back as anybody would read it.

Three readings are held against each other: the sample, the row, and the row as the target's own tools see it (without
the corners that only pantrace reads). What is missing in the second is lost; what is missing only in the third is kept
for pantrace alone. Both are weighed by values, so that an absent step weighs what it held, for every target alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pantrace.errors import ReadError, WriteError
from pantrace.formats import Format
from pantrace.model import Loss
from pantrace.wire.align import Plain
from pantrace.wire.carried import CARRIER, without_carried
from pantrace.wire.json import decode, encode
from pantrace.wire.loss import MISSING, Found, as_loss, differences, general, plain, weight
from pantrace.wire.written import Row

from .loss_report import Report

_MARK = f'"{CARRIER}":'.encode()


def weigh_row(
    row: Row, format_: Format, report: Report, on_read: Callable[[Plain], None], *, full: bool
) -> Iterator[Loss]:
    """Losses of one sample; counts what it held and what is carried, and shows what was read back. `full`: with the
    values that were lost."""
    if format_.load is None:
        return
    before = plain(row.sample)
    report.values += weight(before)
    try:
        read_back = format_.load(decode(row.data))
    except ReadError as error:
        message = f"sample {row.sample.id}: what was written as {format_.name} cannot be read back: {error}"
        raise WriteError(message) from None
    on_read(after := plain(read_back))
    found = [each for each in _difference(before, after) if not each.path.startswith(format_.outside)]
    yield from (as_loss(each, format_.lost, format_.name, row.sample.id, full=full) for each in found)
    if format_.corners and _MARK in row.data:
        lost = {each.path for each in found}
        for each in _seen_difference(before, row, format_):
            if each.what in MISSING and each.path not in lost:
                report.carried[general(each.path)] += each.values


def _difference(before: Plain, after: Plain) -> list[Found]:
    return [] if encode(before) == encode(after) else list(differences(before, after))


def _seen_difference(before: Plain, row: Row, format_: Format) -> list[Found]:
    """What the target's own tools do not see; all of it where they could not read the row at all."""
    assert format_.load is not None
    try:
        seen = format_.load(without_carried(decode(row.data), format_.corners))
    except (ReadError, KeyError, TypeError, ValueError, AttributeError):
        return [Found("sample", "absent", weight(before))]
    return _difference(before, plain(seen))
