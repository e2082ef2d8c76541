"""JSON as the text of a column: exact, to be read back, or always valid, to be queried."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from math import isfinite
from typing import Any, TypeVar, cast

import msgspec

from pantrace.errors import ReadError
from pantrace.wire.json import NonFinite, as_kind, decode_as, decode_patiently, encode, encode_lines

T = TypeVar("T")


def exact_json(value: Any, *, indent: int | None = None) -> bytes:
    """A value of the model as native JSON; NaN and Infinity are kept."""
    data = encode(value, indent=indent)
    # msgspec writes NaN as null. A null is rare enough to look twice, and most are real ones.
    if b"null" in data and _may_hide_a_number(value):
        data = encode(_mapped(_plain(value), _literal), indent=indent)
    return data


def exact_jsons(values: Sequence[Any]) -> list[str]:
    """`exact_json` of each value. All of them are one call: a call for each takes longer than its encoding."""
    lines = encode_lines(values)
    return [
        exact_json(value).decode() if "null" in line and _may_hide_a_number(value) else line
        for value, line in zip(values, lines, strict=True)
    ]


def from_exact_json(data: bytes, kind: type[T]) -> T:
    """The value that `exact_json` wrote."""
    try:
        return decode_as(data, kind)
    except msgspec.ValidationError:
        # A field declared as float cannot be a NonFinite.
        return as_kind(_mapped(decode_patiently(data), _as_float), kind)


def column_value(text: str | bytes, kind: type[T]) -> T:
    """The value of a column that contains JSON. A ReadError if it is of another kind, which we never write."""
    try:
        found: T = _decoder(cast("Hashable", kind)).decode(text)
    except (msgspec.MsgspecError, UnicodeError, TypeError) as error:  # TypeError: null in place of a text
        raise ReadError(f"a column of the run directory is damaged: {error}") from None
    return found


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def column_json(value: Any) -> str:
    """A value as JSON that every engine accepts: non-finite numbers as text, lone surrogates as escaped text."""
    try:
        data = _encoder.encode(value)
    except UnicodeEncodeError:
        data = b""
    if not data or (b"null" in data and _may_hide_a_number(value)):
        data = _encoder.encode(_mapped(_plain(value), _sayable))
    return data.decode()


def column_jsons(values: Sequence[Any]) -> list[str | None]:
    """`column_json` of each value, in one call; None where there is none, or nothing in it."""
    filled = [value for value in values if value]
    try:
        lines = iter(_encoder.encode_lines(filled).decode().split("\n"))
    except UnicodeEncodeError:
        return [column_json(value) if value else None for value in values]
    found = [next(lines) if value else None for value in values]
    for place, line in enumerate(found):
        if line is not None and "null" in line:
            found[place] = column_json(values[place])
    return found


def sayable(text: str) -> str:
    """The text as valid UTF-8: a lone surrogate becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def number_text(value: float) -> str:
    """The exact text of a number that is not finite."""
    literal = _literal(value)
    return literal.literal if isinstance(literal, NonFinite) else str(value)


_NOT_FINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")
"""A double in MessagePack whose exponent is all ones: NaN or infinite. Text may match, too, which costs only time."""


def _may_hide_a_number(value: Any) -> bool:
    """Whether one of the nulls in a value's JSON may be a non-finite float: the encoder writes both as null."""
    # MessagePack tells the two apart, and searching it is one pass in C instead of a walk in Python.
    try:
        return _NOT_FINITE.search(msgspec.msgpack.encode(value)) is not None
    except (UnicodeEncodeError, OverflowError, TypeError):
        return True


def _literal(value: Any) -> Any:
    if isinstance(value, float) and not isinstance(value, NonFinite) and not isfinite(value):
        return NonFinite("NaN" if value != value else "Infinity" if value > 0 else "-Infinity")
    return value


def _as_float(value: Any) -> Any:
    return float(value.literal) if isinstance(value, NonFinite) else value


def _sayable(value: Any) -> Any:
    if isinstance(value, str):
        return sayable(value)
    return number_text(value) if isinstance(value, float) and not isfinite(value) else value


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Plain JSON data with every leaf and key changed."""
    if isinstance(value, dict):
        return {change(key): _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, change) for item in value]
    return change(value)


def _itself(value: Any) -> Any:
    if isinstance(value, NonFinite):
        return value
    raise NotImplementedError(type(value).__name__)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=_itself, builtin_types=(NonFinite,))


def _as_text(value: Any) -> Any:
    if isinstance(value, NonFinite):
        return value.literal
    raise NotImplementedError(type(value).__name__)


_encoder = msgspec.json.Encoder(enc_hook=_as_text)
