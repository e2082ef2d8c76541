"""Attachments: long texts and pictures that a sample holds once and refers to by their hash."""

from __future__ import annotations

import hashlib
import re
from typing import Any

_SCHEMES = ("attachment://", "tc://")
_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")


def reference(value: Any) -> str | None:
    """The hash that a text refers to (`tc://` is the old scheme); None for plain text."""
    if isinstance(value, str) and value.startswith(_SCHEMES):
        return value.partition("://")[2]
    return None


def resolve(value: Any, attachments: dict[str, Any]) -> Any:
    """A value with every reference replaced by its content; values without references are not copied."""
    # `type() is` and not isinstance: this runs for every value of a sample, and decoded JSON has no subclasses.
    kind = type(value)
    if kind is str:
        return attachments.get(value.partition("://")[2], value) if value.startswith(_SCHEMES) else value
    result = value
    if kind is dict or kind is list:
        for key, item in value.items() if kind is dict else enumerate(value):
            inner = type(item)
            if inner is str:
                if not item.startswith(_SCHEMES):
                    continue
            elif inner is not dict and inner is not list:
                continue
            new = resolve(item, attachments)
            if new is not item:
                # Copied only once something in it changes: samples may have megabytes.
                if result is value:
                    result = value.copy()
                result[key] = new
    return result


def split_data_uri(text: str) -> tuple[str, str] | None:
    """MIME type and base64 of a data URI; None if it is not one, or has other parameters."""
    match = _DATA_URI.match(text)
    return (match.group(1), text[match.end() :]) if match else None


def key_of(text: str) -> str:
    """A key for an attachment that pantrace adds: 32 hexadecimal digits, like Inspect's own."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
