"""Values of foreign records with the type that the model promises; a TypeError names what is not."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError


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


def typed_header(row: dict[str, Any], ids: tuple[str, ...]) -> dict[str, Any]:
    """The header of a file with its ids and names as text and its time as a number; ReadError names what is neither."""
    found = dict(row)
    try:
        for key in ids:
            if row.get(key) is not None:
                found[key] = identifier(row[key], key)
        number(row.get("creation_timestamp"), "creation_timestamp")
    except TypeError as error:
        raise ReadError(str(error), remedy="google-adk writes no such header; was the file edited by hand?") from None
    return found


def number(value: Any, what: str) -> float | None:
    """A number or nothing."""
    if value is None or type(value) is float or type(value) is int or (isinstance(value, float)):
        return value
    raise TypeError(f"{what} must be a number, is {value!r:.60}")


def list_of(value: Any, what: str) -> list[Any]:
    """A list; an empty one for nothing."""
    if value is None or type(value) is list:
        return value or []
    raise TypeError(f"{what} must be a list, is {value!r:.60}")


def mapping(value: Any, what: str) -> dict[str, Any] | None:
    """An object or nothing."""
    if value is None or type(value) is dict:
        return value
    raise TypeError(f"{what} must be an object, is {value!r:.60}")
