"""Shapes: what a foreign record must look like, and every place where it does not.

A shape is `str`, `int`, `float`, `bool`, `dict` (any object), `list` (any array), `ANY`, `[shape]` for an array,
`{"key": shape}` for an object (a key that ends in "?" may be missing), `each(shape)` for an object whose keys are
names, a tuple of shapes for alternatives, `None` for null, or `one_of(...)`. `document` wraps a shape that only the
specification requires: breaking it is a warning. `repairable` wraps one with a repair (`wire.shape_repair`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Violation

from .violation import error, warning


class Anything(msgspec.Struct, frozen=True):
    """Matches any value."""


class OneOf(msgspec.Struct, frozen=True):
    """Matches one of these values."""

    values: tuple[Any, ...]
    otherwise: Any = None
    """The value that replaces any other."""


class Each(msgspec.Struct, frozen=True):
    """An object with any keys, whose values all have one shape."""

    shape: Any


class Repairable(msgspec.Struct, frozen=True):
    """A shape that also says how to repair a value that does not fit."""

    shape: Any
    how: Callable[[Any], Any] | None = None
    """Converts a value to one that can be repaired further."""
    what: str = ""
    """What the report says about it: "is an object now"."""
    when: Callable[[Any], bool] | None = None
    """Whether a value can be repaired without converting it; None: if it is of the shape's kind."""
    default: Any = None
    """The value if it is missing, or a function of its place; None: the shape's own default."""
    essential: bool = False
    """Whether a record that lacks it is dropped."""


class Document(msgspec.Struct, frozen=True):
    """A requirement of the specification only; today's readers do not need it."""

    shape: Any


ANY = Anything()


def one_of(*values: Any, otherwise: Any = None) -> OneOf:
    """A closed list of values; `otherwise` replaces any other."""
    return OneOf(values, otherwise)


def each(shape: Any) -> Each:
    """An object whose values all have this shape."""
    return Each(shape)


def repairable(
    shape: Any, how: Callable[[Any], Any], what: str, when: Callable[[Any], bool] | None = None
) -> Repairable:
    """A shape to which a value of another kind can be converted."""
    return Repairable(shape, how, what, when)


def default(shape: Any, value: Any) -> Repairable:
    """A shape with a value to use if it is missing."""
    return Repairable(shape, default=value)


def essential(shape: Any) -> Repairable:
    """A shape without which the whole record is dropped."""
    return Repairable(shape, essential=True)


def is_essential(shape: Any) -> bool:
    return isinstance(shape, Repairable) and shape.essential


def document(shape: Any) -> Document:
    """A shape whose violation is only a warning."""
    return Document(shape)


_NAMES = {str: "text", int: "an integer", float: "a number", bool: "true or false", dict: "an object", list: "an array"}


def violations(value: Any, shape: Any, path: str = "") -> Iterator[Violation]:
    """Every place where a value does not match its shape."""
    if isinstance(shape, Anything):
        return
    if isinstance(shape, Document):
        for violation in violations(value, shape.shape, path):
            yield warning(violation.message, violation.place)
    elif isinstance(shape, Repairable):
        yield from violations(value, shape.shape, path)
    elif isinstance(shape, Each):
        yield from _object(value, {}, path)
        for key, item in value.items() if isinstance(value, dict) else ():
            yield from violations(item, shape.shape, f"{path}.{key}" if path else key)
    elif isinstance(shape, OneOf):
        if value not in shape.values or isinstance(value, bool) != any(value is each for each in (True, False)):
            listed = ", ".join(_short(each) for each in shape.values)
            yield _wrong(path, f"{_short(value)} is none of {listed}")
    elif isinstance(shape, tuple):
        # A key may have several legal forms in the versions of a format.
        found = [list(violations(value, each, path)) for each in shape]
        if all(found):
            # The alternative that matched furthest gives the best explanation.
            yield from max(found, key=lambda wrong: max(len(each.place or "") for each in wrong))
    elif isinstance(shape, dict):
        yield from _object(value, shape, path)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield _wrong(path, f"must be an array, is {_kind(value)}")
        else:
            for index, item in enumerate(value):
                yield from violations(item, shape[0], f"{path}[{index}]")
    elif shape is None:
        if value is not None:
            yield _wrong(path, f"must be null, is {_kind(value)}")
    elif not _is(value, shape):
        yield _wrong(path, f"must be {_NAMES[shape]}, is {_kind(value)}")


def must_fit(value: Any, shape: Any) -> None:
    """Raise a ReadError for the first place where a record does not match a shape, for readers that rely on it."""
    wrong = next((each for each in violations(value, shape) if each.level == "error"), None)
    if wrong is not None:
        raise ReadError(wrong.message, place=wrong.place)


def _object(value: Any, shape: dict[str, Any], path: str) -> Iterator[Violation]:
    if not isinstance(value, dict):
        yield _wrong(path, f"must be an object, is {_kind(value)}")
        return
    for key, inner in shape.items():
        name = key.removesuffix("?")
        place = f"{path}.{name}" if path else name
        if name in value:
            yield from violations(value[name], inner, place)
        elif key == name:
            missing = error("is missing", place)
            yield msgspec.structs.replace(missing, level="warning") if isinstance(inner, Document) else missing


def _is(value: Any, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    # In Python, True is an integer.
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _kind(value: Any) -> str:
    return (
        "null"
        if value is None
        else next((_NAMES[kind] for kind in (bool, int, str, float, dict, list) if _is(value, kind)), "?")
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _wrong(path: str, message: str) -> Violation:
    return error(message, path or None)
