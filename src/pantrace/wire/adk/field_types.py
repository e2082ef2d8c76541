"""Values of foreign records, checked for the type that the model promises; ReadError names what is wrong."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError


def wrong_type(what: str, kind: str, value: Any) -> ReadError:
    """The error for a value of the wrong type."""
    return ReadError(f"{what} must be {kind}, is {value!r:.60}")


def text(value: Any, what: str) -> str | None:
    """The value if it is text or None; otherwise ReadError."""
    if value is None or type(value) is str:
        return value
    raise wrong_type(what, "text", value)


def identifier(value: Any, what: str) -> str:
    """A name, which is text or a number used as one."""
    if type(value) is str or type(value) is int:
        return str(value)
    raise wrong_type(what, "text", value)


def typed_header(row: dict[str, Any], ids: tuple[str, ...]) -> dict[str, Any]:
    """A file's header with ids and names as text and its time as a number; ReadError if one is neither."""
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
    """The value if it is a number or None; otherwise ReadError."""
    # `type` keeps out bool, which is an int; isinstance lets in NonFinite, which is a float with its own literal.
    if value is None or type(value) is float or type(value) is int or (isinstance(value, float)):
        return value
    raise wrong_type(what, "a number", value)


def list_of(value: Any, what: str) -> list[Any]:
    """The value if it is a list, an empty list for None; otherwise ReadError."""
    if value is None or type(value) is list:
        return value or []
    raise wrong_type(what, "a list", value)


def mapping(value: Any, what: str) -> dict[str, Any] | None:
    """The value if it is an object or None; otherwise ReadError."""
    if value is None or type(value) is dict:
        return value
    raise wrong_type(what, "an object", value)
