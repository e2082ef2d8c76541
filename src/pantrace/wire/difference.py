"""Differences between two values of the model: what a foreign format could not say, kept as a patch.

A writer says what its format can say, reads that back, and keeps the difference in a free field of the format; its
reader applies it again. A difference is one of `{"=": value}` (replaced), `{"-": true}` (not there),
`{"d": {key: difference}}` (inside an object), `{"l": {index: difference}, "n": length}` (inside a list) and
`{"a": [index | [index, difference] | {"=": value}], "n": length}` (a list put together anew).
Its second spelling, `as_places`, is a list of `[path, value]` (replaced) and `[path]` (not there).

Other programs may change the record in between. Where a difference no longer fits it is left out, so that the record
stays readable: a list that has become shorter, an object that is gone. Places do not tell how long a list was: with
them the whole record is checked again, and what does not fit is an error.
"""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Sample

from .json import as_kind, to_plain
from .unknown_keys import with_unknown
from .upgrade import upgrade

T = TypeVar("T")

SAME: Any = None
"""No difference."""


class Comparing(NamedTuple):
    """What counts as a difference, by the names of fields."""

    ignored: frozenset[str] = frozenset()
    """Not compared."""
    data: frozenset[str] = frozenset()
    """Hold somebody's data: brought back whole if it differs at all."""
    data_within: frozenset[str] = frozenset()
    """Hold data under each of their keys."""
    closed: frozenset[str] | None = None
    """Inside these, what was only told is taken away, elsewhere it stays; None: it is taken away everywhere."""
    numbers_by_type: bool = False
    """Whether 1 and 1.0 are two values. JSON does not tell them apart, and neither does the model."""
    paired_by: tuple[str, ...] = ()
    """Lists are compared item by item only if they hold objects that agree in their kind and in these fields."""


ALL = Comparing()
"""Everything counts."""
NOT_WHAT_IS_ADDED = Comparing(closed=frozenset())
"""What was only told may stay."""


_PLAIN = frozenset({str, int, bool, NoneType})


def difference(actual: Any, wanted: Any, rule: Comparing = ALL) -> Any:
    """What must be done to `actual` so that it becomes `wanted`; SAME when nothing that counts differs."""
    return _difference(actual, wanted, rule, None, rule.closed is None)


def _difference(actual: Any, wanted: Any, rule: Comparing, name: str | None, closed: bool) -> Any:
    # By type, because Python takes True for 1 and 1 for 1.0.
    if type(actual) is type(wanted):
        if actual == wanted:
            return SAME
        if name in rule.data:
            return {"=": _plain(wanted)}
        if isinstance(wanted, msgspec.Struct):
            return _inside_object(_fields(actual), _fields(wanted), rule, name, closed)
        if isinstance(wanted, dict):
            return _inside_object(actual, wanted, rule, name, closed)
        if isinstance(wanted, (list, tuple)) and _are_paired(actual, wanted, rule):
            pairs = enumerate(zip(actual, wanted, strict=True))
            found = {str(index): _difference(one, other, rule, None, closed) for index, (one, other) in pairs}
            found = {index: each for index, each in found.items() if each is not SAME}
            return {"l": found, "n": len(wanted)} if found else SAME
        if isinstance(wanted, tuple) and not rule.paired_by and _are_of_several_kinds(actual, wanted):
            return _rebuild_list(actual, wanted, rule, closed)
    elif not rule.numbers_by_type and _is_number(actual) and _is_number(wanted) and actual == wanted:
        return SAME
    return {"=": _plain(wanted)}


def _are_paired(actual: Any, wanted: Any, rule: Comparing) -> bool:
    """Whether two lists can be compared item by item."""
    if len(actual) != len(wanted):
        return False
    # Lists of equal length are compared by place.
    if not rule.paired_by:
        return True
    for one, other in zip(actual, wanted, strict=True):
        if type(one) is not type(other) or not isinstance(one, (msgspec.Struct, dict)):
            return False
        if one is not other and any(_field(one, name) != _field(other, name) for name in rule.paired_by):
            return False
    return True


def _are_of_several_kinds(actual: Any, wanted: Any) -> bool:
    """Whether an item's type tells what it corresponds to: true of a step's parts, not of steps."""
    kinds = {type(each) for each in (*actual, *wanted)}
    return len(kinds) > 1 and all(issubclass(kind, msgspec.Struct) for kind in kinds)


def _rebuild_list(actual: Any, wanted: Any, rule: Comparing, closed: bool) -> Any:
    """The difference of two lists of different length. Each item is the next one of its type, changed or not, or is
    new. That keeps large parts such as pictures from being written twice."""
    entries: list[Any] = []
    start = 0
    for item in wanted:
        place = next((index for index in range(start, len(actual)) if type(actual[index]) is type(item)), None)
        if place is None:
            entries.append({"=": _plain(item)})
            continue
        change = _difference(actual[place], item, rule, None, closed)
        entries.append(place if change is SAME else [place, change])
        start = place + 1
    return {"a": entries, "n": len(actual)}


def _field(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, dict) else getattr(record, name, None)


