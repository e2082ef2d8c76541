"""What a format has no word for may ride along under the key `pantrace`, which only pantrace reads."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import Sample

CARRIER = "pantrace"
"""The key."""


def without_carried(value: Any) -> Any:
    """A row as its own tools see it: without what rides along."""
    if isinstance(value, dict):
        return {key: without_carried(item) for key, item in value.items() if key != CARRIER}
    if isinstance(value, list):
        return [without_carried(item) for item in value]
    return value


def without_notes(sample: Sample) -> Sample:
    """A sample without what pantrace noted about it while reading: nothing that its recording says."""
    if CARRIER not in sample.extra:
        return sample
    return msgspec.structs.replace(sample, extra={key: value for key, value in sample.extra.items() if key != CARRIER})
