"""OTLP as protobuf: its few messages, decoded to the shape of OTLP/JSON and encoded from it.

Spec: github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/{trace,logs,common,resource}/v1
A table of field numbers is enough. The package `opentelemetry-proto` would bring protobuf's runtime as a dependency; a
peer test uses it to parse what is written here.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from pantrace.errors import ReadError

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """A field of a message: its JSON name, its type or message, and whether it repeats."""

    name: str
    kind: str
    many: bool = False


MESSAGES: dict[str, dict[int, Field]] = {
    "Request": {1: Field("resourceSpans", "ResourceSpans", True)},
    "LogsRequest": {1: Field("resourceLogs", "ResourceLogs", True)},
    "ResourceSpans": {
        1: Field("resource", "Resource"),
        2: Field("scopeSpans", "ScopeSpans", True),
        3: Field("schemaUrl", "text"),
    },
    "ResourceLogs": {
        1: Field("resource", "Resource"),
        2: Field("scopeLogs", "ScopeLogs", True),
        3: Field("schemaUrl", "text"),
    },
    "Resource": {1: Field("attributes", "KeyValue", True), 2: Field("droppedAttributesCount", "uint")},
    "ScopeSpans": {1: Field("scope", "Scope"), 2: Field("spans", "Span", True), 3: Field("schemaUrl", "text")},
    "ScopeLogs": {1: Field("scope", "Scope"), 2: Field("logRecords", "LogRecord", True), 3: Field("schemaUrl", "text")},
    "Scope": {
        1: Field("name", "text"),
        2: Field("version", "text"),
        3: Field("attributes", "KeyValue", True),
        4: Field("droppedAttributesCount", "uint"),
    },
    "Span": {
        1: Field("traceId", "id"),
        2: Field("spanId", "id"),
        3: Field("traceState", "text"),
        4: Field("parentSpanId", "id"),
        5: Field("name", "text"),
        6: Field("kind", "uint"),
        7: Field("startTimeUnixNano", "fixed64"),
        8: Field("endTimeUnixNano", "fixed64"),
        9: Field("attributes", "KeyValue", True),
        10: Field("droppedAttributesCount", "uint"),
        11: Field("events", "Event", True),
        12: Field("droppedEventsCount", "uint"),
        13: Field("links", "Link", True),
        14: Field("droppedLinksCount", "uint"),
        15: Field("status", "Status"),
        16: Field("flags", "fixed32"),
    },
    "Event": {
        1: Field("timeUnixNano", "fixed64"),
        2: Field("name", "text"),
        3: Field("attributes", "KeyValue", True),
        4: Field("droppedAttributesCount", "uint"),
    },
    "Link": {
        1: Field("traceId", "id"),
        2: Field("spanId", "id"),
        3: Field("traceState", "text"),
        4: Field("attributes", "KeyValue", True),
        5: Field("droppedAttributesCount", "uint"),
        6: Field("flags", "fixed32"),
    },
    "Status": {2: Field("message", "text"), 3: Field("code", "uint")},
    "LogRecord": {
        1: Field("timeUnixNano", "fixed64"),
        2: Field("severityNumber", "uint"),
        3: Field("severityText", "text"),
        5: Field("body", "AnyValue"),
        6: Field("attributes", "KeyValue", True),
        7: Field("droppedAttributesCount", "uint"),
        8: Field("flags", "fixed32"),
        9: Field("traceId", "id"),
        10: Field("spanId", "id"),
        11: Field("observedTimeUnixNano", "fixed64"),
        12: Field("eventName", "text"),
    },
    "KeyValue": {1: Field("key", "text"), 2: Field("value", "AnyValue")},
    "AnyValue": {
        1: Field("stringValue", "text"),
        2: Field("boolValue", "bool"),
        3: Field("intValue", "int"),
        4: Field("doubleValue", "double"),
        5: Field("arrayValue", "Array"),
        6: Field("kvlistValue", "Pairs"),
        7: Field("bytesValue", "bytes"),
    },
    "Array": {1: Field("values", "AnyValue", True)},
    "Pairs": {1: Field("values", "KeyValue", True)},
}
"""AnyValue is a `oneof`: its field is written even if it is empty, or the value would be lost."""
# Each level is a call of `decode`: hostile nesting must not exhaust Python's stack.
DEEPEST = 200


def decode(data: bytes | memoryview, message: str, *, cut: bool = False, depth: int = 0) -> dict[str, Any]:
    """A message as the object of OTLP/JSON; ReadError if it is not one. `cut`: `data` is only the beginning of the
    message, and its complete fields are wanted."""
    found: dict[str, Any] = {}
    if depth > DEEPEST:
        raise ReadError(f"nested deeper than {DEEPEST} levels")
    for number, wire, value in fields(memoryview(data), cut=cut):
        field = MESSAGES[message].get(number)
        if field is None:
            # A newer version of OTLP: kept, as unread values are reported and not dropped.
            found.setdefault(f"field {number}", []).append(value if isinstance(value, int) else bytes(value).hex())
            continue
        if field.kind in MESSAGES:
            if not isinstance(value, memoryview):
                raise ReadError(f"{field.name} should be a message")
            read: Any = decode(value, field.kind, cut=cut, depth=depth + 1)
        else:
            read = _scalar(field, wire, value)
        if field.many:
            found.setdefault(field.name, []).append(read)
        else:
            found[field.name] = read
    return found


def fields(data: memoryview, *, cut: bool = False) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value of each field of a message."""
    place, end = 0, len(data)
    while place < end:
        try:
            tag, place = _varint(data, place)
            wire = tag & 7
            if wire == VARINT:
                value: Any
                value, place = _varint(data, place)
            elif wire == LENGTH:
                size, place = _varint(data, place)
                if place + size > end and not cut:
                    raise IndexError
                value, place = data[place : place + size], place + size
            elif wire in (FIXED64, FIXED32):
                size = 8 if wire == FIXED64 else 4
                value, place = int.from_bytes(data[place : place + size], "little"), place + size
                if place > end:
                    raise IndexError
            else:
                raise ReadError("not protobuf", place=f"byte {place}")
        except IndexError:
            if cut:
                return
            raise ReadError("the message is cut off", remedy="the file is damaged or still being written") from None
        # Field numbers begin at 1.
        if tag >> 3 == 0:
            raise ReadError("not protobuf", place=f"byte {place}")
        yield tag >> 3, wire, value


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        # A 64-bit number has at most ten bytes.
        if shift > 63:
            raise ReadError("not protobuf", place=f"byte {place}")


