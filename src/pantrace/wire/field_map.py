"""Field maps: which key of a foreign record is which field of a struct, stated once for reading and writing.

A map reads a record into a struct and writes it back. Unknown keys, and values of the wrong type, are kept in the
struct's `extra` under the name of the format and written back from there: a reader made of maps cannot forget a key.
Validation uses the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, NamedTuple, TypeGuard, TypeVar

import msgspec

from pantrace.errors import ReadError

from .extra_keys import rest_in
from .times import from_iso, from_milliseconds, iso_short

T = TypeVar("T", bound=msgspec.Struct)


class _Odd(NamedTuple):
    """A value that would be written differently from how it was read, so the original is kept as well."""

    value: Any


MISFIT: Any = object()
"""Returned by a codec for a value of the wrong type; the value is kept unchanged."""


class Codec(NamedTuple):
    """How a value is read and written, and what it must look like."""

    load: Callable[[Any], Any]
    dump: Callable[[Any], Any]
    shape: Any


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number that a float can hold. JSON may have larger integers; metrics and writers would fail
    on them, so they are kept like any value of the wrong type."""
    if isinstance(value, int):
        return not isinstance(value, bool) and value.bit_length() < 1000
    return isinstance(value, float)


def _as_it_is(value: Any) -> Any:
    return value


def _of(*kinds: type, shape: Any) -> Codec:
    def load(value: Any) -> Any:
        # A bool is an int in Python; `true` is no count.
        fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
        return value if fits else MISFIT

    return Codec(load, _as_it_is, shape)


def _found(at: float | None) -> Any:
    return MISFIT if at is None else at


def _or_misfit(at: float | None) -> Any:
    return MISFIT if at is None else at


def _time(text: Any) -> Any:
    at = from_iso(text)
    if at is None:
        return MISFIT
    return at if iso_short(at) == text else _Odd(at)


def _time_text(at: float) -> str | None:
    try:
        return iso_short(at)
    except (ValueError, OverflowError, OSError):
        return None  # beyond the years that a calendar has


TEXT = _of(str, shape=str)
INTEGER = _of(int, shape=int)
NUMBER = _of(int, float, shape=float)
OBJECT = _of(dict, shape=dict)
ANYTHING = Codec(_as_it_is, _as_it_is, object)
TIME = Codec(_time, _time_text, str)
"""ISO 8601, as seconds."""
MOMENT = Codec(lambda text: _or_misfit(from_iso(text)), _time_text, str)
MILLISECONDS = Codec(lambda value: _or_misfit(from_milliseconds(value)), lambda at: at * 1000, float)
"""Times of formats that are only read, which need not know how a time was spelled."""


class FieldMap(Generic[T]):
    """Maps the keys of one kind of record to the fields of one kind of struct."""

    def __init__(self, owner: str, kind: type[T], fields: Mapping[str, tuple[str, Codec]]):
        self.owner = owner
        self.kind = kind
        self.fields = fields
        self._needed = {each.name for each in msgspec.structs.fields(kind) if each.required}
        self._keys = {name: key for key, (name, _) in fields.items()}

    def load(self, raw: Any, taken: Collection[str] = (), /, **given: Any) -> T:
        """A record as a struct. `taken`: keys that the caller reads itself; `given`: fields it has already."""
        if not isinstance(raw, dict):
            raise ReadError(f"{_type_name(self.kind)} must be an object, not {str(raw)[:40]!r}")
        rest: dict[str, Any] = {}
        for key, value in raw.items():
            # Null counts as absent in all formats that are read this way.
            if value is None or key in taken:
                continue
            name, codec = self.fields.get(key, (None, None))
            found = codec.load(value) if codec is not None else MISFIT
            if found is MISFIT or isinstance(found, _Odd):
                rest[key] = value
            if name is not None and found is not MISFIT:
                plain = found.value if isinstance(found, _Odd) else found
                # A field that the caller gives takes precedence, as does the first of two keys; the other is kept.
                if given.setdefault(name, plain) != plain:
                    rest[key] = value
        for name in self._needed - given.keys():
            # The source's key, not our field: that is what the user can look for.
            raise ReadError(f"{_type_name(self.kind)} needs {self._keys.get(name, name)}")
        if rest:
            extra = given.get("extra", {})
            given["extra"] = {**extra, self.owner: {**rest_in(extra, self.owner), **rest}}
        return self.kind(**given)

    def dump(self, record: T, *without: str) -> dict[str, Any]:
        """A struct as a record, with what `extra` kept. `without`: notes in `extra` that are not keys."""
        # Written first, so that an original spelling in `extra` replaces the value computed from the field.
        row = {
            key: written
            for key, (name, codec) in self.fields.items()
            if (value := getattr(record, name)) is not None and (written := codec.dump(value)) is not None
        }
        rest = rest_in(getattr(record, "extra", {}), self.owner)
        return row | {key: value for key, value in rest.items() if key not in without}

    def shape(self, *needed: str, **more: Any) -> dict[str, Any]:
        """What a record must look like (`wire.shape`). `more`: keys that the caller reads itself."""
        known = {key: codec.shape for key, (_, codec) in self.fields.items() if codec.shape is not object}
        return {key if key in needed else f"{key}?": shape for key, shape in {**known, **more}.items()}


def _type_name(kind: type) -> str:
    return {"ToolCall": "a tool call", "ToolResult": "a result", "Step": "a step"}.get(
        kind.__name__, kind.__name__.lower()
    )
