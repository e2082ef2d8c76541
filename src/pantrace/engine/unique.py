"""Unique: gives samples from several sources distinct ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from pantrace.model import Sample

from .loss_report import Report


def unique_samples(samples: Iterable[Sample], report: Report, *, repeats: bool) -> Iterator[Sample]:
    """Samples with distinct (id, epoch); a repeated one gets the name of its source as a prefix. If a case `repeats`,
    another session of it is its next epoch.

    No epoch means the first: formats that require a number write 1."""
    seen: set[tuple[str, int]] = set()
    sessions: set[tuple[str, str | None]] = set()
    last: dict[str, int] = {}
    for sample in samples:
        name, epoch = sample.id, sample.epoch or 1
        if repeats:
            session = sample.trajectory.id if sample.trajectory else None
            if (name, epoch) in seen and session is not None and (name, session) not in sessions:
                epoch = last[name] + 1
                sample = msgspec.structs.replace(sample, epoch=epoch)
            sessions.add((name, session))
            last[name] = max(epoch, last.get(name, 0))
        if (name, epoch) in seen:
            source = sample.trajectory.source if sample.trajectory else None
            prefix = Path(source.path).stem if source and source.path else "other"
            name = f"{prefix}/{sample.id}"
            number = 2
            while (name, epoch) in seen:
                name = f"{prefix}/{sample.id}#{number}"
                number += 1
            report.renamed.append((sample.id, name))
            sample = msgspec.structs.replace(sample, id=name)
        seen.add((name, epoch))
        yield sample
