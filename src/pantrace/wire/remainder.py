"""The remainder: what a foreign format has no word for, as the difference between two values of the model.

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
from .unknown import with_unknown
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


def difference(told: Any, meant: Any, rule: Comparing = ALL) -> Any:
    """What must be done to `told` so that it becomes `meant`; SAME when nothing that counts differs."""
    return _difference(told, meant, rule, None, rule.closed is None)


def _difference(told: Any, meant: Any, rule: Comparing, name: str | None, closed: bool) -> Any:
    if type(told) is type(meant):
        if told == meant:
            return SAME
        if name in rule.data:
            return {"=": _plain(meant)}
        if isinstance(meant, msgspec.Struct):
            return _inside_object(_fields(told), _fields(meant), rule, name, closed)
        if isinstance(meant, dict):
            return _inside_object(told, meant, rule, name, closed)
        if isinstance(meant, (list, tuple)) and _are_paired(told, meant, rule):
            pairs = enumerate(zip(told, meant, strict=True))
            found = {str(index): _difference(one, other, rule, None, closed) for index, (one, other) in pairs}
            found = {index: each for index, each in found.items() if each is not SAME}
            return {"l": found, "n": len(meant)} if found else SAME
        if isinstance(meant, tuple) and not rule.paired_by and _are_of_several_kinds(told, meant):
            return _put_together(told, meant, rule, closed)
    elif not rule.numbers_by_type and _is_number(told) and _is_number(meant) and told == meant:
        return SAME
    return {"=": _plain(meant)}


def _are_paired(told: Any, meant: Any, rule: Comparing) -> bool:
    """Whether the items of two lists stand for each other."""
    if len(told) != len(meant):
        return False
    if not rule.paired_by:
        return True
    for one, other in zip(told, meant, strict=True):
        if type(one) is not type(other) or not isinstance(one, (msgspec.Struct, dict)):
            return False
        if one is not other and any(_field(one, name) != _field(other, name) for name in rule.paired_by):
            return False
    return True


def _are_of_several_kinds(told: Any, meant: Any) -> bool:
    """Whether the kind of an item tells what it stands for: true of the parts of a step, not of steps."""
    kinds = {type(each) for each in (*told, *meant)}
    return len(kinds) > 1 and all(issubclass(kind, msgspec.Struct) for kind in kinds)


def _put_together(told: Any, meant: Any, rule: Comparing, closed: bool) -> Any:
    """A list of another length: each item is the next of its kind that was told, changed or not, or is new. Pictures
    lie in such lists, which nobody wants twice in a file."""
    entries: list[Any] = []
    start = 0
    for item in meant:
        place = next((index for index in range(start, len(told)) if type(told[index]) is type(item)), None)
        if place is None:
            entries.append({"=": _plain(item)})
            continue
        change = _difference(told[place], item, rule, None, closed)
        entries.append(place if change is SAME else [place, change])
        start = place + 1
    return {"a": entries, "n": len(told)}


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


def _inside_object(told: dict[str, Any], meant: dict[str, Any], rule: Comparing, name: str | None, closed: bool) -> Any:
    found: dict[str, Any] = {}
    whole, closing = name in rule.data_within, rule.closed or ()
    for key, value in meant.items():
        if key in rule.ignored:
            continue
        if key not in told:
            found[key] = {"=": _plain(value)}
            continue
        other = told[key]
        if other is value or (type(other) is type(value) and other == value):
            continue
        inner = {"=": _plain(value)} if whole else _difference(other, value, rule, key, closed or key in closing)
        if inner is not SAME:
            found[key] = inner
    for key in told:
        if key not in meant and (closed or key in closing):
            found[key] = {"-": True}
    return {"d": found} if found else SAME


_MISFITS = (KeyError, IndexError, ValueError, TypeError, AttributeError)

Place = list[Any]
"""[path, value], or [path] for what is not there; a path is a list of keys and indices."""


def as_places(change: Any) -> list[Place]:
    """A difference in its second spelling, a list of places; an empty list for SAME. It has no word for a list that is
    put together anew: only for rules with `paired_by`, which replace such a list."""
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
    """A record of the model with a difference applied, in either spelling; ReadError when it does not fit,
    msgspec.ValidationError when a place is given a value that cannot stand there."""
    if isinstance(change, list):
        whole: T = _converted(with_places(to_plain(record), change), type(record))
        return _of_today(whole)
    try:
        result: T = _changed(record, change, type(record))
    except _MISFITS as error:
        raise ReadError(f"the remainder that pantrace wrote is broken: {error}") from None
    return _of_today(result)


def _converted(plain: Any, kind: Any) -> Any:
    """Plain data as a value of the model; keys that only an older version of it knew are kept in `extra`."""
    try:
        return as_kind(plain, kind)
    except msgspec.ValidationError:
        return with_unknown(plain, kind, "native")


def _of_today(record: T) -> T:
    return cast("T", upgrade(record)) if isinstance(record, Sample) else record


def with_places(plain: Any, places: list[Place]) -> Any:
    """A plain value with places applied; changes the value it is given. ReadError when they do not fit."""
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
        raise ReadError("the pantrace notes in it do not fit the record", remedy="was it edited by hand?") from None
    return plain


def _changed(value: Any, change: Any, kind: Any) -> Any:
    """Only what the difference touches is made anew."""
    if "=" in change:
        return _converted(change["="], kind)
    if "d" in change and isinstance(value, msgspec.Struct):
        fields = _types(type(value))
        return msgspec.structs.replace(
            value,
            **{
                name: fields[name][1] if "-" in inner else _changed(getattr(value, name), inner, fields[name][0])
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
                result[key] = _changed(result.get(key), inner, _item(kind))
        return result
    if not isinstance(value, (list, tuple)) or len(value) < change["n"]:
        return value
    if "a" in change:
        return type(value)(_entry(value, entry, _item(kind)) for entry in change["a"])
    items = list(value)
    for index, inner in change["l"].items():
        items[int(index)] = _changed(items[int(index)], inner, _item(kind))
    return type(value)(items)


def _entry(told: Any, entry: Any, kind: Any) -> Any:
    if isinstance(entry, dict):
        return _converted(entry["="], kind)
    place, *change = entry if isinstance(entry, list) else [entry]
    return _changed(told[place], change[0], kind) if change else told[place]


@cache
def _types(kind: type[msgspec.Struct]) -> dict[str, tuple[Any, Any]]:
    """Type and default of each field."""
    fields = msgspec.structs.fields(kind)
    return {field.name: (field.type, default) for field, default in zip(fields, _defaults(kind), strict=True)}


@cache
def _item(kind: Any) -> Any:
    """What a list, tuple or dictionary of this type holds; Any where it does not say."""
    for each in (kind, *get_args(kind)):
        if get_origin(each) in (tuple, list):
            return get_args(each)[0]
        if get_origin(each) is dict:
            return get_args(each)[1]
    return Any
