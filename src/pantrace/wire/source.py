"""Note where a sample was read."""

from __future__ import annotations

import msgspec

from pantrace.model import Sample, Source


def with_source(sample: Sample, source: Source) -> Sample:
    """The sample with the source of its trajectory; one without a trajectory has no room for it."""
    if sample.trajectory is None:
        return sample
    trajectory = msgspec.structs.replace(sample.trajectory, source=source)
    return msgspec.structs.replace(sample, trajectory=trajectory)
