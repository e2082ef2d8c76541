"""The settings that all structs of the model share."""

from __future__ import annotations

from typing import Any

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A frozen struct; what equals its default is left out when written, and no key is dropped in silence."""


Extra = dict[str, Any]
"""What the model has no word for, kept under the name of the format it came from: {"opencode": {...}}."""
