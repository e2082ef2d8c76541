"""tbd"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from pantrace.model import Sample, Source, Violation


def stamped(sample: Sample, path: Path, place: str | None) -> Sample:
    if sample.trajectory is None:
        return sample
    version = sample.trajectory.extra["opencode"]["info"].get("version")
    source = Source(
        format="opencode",
        version="export",
        producer=f"opencode {version}" if isinstance(version, str) else None,
        path=str(path),
        place=place,
    )
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(sample.trajectory, source=source))


def check(row: Any) -> Iterable[Violation]:
    return ()


def validate(path: Path) -> Iterable[Violation]:
    return ()
