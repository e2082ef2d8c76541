"""Values of foreign records with the type that the model promises; a ReadError names what is not, and what it is."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError


def misplaced(what: str, kind: str, value: Any) -> ReadError:
    """The error of a value that is of another kind than it should be."""
    return ReadError(f"{what} must be {kind}, is {value!r:.60}")


def text(value: Any, what: str) -> str | None:
    """Text or nothing."""
    if value is None or type(value) is str:
        return value
    raise misplaced(what, "text", value)


def identifier(value: Any, what: str) -> str:
    """A name: text, or a number that stands for one."""
    if type(value) is str or type(value) is int:
        return str(value)
    raise misplaced(what, "text", value)


def typed_header(row: dict[str, Any], ids: tuple[str, ...]) -> dict[str, Any]:
    """The header of a file with its ids and names as text and its time as a number; ReadError names what is neither."""
    found = dict(row)
    try:
        for key in ids:
            if row.get(key) is not None:
                found[key] = identifier(row[key], key)
        number(row.get("creation_timestamp"), "creation_timestamp")
    except ReadError as error:
        remedy = "google-adk writes no such header; was the file edited by hand?"
        raise ReadError(error.message, remedy=remedy) from None
    return found


def number(value: Any, what: str) -> float | None:
    """A number or nothing."""
    if value is None or type(value) is float or type(value) is int or (isinstance(value, float)):
        return value
    raise misplaced(what, "a number", value)


def list_of(value: Any, what: str) -> list[Any]:
    """A list; an empty one for nothing."""
    if value is None or type(value) is list:
        return value or []
    raise misplaced(what, "a list", value)


def mapping(value: Any, what: str) -> dict[str, Any] | None:
    """An object or nothing."""
    if value is None or type(value) is dict:
        return value
    raise misplaced(what, "an object", value)
