"""Values of foreign records with the type that the model promises; a TypeError names what is not."""

from __future__ import annotations

from typing import Any


def text(value: Any, what: str) -> str | None:
    """Text or nothing."""
    if value is None or type(value) is str:
        return value
    raise TypeError(f"{what} must be text, is {value!r:.60}")


def identifier(value: Any, what: str) -> str:
    """A name: text, or a number that stands for one."""
    if type(value) is str or type(value) is int:
        return str(value)
    raise TypeError(f"{what} must be text, is {value!r:.60}")


def number(value: Any, what: str) -> float | None:
    """A number or nothing."""
    if value is None or type(value) is float or type(value) is int or (isinstance(value, float)):
        return value
    raise TypeError(f"{what} must be a number, is {value!r:.60}")


def listed(value: Any, what: str) -> list[Any]:
    """A list; an empty one for nothing."""
    if value is None or type(value) is list:
        return value or []
    raise TypeError(f"{what} must be a list, is {value!r:.60}")


def mapping(value: Any, what: str) -> dict[str, Any] | None:
    """An object or nothing."""
    if value is None or type(value) is dict:
        return value
    raise TypeError(f"{what} must be an object, is {value!r:.60}")
