"""Fitting: a record that is not as its shape demands, set right as far as the shape tells how.

What must be there and is missing gets its default, what is of another kind is told in the demanded one (any value can
be text), and what cannot be is left out. `wire.mending` is told of each. A shape may say more by `mend`.
"""

from __future__ import annotations

from typing import Any

from .json import encode
from .mending import mended
from .shape import Document, Each, Mend, OneOf, is_essential, violations

LEFT_OUT: Any = object()
"""In place of a value that nothing can be made of."""


def fit(value: Any, shape: Any, place: str = "") -> Any:
    """The value as its shape demands, or LEFT_OUT; the same object where nothing is wrong."""
    wrong = next((each for each in violations(value, shape) if each.level == "error"), None)
    if wrong is None:
        return value
    if isinstance(shape, Mend):
        if shape.how is None or (shape.when(value) if shape.when is not None else _is_near(value, shape.shape)):
            return fit(value, shape.shape, place)
        mended(place, shape.what)
        return fit(shape.how(value), shape.shape, place)
    if isinstance(shape, tuple):
        near = next((each for each in shape if each is not None and _is_near(value, each)), None)
        if near is None and str in shape and value is not None:
            near = str
        return fit(value, near, place) if near is not None else _left_out(place, wrong.message)
    if isinstance(shape, dict) and isinstance(value, dict):
        return _fit_object(value, shape, place)
    if isinstance(shape, Each) and isinstance(value, dict):
        return _fit_values(value, dict.fromkeys(value, shape.shape), place)
    if isinstance(shape, list) and isinstance(value, list):
        items = [fit(item, shape[0], f"{place}[{number}]") for number, item in enumerate(value)]
        return [item for item in items if item is not LEFT_OUT]
    if isinstance(shape, OneOf) and shape.otherwise is not None:
        mended(place, f"is `{shape.otherwise}` now")
        return shape.otherwise
    if shape is str and value is not None:
        mended(place, "is text now")
        return as_text(value)
    return _left_out(place, wrong.message)


def as_text(value: Any) -> str:
    """A value in words; JSON where it is none."""
    return value if isinstance(value, str) else encode(value).decode("utf-8", "replace")


def _left_out(place: str, why: str) -> Any:
    mended(place, f"{why}: left out")
    return LEFT_OUT


def _is_near(value: Any, shape: Any) -> bool:
    """Whether a value is of the kind that a shape begins with, so that it can be set right inside."""
    if isinstance(shape, Mend):
        return _is_near(value, shape.shape)
    if isinstance(shape, tuple):
        return any(_is_near(value, each) for each in shape if each is not None)
    kinds = {dict: dict, Each: dict, list: list}
    return shape is type(value) or isinstance(value, kinds.get(type(shape), ()))


def _fit_object(value: dict[str, Any], shape: dict[str, Any], place: str) -> Any:
    known = {key.removesuffix("?"): inner for key, inner in shape.items()}
    found = _fit_values(value, {key: inner for key, inner in known.items() if key in value}, place)
    for key, inner in known.items():
        if key in shape and key not in found and not isinstance(inner, Document):
            if is_essential(inner):
                return _left_out(place, f"has no {key}")
            where = f"{place}.{key}" if place else key
            mended(where, "was missing")
            found[key] = fit(_default(inner, where), inner, where)
    return found


def _fit_values(value: dict[str, Any], shapes: dict[str, Any], place: str) -> dict[str, Any]:
    found = dict(value)
    for key, shape in shapes.items():
        found[key] = fit(value[key], shape, f"{place}.{key}" if place else key)
    return {key: item for key, item in found.items() if item is not LEFT_OUT}


def _default(shape: Any, place: str) -> Any:
    """What stands for nothing."""
    if isinstance(shape, Mend):
        given = shape.default(place) if callable(shape.default) else shape.default
        return _default(shape.shape, place) if given is None else given
    if isinstance(shape, tuple):
        return _default(shape[0], place)
    if isinstance(shape, OneOf):
        return shape.otherwise or shape.values[0]
    if isinstance(shape, (dict, Each)):
        return {}
    return [] if isinstance(shape, list) else {str: "", dict: {}, list: [], int: 0, float: 0}.get(shape)
