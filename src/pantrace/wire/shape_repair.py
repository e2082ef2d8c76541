"""Repair a record that does not match its shape, as far as the shape says how.

A required value that is missing gets its default, a value of the wrong kind is converted (any value can be text), and
one that cannot be converted is left out. Each repair is reported to `wire.repairs`. A shape can define more with
`repairable`.
"""

from __future__ import annotations

from typing import Any

from .json import text_or_json
from .repairs import note_repair
from .shape import Document, Each, OneOf, Repairable, is_essential, violations

LEFT_OUT: Any = object()
"""Returned for a value that cannot be repaired."""


def repair_value(value: Any, shape: Any, place: str = "") -> Any:
    """The value as its shape requires, or LEFT_OUT; the same object if nothing is wrong."""
    wrong = next((each for each in violations(value, shape) if each.level == "error"), None)
    if wrong is None:
        return value
    if isinstance(shape, Repairable):
        # A value of the right kind needs no conversion; it is repaired inside.
        if shape.how is None or (shape.when(value) if shape.when is not None else _is_near(value, shape.shape)):
            return repair_value(value, shape.shape, place)
        note_repair(place, shape.what)
        return repair_value(shape.how(value), shape.shape, place)
    if isinstance(shape, tuple):
        near = next((each for each in shape if each is not None and _is_near(value, each)), None)
        # Text is the last resort: it fits any value, so it would hide a better match.
        if near is None and str in shape and value is not None:
            near = str
        return repair_value(value, near, place) if near is not None else _leave_out(place, wrong.message)
    if isinstance(shape, dict) and isinstance(value, dict):
        return _repair_object(value, shape, place)
    if isinstance(shape, Each) and isinstance(value, dict):
        return _repair_values(value, dict.fromkeys(value, shape.shape), place)
    if isinstance(shape, list) and isinstance(value, list):
        items = [repair_value(item, shape[0], f"{place}[{number}]") for number, item in enumerate(value)]
        return [item for item in items if item is not LEFT_OUT]
    if isinstance(shape, OneOf) and shape.otherwise is not None:
        note_repair(place, f"is `{shape.otherwise}` now")
        return shape.otherwise
    if shape is str and value is not None:
        note_repair(place, "is text now")
        return text_or_json(value)
    return _leave_out(place, wrong.message)


def _leave_out(place: str, why: str) -> Any:
    note_repair(place, f"{why}: left out")
    return LEFT_OUT


def _is_near(value: Any, shape: Any) -> bool:
    """Whether a value is of the kind that a shape starts with, so that it can be repaired inside."""
    if isinstance(shape, Repairable):
        return _is_near(value, shape.shape)
    if isinstance(shape, tuple):
        return any(_is_near(value, each) for each in shape if each is not None)
    kinds = {dict: dict, Each: dict, list: list}
    return shape is type(value) or isinstance(value, kinds.get(type(shape), ()))


def _repair_object(value: dict[str, Any], shape: dict[str, Any], place: str) -> Any:
    known = {key.removesuffix("?"): inner for key, inner in shape.items()}
    found = _repair_values(value, {key: inner for key, inner in known.items() if key in value}, place)
    for key, inner in known.items():
        # Only required keys; what the specification alone asks for is not invented.
        if key in shape and key not in found and not isinstance(inner, Document):
            if is_essential(inner):
                return _leave_out(place, f"has no {key}")
            where = f"{place}.{key}" if place else key
            note_repair(where, "was missing")
            found[key] = repair_value(_default(inner, where), inner, where)
    return found


def _repair_values(value: dict[str, Any], shapes: dict[str, Any], place: str) -> dict[str, Any]:
    found = dict(value)
    for key, shape in shapes.items():
        found[key] = repair_value(value[key], shape, f"{place}.{key}" if place else key)
    return {key: item for key, item in found.items() if item is not LEFT_OUT}


def _default(shape: Any, place: str) -> Any:
    """The value that replaces a missing one."""
    if isinstance(shape, Repairable):
        given = shape.default(place) if callable(shape.default) else shape.default
        return _default(shape.shape, place) if given is None else given
    if isinstance(shape, tuple):
        return _default(shape[0], place)
    if isinstance(shape, OneOf):
        return shape.otherwise or shape.values[0]
    if isinstance(shape, (dict, Each)):
        return {}
    return [] if isinstance(shape, list) else {str: "", dict: {}, list: [], int: 0, float: 0}.get(shape)
