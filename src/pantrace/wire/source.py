"""Note where a sample was read from."""

from __future__ import annotations

import msgspec

from pantrace.model import Sample, Source


def with_source(sample: Sample, source: Source) -> Sample:
    """The sample with a source in its trajectory; a sample without a trajectory is returned unchanged."""
    if sample.trajectory is None:
        return sample
    trajectory = msgspec.structs.replace(sample.trajectory, source=source)
    return msgspec.structs.replace(sample, trajectory=trajectory)
