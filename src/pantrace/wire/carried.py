"""What a format has no word for may ride along under the key `pantrace`, which only pantrace reads."""

from __future__ import annotations

from typing import Any

CARRIER = "pantrace"
"""The key."""


def without_carried(value: Any) -> Any:
    """A row as its own tools see it: without what rides along."""
    if isinstance(value, dict):
        return {key: without_carried(item) for key, item in value.items() if key != CARRIER}
    if isinstance(value, list):
        return [without_carried(item) for item in value]
    return value
