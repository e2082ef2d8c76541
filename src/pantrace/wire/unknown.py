"""Unknown keys: what a JSON object says beyond the struct that it is read as, kept in the `extra` of that struct."""

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
    """The keys that there are."""


Tell = Callable[[UnknownKey], None]


def with_unknown(raw: Any, kind: type[T], name: str, tell: Tell = lambda _: None) -> T:
    """Plain data as a struct, its unknown keys under `extra[name]`, each at its own level; structs that have no `extra`
    hand theirs to the one that holds them. msgspec.ValidationError for what does not fit."""
    found, _ = _moved(raw, _shape(kind), name, "", tell)
    return as_kind(found, kind)


@cache
def _shape(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _moved(
    value: Any, shape: Any, name: str, place: str, tell: Callable[[UnknownKey], None]
) -> tuple[Any, dict[str, Any]]:
    """A value with its unknown keys in `extra`, and those for which there was none."""
    if isinstance(shape, inspect.UnionType):
        shape = _member(value, shape)
    if isinstance(shape, inspect.StructType):
        return _moved_in_struct(value, shape, name, place, tell)
    left: dict[str, Any] = {}
    pairs: list[tuple[Any, str, Any]] = []
    if isinstance(shape, inspect.VarTupleType) and isinstance(value, list):
        pairs = [(number, f"{place}[{number}]", shape.item_type) for number in range(len(value))]
    elif isinstance(shape, inspect.DictType) and isinstance(value, dict):
        pairs = [(key, f"{place}.{key}", shape.value_type) for key in value]
    copy = value
    for key, where, inner in pairs:
        new, rest = _moved(value[key], inner, name, where, tell)
        if new is not value[key]:
            copy = value.copy() if copy is value else copy
            copy[key] = new
        left |= {f"{key}.{one}": other for one, other in rest.items()}
    return copy, left


def _member(value: Any, union: inspect.UnionType) -> Any:
    """The struct, list or mapping that a value of a union is meant to be; None where it is none of them."""
    for each in union.types:
        if isinstance(each, inspect.StructType):
            if isinstance(value, dict) and (each.tag_field is None or value.get(each.tag_field) == each.tag):
                return each
        elif isinstance(each, inspect.VarTupleType if isinstance(value, list) else inspect.DictType):
            return each
    return None


def _moved_in_struct(
    value: Any, shape: inspect.StructType, name: str, place: str, tell: Tell
) -> tuple[Any, dict[str, Any]]:
    if not isinstance(value, dict):
        return value, {}
    known = {field.encode_name: field.type for field in shape.fields}
    found: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for key, each in value.items():
        if key in known:
            found[key], left = _moved(each, known[key], name, f"{place}.{key}" if place else key, tell)
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
    if not unknown or "extra" not in known or not isinstance(mine, dict):
        return found, unknown
    found["extra"] = {**extra, name: {**mine, **unknown}}
    return found, {}
