"""What a record says beyond what ADK's shapes could say of it; it rides in a free corner of theirs (`wire.carried`).

What ADK adds of its own (an invocation's id, the name of an agent) stays, except inside parts, usage, errors, outcomes
and scores, where an addition would be a claim that nobody made.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import RunHeader
from pantrace.wire.carried import CARRIER, may_carry
from pantrace.wire.remainder import Comparing, Place, apply_difference, as_places, difference

_RULE = Comparing(
    ignored=frozenset({"source"}),
    data=frozenset(
        {"arguments", "output", "state", "state_delta", "raw", "parameters", "config", "dataset", "labels"},
    ),
    data_within=frozenset({"extra"}),
    closed=frozenset({"parts", "usage", "error", "outcome", "scores"}),
    numbers_by_type=True,
    paired_by=("type", "role", "name"),
)


def residual(told: Any, meant: Any) -> list[Place]:
    """What `told`, read back from ADK's shape, leaves unsaid of `meant`; `apply_difference` brings it back."""
    return as_places(difference(told, meant, _RULE)) if may_carry() else []


def with_carried(told: RunHeader, row: dict[str, Any]) -> RunHeader:
    """A header that was read from a document, with what `save_document` kept there."""
    return apply_difference(told, rest) if (rest := row.get(CARRIER)) else told
