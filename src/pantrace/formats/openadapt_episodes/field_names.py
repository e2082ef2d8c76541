"""Names that the modules of this format share."""

from __future__ import annotations

from typing import Any

NAME = "openadapt-episodes"
SCHEMA_VERSION = "1.0.0"
CONTINUES = "continues"
"""Marks a row that holds another action of the turn before it; kept under the row's `pantrace` key."""

# The 24 values of ActionType; OpenAdapt refuses an episode with any other.
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


def misfits(row: dict[str, Any], parsed: dict[str, Any]) -> dict[str, Any]:
    """Values of known keys that do not fit the schema (they parsed to None), to be kept as they are."""
    return {key: row[key] for key, value in parsed.items() if value is None and row.get(key) is not None}
