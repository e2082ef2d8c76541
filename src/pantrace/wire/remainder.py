"""The remainder: what a foreign format has no word for, as the difference between two values of the model.

A writer says what its format can say, reads that back, and keeps the difference in a free field of the format; its
reader applies it again. A difference is one of `{"=": value}` (replaced), `{"-": true}` (not there),
`{"d": {key: difference}}` (inside an object) and `{"l": {index: difference}, "n": length}` (inside a list).

Other programs may change the record in between. Where a difference no longer fits it is left out, so that the record
stays readable: a list that has become shorter, an object that is gone.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from pantrace.errors import ReadError

from .json import to_plain

T = TypeVar("T")

SAME: Any = None
"""No difference."""


def difference(told: Any, meant: Any, *, more: bool = False) -> Any:
    """What must be done to `told` so that it becomes `meant`; SAME when they are equal.

    With `more`, what is only in `told` may stay."""
    if type(told) is type(meant):
        if told == meant:
            return SAME
        if isinstance(meant, msgspec.Struct):
            return _inside_object(_fields(told), _fields(meant), more)
        if isinstance(meant, dict):
            return _inside_object(told, meant, more)
        if isinstance(meant, (list, tuple)) and len(told) == len(meant):
            pairs = enumerate(zip(told, meant, strict=True))
            found = {str(index): difference(one, other, more=more) for index, (one, other) in pairs}
            found = {index: each for index, each in found.items() if each is not SAME}
            return {"l": found, "n": len(meant)} if found else SAME
    elif _is_number(told) and _is_number(meant) and told == meant:
        return SAME  # JSON does not tell 1 from 1.0; neither does the model
    return {"=": to_plain(meant)}


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


def _inside_object(told: dict[str, Any], meant: dict[str, Any], more: bool) -> Any:
    found: dict[str, Any] = {}
    for key, value in meant.items():
        if key not in told:
            found[key] = {"=": to_plain(value)}
        elif (inner := difference(told[key], value, more=more)) is not SAME:
            found[key] = inner
    for key in told:
        if key not in meant and not more:
            found[key] = {"-": True}
    return {"d": found} if found else SAME


def changed(record: T, change: Any) -> T:
    """A record of the model with a difference applied; ReadError when it is none."""
    try:
        result: T = _changed(record, change, type(record))
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        raise ReadError(f"the remainder that pantrace wrote is broken: {error}") from None
    return result


def _changed(value: Any, change: Any, kind: Any) -> Any:
    """Only what the difference touches is made anew."""
    if "=" in change:
        return msgspec.convert(change["="], kind)
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
    items = list(value)
    for index, inner in change["l"].items():
        items[int(index)] = _changed(items[int(index)], inner, _item(kind))
    return type(value)(items)


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