def _plain(value: Any) -> Any:
    return value if type(value) in _PLAIN else to_plain(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _fields(record: msgspec.Struct) -> dict[str, Any]:
    info = zip(record.__struct_fields__, _defaults(type(record)), strict=True)
    return {
        name: value
        for name, default in info
        if (value := getattr(record, name)) != default or type(value) is not type(default)
    }


@cache
def _defaults(kind: type[msgspec.Struct]) -> list[Any]:
    found = []
    for field in msgspec.structs.fields(kind):
        if field.default_factory is not msgspec.NODEFAULT:
            found.append(field.default_factory())
        else:
            found.append(field.default)
    return found


def _inside_object(
    actual: dict[str, Any], wanted: dict[str, Any], rule: Comparing, name: str | None, closed: bool
) -> Any:
    found: dict[str, Any] = {}
    whole, closing = name in rule.data_within, rule.closed or ()
    for key, value in wanted.items():
        if key in rule.ignored:
            continue
        if key not in actual:
            found[key] = {"=": _plain(value)}
            continue
        other = actual[key]
        if other is value or (type(other) is type(value) and other == value):
            continue
        inner = {"=": _plain(value)} if whole else _difference(other, value, rule, key, closed or key in closing)
        if inner is not SAME:
            found[key] = inner
    for key in actual:
        if key not in wanted and (closed or key in closing):
            found[key] = {"-": True}
    return {"d": found} if found else SAME


# All that a patch raises when the record it was made for has been edited by hand.
_MISFITS = (KeyError, IndexError, ValueError, TypeError, AttributeError)

Place = list[Any]
"""[path, value], or [path] for what is not there; a path is a list of keys and indices."""


def as_places(change: Any) -> list[Place]:
    """A difference in its second spelling, a list of places; empty for SAME. Places cannot express a rebuilt list, so
    this is only for rules with `paired_by`, which replace such a list."""
    places: list[Place] = []
    if change is not SAME:
        _add_places(places, change, [])
    return places


def _add_places(places: list[Place], change: Any, path: list[str | int]) -> None:
    ((kind, inner), *_) = change.items()
    if kind == "=":
        places.append([path, inner])
    elif kind == "-":
        places.append([path])
    else:
        for key, each in inner.items():
            _add_places(places, each, [*path, key if kind == "d" else int(key)])


def apply_difference(record: T, change: Any) -> T:
    """A record with a difference applied, in either spelling. ReadError if it does not fit, msgspec.ValidationError if
    a place gets a value of the wrong type."""
    if isinstance(change, list):
        whole: T = _convert(with_places(to_plain(record), change), type(record))
        return _upgraded_extra(whole)
    try:
        result: T = _apply(record, change, type(record))
    except _MISFITS as error:
        raise ReadError(f"the remainder that pantrace wrote is broken: {error}") from None
    return _upgraded_extra(result)


def _convert(plain: Any, kind: Any) -> Any:
    """Plain data as a value of the model; keys that only an older version of the model knew go to `extra`."""
    try:
        return as_kind(plain, kind)
    except msgspec.ValidationError:
        return with_unknown(plain, kind, "native")


def _upgraded_extra(record: T) -> T:
    return cast("T", upgrade(record)) if isinstance(record, Sample) else record


def with_places(plain: Any, places: list[Place]) -> Any:
    """A plain value with places applied, changed in place. ReadError if they do not fit."""
    try:
        for path, *new in places:
            inner = plain
            for key in path[:-1]:
                inner = inner.setdefault(key, {}) if isinstance(inner, dict) else inner[key]
            if new:
                inner[path[-1]] = new[0]
            else:
                inner.pop(path[-1], None)
    except _MISFITS:
        raise ReadError("the pantrace notes in it do not match the record", remedy="was it edited by hand?") from None
    return plain


def _apply(value: Any, change: Any, kind: Any) -> Any:
    """A value with a difference applied; only what the difference touches is copied."""
    if "=" in change:
        return _convert(change["="], kind)
    if "d" in change and isinstance(value, msgspec.Struct):
        fields = _types(type(value))
        return msgspec.structs.replace(
            value,
            **{
                name: fields[name][1] if "-" in inner else _apply(getattr(value, name), inner, fields[name][0])
                for name, inner in change["d"].items()
                if name in fields
            },
        )
    if "d" in change:
        if not isinstance(value, dict):
            return value
        result = dict(value)
        for key, inner in change["d"].items():
            if "-" in inner:
                result.pop(key, None)
            else:
                result[key] = _apply(result.get(key), inner, _item(kind))
        return result
    # Another program has shortened the list: indices would point at other items now.
    if not isinstance(value, (list, tuple)) or len(value) < change["n"]:
        return value
    if "a" in change:
        return type(value)(_entry(value, entry, _item(kind)) for entry in change["a"])
    items = list(value)
    for index, inner in change["l"].items():
        items[int(index)] = _apply(items[int(index)], inner, _item(kind))
    return type(value)(items)


def _entry(actual: Any, entry: Any, kind: Any) -> Any:
    if isinstance(entry, dict):
        return _convert(entry["="], kind)
    place, *change = entry if isinstance(entry, list) else [entry]
    return _apply(actual[place], change[0], kind) if change else actual[place]


@cache
def _types(kind: type[msgspec.Struct]) -> dict[str, tuple[Any, Any]]:
    """The type and default of each field."""
    fields = msgspec.structs.fields(kind)
    return {field.name: (field.type, default) for field, default in zip(fields, _defaults(kind), strict=True)}


@cache
def _item(kind: Any) -> Any:
    """What a list, tuple or dictionary of this type holds; Any if the type does not say."""
    for each in (kind, *get_args(kind)):
        if get_origin(each) in (tuple, list):
            return get_args(each)[0]
        if get_origin(each) is dict:
            return get_args(each)[1]
    return Any
