"""Whether the evaluation that writes a run directory has ended. If not, the directory is not what its command asked
for, and nothing may be concluded from it."""

from __future__ import annotations

from pathlib import Path

from pantrace.model import Record
from pantrace.places import path_at

from .lock import living_holder
from .manifest import read_manifest
from .run_file import LOCK, MANIFEST, read_run_file

RUNNING = "running"
"""The fact that is in the manifest while an evaluation replaces the results of an earlier one."""


class Unfinished(Record, frozen=True, kw_only=True):
    """An evaluation that has not ended."""

    samples: int
    """How many the directory has now."""
    writer: str | None = None
    """The process that still writes it; None if it is not there any more, or not on this machine."""
    has_earlier: bool = False
    """Whether the samples are those of the evaluation before, which did end."""

    @property
    def words(self) -> str:
        """One sentence: what happened, and what to do."""
        count = f"{self.samples:,} sample{'' if self.samples == 1 else 's'}"
        if self.writer is not None:
            held = "the results are those of the one before" if self.has_earlier else f"{count} so far"
            return f"this evaluation is still running ({self.writer}; {held}); wait until it ends"
        again = "run the same eval command again to finish it"
        if self.has_earlier:
            return f"the last evaluation was interrupted (the results are those of the one before); {again}"
        return f"this evaluation was interrupted ({count} so far); {again}"


def unfinished(path: str | Path) -> Unfinished | None:
    """What is known about an evaluation that has not ended; None if it has."""
    folder = path_at(path)
    # The header has a status once the first evaluation has ended, in every version of the layout.
    begun = read_run_file(folder).run.status is None
    content = read_manifest(folder / MANIFEST)
    if not begun and RUNNING not in content.facts:
        return None
    return Unfinished(
        samples=sum(part.samples for part in content.parts.values()),
        writer=living_holder(folder / LOCK),
        has_earlier=not begun,
    )
