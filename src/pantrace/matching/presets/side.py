"""One side of a comparison as presets need it, and what they may be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pantrace.matching.call import Call, Rules

from .agentevals import Message


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Tool calls in one row, and grouped where the source groups them."""

    calls: tuple[Call, ...]
    steps: tuple[str | None, ...] = ()
    """Id of each call's step, where the side is a trajectory."""
    invocations: tuple[tuple[Call, ...], ...] | None = None
    """By user prompt; None: a bare list of calls."""
    messages: tuple[Message, ...] | None = None
    """All messages with their roles; None: a bare list of calls."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a preset may be told."""

    rules: Rules = Rules()
    ignore_arguments: bool | None = None
    """None: as the library does by default."""
    tool: str | None = None
    schemas: Mapping[str, Any] = {}
    """Declared parameters by tool."""


class Undefined(msgspec.Struct, frozen=True):
    """Why a preset gives no number."""

    reason: str
