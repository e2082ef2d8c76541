"""Attribute values of OTLP: `AnyValue` objects as plain values, and back.

In OTLP/JSON 64-bit integers are text and bytes are base64. An object with more than the convention allows is odd: the
attribute is read, and its original is kept beside it.
"""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.wire.json import decode

ODD = "odd"
"""The key for attributes that do not follow OTLP, kept unchanged."""
BYTES = "bytesValue"
_SNAKE = {
    "string_value": "stringValue",
    "bool_value": "boolValue",
    "int_value": "intValue",
    "double_value": "doubleValue",
    "array_value": "arrayValue",
    "kvlist_value": "kvlistValue",
    "bytes_value": BYTES,
}
"""Phoenix's API writes these names, and all of them, with null for all but one."""


def value_from(raw: Any) -> tuple[Any, bool]:
    """An AnyValue as a plain value, and whether it is odd."""
    if not isinstance(raw, dict):
        return raw, raw is not None
    if raw.keys() & _SNAKE.keys():
        raw = {_SNAKE.get(key, key): value for key, value in raw.items() if value is not None}
    match raw:
        case {"stringValue": str(text)}:
            return text, len(raw) > 1
        case {"boolValue": bool(truth)}:
            return truth, len(raw) > 1
        case {"intValue": int(number)}:
            return number, len(raw) > 1
        # An int64 has at most 19 digits; Python raises an error for a number of some thousands.
        case {"intValue": str(digits)} if len(digits) <= 20 and digits.removeprefix("-").isdecimal():
            return int(digits), len(raw) > 1
        case {"doubleValue": int(number) | float(number)}:
            return float(number) if type(number) is int else number, len(raw) > 1
        case {"arrayValue": dict(array)}:
            found = [value_from(each) for each in array.get("values") or ()]
            return [value for value, _ in found], any(odd for _, odd in found) or len(raw) > 1 or len(array) > 1
        case {"kvlistValue": dict(pairs)}:
            values, odd = attributes_from(pairs.get("values"))
            return values, bool(odd) or len(raw) > 1 or len(pairs) > 1
        # Kept as an object: as plain text, base64 would be written back as a string.
        case {"bytesValue": str()}:
            return raw, False
    return (raw, True) if raw else (None, False)


def unpacked(value: Any) -> Any:
    """The value of a JSON text; any other value as it is."""
    # Only objects and lists: a text such as "12" or "true" may be somebody's answer.
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.encode("utf-8", "surrogatepass"))
        except ReadError:
            return value
    return value


def attributes_from(raw: Any) -> tuple[dict[str, Any], list[Any]]:
    """Key-value objects as a dictionary, and the irregular ones as they were.

    Dumps of SDKs have a dictionary already."""
    if isinstance(raw, dict):
        return raw, []
    values: dict[str, Any] = {}
    odd: list[Any] = []
    for each in raw if isinstance(raw, list) else ():
        if not isinstance(each, dict) or not isinstance(key := each.get("key"), str):
            odd.append(each)
            continue
        value, is_odd = value_from(each.get("value"))
        if is_odd or len(each) > 2 or key in values:
            odd.append(each)
        # Keys must be unique in OTLP; if one is repeated, the first counts and the other is kept.
        values.setdefault(key, value)
    return values, odd


def value_to(value: Any) -> dict[str, Any]:
    """A plain value as an AnyValue."""
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        # OTLP/JSON writes 64-bit integers as text, as protobuf's JSON does.
        # A larger integer has no type in OTLP, so it becomes a string.
        return {"intValue": str(value)} if -(1 << 63) <= value < 1 << 63 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [value_to(each) for each in value]}}
    if isinstance(value, dict):
        return value if value.keys() == {BYTES} else {"kvlistValue": {"values": attributes_to(value)}}
    return {}


def attributes_to(values: dict[str, Any]) -> list[dict[str, Any]]:
    """A dictionary as key-value objects."""
    return [{"key": key, "value": value_to(value)} for key, value in values.items()]
