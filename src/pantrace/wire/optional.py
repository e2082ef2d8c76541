"""Values that may be missing, or of the wrong type.

Foreign records come from many programs. A reader that treats such a value as missing must keep it (`wire.extra_keys`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not None."""
    return {key: value for key, value in fields.items() if value is not None}


def text_of(value: Any) -> str | None:
    """The value if it is text, otherwise None."""
    return value if isinstance(value, str) else None


def object_of(value: Any) -> dict[str, Any]:
    """The value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []
