"""The part of a tool call that is compared, and the rules for its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .arguments import ArgumentRule


class Call(msgspec.Struct, frozen=True):
    """Name and arguments; in a reference, arguments of None are not stated and agree with any."""

    name: str
    arguments: Any = None


class Rules(msgspec.Struct, frozen=True):
    """How arguments are compared: one rule for all tools, and others for single ones."""

    default: ArgumentRule = ArgumentRule()
    tools: Mapping[str, ArgumentRule] = {}

    def of(self, name: str) -> ArgumentRule:
        """The rule for a tool."""
        return self.tools.get(name, self.default)
