"""Names that the files of this format share."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from pantrace.wire.json import as_kind, to_plain

T = TypeVar("T", bound=msgspec.Struct)

NAME = "openadapt-episodes"
SCHEMA_VERSION = "1.0.0"

ACTION_TYPES = (
    "click",
    "double_click",
    "right_click",
    "drag",
    "scroll",
    "hover",
    "type",
    "key",
    "hotkey",
    "click_and_type",
    "wait",
    "screenshot",
    "goto",
    "back",
    "forward",
    "refresh",
    "open_app",
    "close_app",
    "select_monitor",
    "window_focus",
    "window_resize",
    "window_move",
    "done",
    "fail",
)
SOURCES = ("waa", "webarena", "osworld", "miniwob", "human", "synthetic")


def text_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def differing_fields(wanted: msgspec.Struct, natural: msgspec.Struct) -> dict[str, Any]:
    """The fields in which the wanted struct differs from what the format's own fields say."""
    return {
        name: to_plain(value)
        for name in wanted.__struct_fields__
        if (value := getattr(wanted, name)) != getattr(natural, name)
    }


def with_fields(natural: T, rest: Any) -> T:
    """The struct with the fields that were kept aside."""
    if not isinstance(rest, dict) or not rest:
        return natural
    return as_kind({**to_plain(natural), **rest}, type(natural))


def odd(row: dict[str, Any], parsed: dict[str, Any]) -> dict[str, Any]:
    """Values of known keys that are not what the schema says, to be kept as they are: those that parsed to None."""
    return {key: row[key] for key, value in parsed.items() if value is None and row.get(key) is not None}


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something."""
    return {key: value for key, value in fields.items() if value is not None}
