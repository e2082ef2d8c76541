"""What ADK's shapes cannot represent of a record. It is kept in a place that ADK ignores (`wire.pantrace_key`).

What ADK adds (an invocation's id, the name of an agent) stays, except inside parts, usage, errors, outcomes
and scores, where an addition would be a false statement.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import RunHeader
from pantrace.wire.difference import Comparing, Place, apply_difference, as_places, difference
from pantrace.wire.pantrace_key import CARRIER, may_carry, reads_carried

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


def residual(actual: Any, wanted: Any) -> list[Place]:
    """What `actual`, read back from ADK's shape, lacks of `wanted`; `apply_difference` brings it back."""
    return as_places(difference(actual, wanted, _RULE)) if may_carry() else []


def with_carried(header: RunHeader, row: dict[str, Any]) -> RunHeader:
    """A header read from a document, with what `save_document` kept there."""
    return apply_difference(header, rest) if (rest := row.get(CARRIER)) and reads_carried() else header