_WIRES = {"text": LENGTH, "id": LENGTH, "bytes": LENGTH, "fixed64": FIXED64, "fixed32": FIXED32, "double": FIXED64}


def _scalar(field: Field, wire: int, value: Any) -> Any:
    if wire != _WIRES.get(field.kind, VARINT):
        raise ReadError(f"{field.name} is not of its type")
    match field.kind:
        case "text":
            # Bytes that are not UTF-8 must not stop the reading.
            return bytes(value).decode("utf-8", "surrogateescape")
        case "id":
            return bytes(value).hex()
        case "bytes":
            return base64.b64encode(value).decode()
        case "bool":
            return bool(value)
        case "int":
            # Negative numbers are written in two's complement.
            return str(value - (1 << 64) if value >> 63 else value)
        case "double":
            return struct.unpack("<d", value.to_bytes(8, "little"))[0]
        case "fixed64":
            return str(value)
    return value


def encode(row: dict[str, Any], message: str) -> bytes:
    """An OTLP/JSON object as a protobuf message; unknown keys are left out."""
    pieces: list[bytes] = []
    always = message == "AnyValue"
    for number, field in MESSAGES[message].items():
        value = row.get(field.name)
        for each in (value or ()) if field.many else (value,):
            # proto3 leaves out default values.
            if each is None or (not always and not field.many and each in ("", 0, "0", False)):
                continue
            if field.kind in MESSAGES:
                data = encode(each, field.kind)
                pieces += [_tag(number, LENGTH), _size(len(data)), data]
            else:
                pieces += [_tag(number, _WIRES.get(field.kind, VARINT)), _encode_value(field.kind, each)]
    return b"".join(pieces)


def _encode_value(kind: str, value: Any) -> bytes:
    match kind:
        case "text" | "id" | "bytes":
            if kind == "text":
                data = str(value).encode("utf-8", "replace")
            else:
                data = bytes.fromhex(value) if kind == "id" else base64.b64decode(value)
            return _size(len(data)) + data
        case "fixed64":
            return struct.pack("<Q", int(value) & ((1 << 64) - 1))
        case "fixed32":
            return struct.pack("<I", int(value) & 0xFFFFFFFF)
        case "double":
            return struct.pack("<d", float(value))
    return _size(int(value) & ((1 << 64) - 1))


def _tag(number: int, wire: int) -> bytes:
    return _size(number << 3 | wire)


def _size(value: int) -> bytes:
    pieces = bytearray()
    while value > 0x7F:
        pieces.append(value & 0x7F | 0x80)
        value >>= 7
    pieces.append(value)
    return bytes(pieces)
