"""Values of foreign records with the type that the model promises; a TypeError names what is not."""

from __future__ import annotations

from typing import Any


def text(value: Any, what: str) -> str | None:
    """Text or nothing."""
    if value is None or type(value) is str:
        return value
    raise TypeError(f"{what} must be text, is {value!r:.60}")


def number(value: Any, what: str) -> float | None:
    """A number or nothing."""
    if value is None or type(value) is float or type(value) is int or (isinstance(value, float)):
        return value
    raise TypeError(f"{what} must be a number, is {value!r:.60}")


def mapping(value: Any, what: str) -> dict[str, Any] | None:
    """An object or nothing."""
    if value is None or type(value) is dict:
        return value
    raise TypeError(f"{what} must be an object, is {value!r:.60}")
