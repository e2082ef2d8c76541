"""Shapes: what a foreign record must look like, and every place where it does not.

A shape is `str`, `int`, `float`, `bool`, `dict` (any object), `list` (any array), `ANY`, `[shape]` for an array,
`{"key": shape}` for an object (a key that ends in "?" may be missing), a tuple of shapes for alternatives, `None` for
null, or `one_of(...)`. `document` wraps a shape that only a document demands: breaking it is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from pantrace.model import Violation


class Anything(msgspec.Struct, frozen=True):
    """Anything at all."""


class OneOf(msgspec.Struct, frozen=True):
    """One of these values."""

    values: tuple[Any, ...]


class Document(msgspec.Struct, frozen=True):
    """A demand that today's readers do not make."""

    shape: Any


ANY = Anything()


def one_of(*values: Any) -> OneOf:
    """A closed list of values."""
    return OneOf(values)


def document(shape: Any) -> Document:
    """A shape whose violation is only a warning."""
    return Document(shape)


_NAMES = {str: "text", int: "an integer", float: "a number", bool: "true or false", dict: "an object", list: "an array"}


def violations(value: Any, shape: Any, path: str = "") -> Iterator[Violation]:
    """Every place where a value does not have its shape."""
    if isinstance(shape, Anything):
        return
    if isinstance(shape, Document):
        for violation in violations(value, shape.shape, path):
            yield Violation(level="warning", message=violation.message, place=violation.place)
    elif isinstance(shape, OneOf):
        if value not in shape.values or isinstance(value, bool) != any(value is each for each in (True, False)):
            listed = ", ".join(_short(each) for each in shape.values)
            yield _wrong(path, f"{_short(value)} is none of {listed}")
    elif isinstance(shape, tuple):
        found = [list(violations(value, each, path)) for each in shape]
        if all(found):
            # The alternative that came furthest explains best.
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
            missing = Violation(level="error", message="is missing", place=place)
            yield msgspec.structs.replace(missing, level="warning") if isinstance(inner, Document) else missing


def _is(value: Any, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
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
    return Violation(level="error", message=message, place=path or None)
