"""One side of a comparison, and the options of presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pantrace.matching.call import Call, Rules

from .agentevals import Message


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Tool calls in one list, and grouped if the source groups them."""

    calls: tuple[Call, ...]
    steps: tuple[str | None, ...] = ()
    """The id of each call's step, if the side is a trajectory."""
    invocations: tuple[tuple[Call, ...], ...] | None = None
    """Calls by user prompt; None: a bare list of calls."""
    messages: tuple[Message, ...] | None = None
    """All messages with their roles; None: a bare list of calls."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a preset."""

    rules: Rules = Rules()
    ignore_arguments: bool | None = None
    """None: as the library does by default."""
    tool: str | None = None
    schemas: Mapping[str, Any] = {}
    """Declared parameters by tool."""


class Undefined(msgspec.Struct, frozen=True):
    """The reason why a preset gives no number."""

    reason: str
