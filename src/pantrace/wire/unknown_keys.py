"""Unknown keys of a JSON object, kept in the `extra` of the struct that it is read as."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from .json import as_kind

T = TypeVar("T", bound=msgspec.Struct)


class UnknownKey(NamedTuple):
    """A key that a struct has no field for."""

    place: str
    """Path of the object that has it: "trajectory.steps[3]"; empty for the outermost."""
    key: str
    known: tuple[str, ...]
    """The known keys, for a suggestion."""


Tell = Callable[[UnknownKey], None]


def with_unknown(raw: Any, kind: type[T], name: str, tell: Tell = lambda _: None) -> T:
    """Plain data as a struct, with unknown keys under `extra[name]` at each level; a struct without `extra` passes them
    to the one around it. msgspec.ValidationError if the data does not fit."""
    found, _ = _move_unknown(raw, _shape(kind), name, "", tell)
    return as_kind(found, kind)


@cache
def _shape(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _move_unknown(
    value: Any, shape: Any, name: str, place: str, tell: Callable[[UnknownKey], None]
) -> tuple[Any, dict[str, Any]]:
    """A value with its unknown keys moved to `extra`, and those that found no `extra`."""
    if isinstance(shape, inspect.UnionType):
        shape = _member(value, shape)
    if isinstance(shape, inspect.StructType):
        return _move_in_struct(value, shape, name, place, tell)
    left: dict[str, Any] = {}
    pairs: list[tuple[Any, str, Any]] = []
    if isinstance(shape, inspect.VarTupleType) and isinstance(value, list):
        pairs = [(number, f"{place}[{number}]", shape.item_type) for number in range(len(value))]
    elif isinstance(shape, inspect.DictType) and isinstance(value, dict):
        pairs = [(key, f"{place}.{key}", shape.value_type) for key in value]
    copy = value
    for key, where, inner in pairs:
        new, rest = _move_unknown(value[key], inner, name, where, tell)
        if new is not value[key]:
            # Copied only if something changes: most data has no unknown keys.
            copy = value.copy() if copy is value else copy
            copy[key] = new
        left |= {f"{key}.{one}": other for one, other in rest.items()}
    return copy, left


def _member(value: Any, union: inspect.UnionType) -> Any:
    """The member of a union that a value belongs to; None if it is no struct, list or mapping of the union."""
    for each in union.types:
        if isinstance(each, inspect.StructType):
            if isinstance(value, dict) and (each.tag_field is None or value.get(each.tag_field) == each.tag):
                return each
        elif isinstance(each, inspect.VarTupleType if isinstance(value, list) else inspect.DictType):
            return each
    return None


def _move_in_struct(
    value: Any, shape: inspect.StructType, name: str, place: str, tell: Tell
) -> tuple[Any, dict[str, Any]]:
    if not isinstance(value, dict):
        return value, {}
    known = {field.encode_name: field.type for field in shape.fields}
    found: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for key, each in value.items():
        if key in known:
            found[key], left = _move_unknown(each, known[key], name, f"{place}.{key}" if place else key, tell)
            unknown |= {f"{key}.{inner}": other for inner, other in left.items()}
        elif key == shape.tag_field:
            found[key] = each
        else:
            tell(UnknownKey(place, key, tuple(known)))
            unknown[key] = each
    if not unknown and all(found[key] is value[key] for key in found):
        return value, {}
    extra = found.get("extra", {})
    mine = extra.get(name, {}) if isinstance(extra, dict) else None
    # A struct without `extra` passes its unknown keys up, with their path, so that none is lost.
    if not unknown or "extra" not in known or not isinstance(mine, dict):
        return found, unknown
    found["extra"] = {**extra, name: {**mine, **unknown}}
    return found, {}
