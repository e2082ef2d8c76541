"""Values that may be missing, or of another type than their key promises: what a reader goes on with then.

Foreign records come from many hands. A reader that takes such a value as missing must keep it (`wire.rest`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something."""
    return {key: value for key, value in fields.items() if value is not None}


def text_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
