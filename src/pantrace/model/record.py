"""The settings that all structs of the model share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A frozen struct. A field that equals its default is not written; an unknown key is an error, never dropped."""


class PartRecord(Record, frozen=True, kw_only=True, gc=False, tag_field="type"):
    """A part of a step; `type` says of which kind. Parts contain no cycles, so the garbage collector can skip them."""


Number = int | float
"""A number as the source wrote it. If the type were `float`, 1 would come back from a file as 1.0."""

Count = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
"""A whole number that every JSON tool reads exactly: larger ones lose digits where numbers are floats."""

Seconds = Count | float
"""A time or duration as the source wrote it, bounded: Python cannot subtract a float from an integer of 400 digits."""

Extra = dict[str, Any]
"""Data that the model has no field for, kept under the name of its format: {"opencode": {...}}."""


# A descriptor without an annotation: msgspec would take an annotated attribute for a field of the struct.
class DatetimeView:
    """A time of a struct as a `datetime` in UTC; None if there is no time, or one beyond `datetime`'s years."""

    def __init__(self, field: str):
        self._field = field

    def __get__(self, record: object, _: type) -> datetime | None:
        seconds = getattr(record, self._field)
        try:
            return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        # For a time outside of `datetime`'s years; which of the three is raised depends on the platform.
        except (ValueError, OverflowError, OSError):
            return None
