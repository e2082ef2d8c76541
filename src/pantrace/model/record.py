"""The settings that all structs of the model share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A frozen struct; what equals its default is left out when written, and no key is dropped in silence."""


class PartRecord(Record, frozen=True, kw_only=True, gc=False, tag_field="type"):
    """A part of a step, told apart from others by its `type`. Parts hold no cycles: the collector leaves them alone."""


Number = int | float
"""A number as the source wrote it. Named as `float` alone, 1 would come back from a file as 1.0."""

Count = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
"""A whole number that can be reckoned with: beyond these no tool counts right, and far beyond nobody can at all."""

Extra = dict[str, Any]
"""What the model has no word for, kept under the name of the format it came from: {"opencode": {...}}."""


class DatetimeView:
    """A time of a struct as a `datetime` in UTC; None where there is no time, or none that a calendar has."""

    def __init__(self, field: str):
        self._field = field

    def __get__(self, record: object, _: type) -> datetime | None:
        seconds = getattr(record, self._field)
        try:
            return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        except (ValueError, OverflowError, OSError):
            return None
