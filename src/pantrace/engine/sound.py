"""Sound: every sample that is read has the types that the model promises; others are left out and reported.

Structs do not check their values when they are created in Python. If a reader passes on a foreign value (an id that is
a number), metrics would fail on the sample, and it could be written but never read again. Checking a whole sample takes
as long as decoding it; a format that guarantees more is spared most of it (`Format.checks_itself`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from pantrace.errors import ReadError
from pantrace.formats import Format
from pantrace.model import Run, RunHeader, Sample, header_of
from pantrace.wire.json import UNFIT, first_misfit
from pantrace.wire.rows import OnBroken

from .doubts import with_notes


def sound(run: Run, format_: Format, path: Path, on_broken: OnBroken) -> Run:
    """The run without samples that break the model's promises; ReadError if its header does."""
    if format_.typed:
        return run
    if (why := first_misfit(header_of(run), RunHeader)) is not None:
        raise ReadError(f"the run's {why}", path=str(path), remedy=UNFIT)
    return msgspec.structs.replace(run, samples=_sound(run, format_.checks_itself, path, on_broken))


def _sound(run: Run, is_checked: bool, path: Path, on_broken: OnBroken) -> Iterator[Sample]:
    for sample in run.samples:
        if is_checked or (why := first_misfit(sample, Sample)) is None:
            yield with_notes(sample)
        else:
            source = sample.trajectory.source if sample.trajectory is not None else None
            place = source.place if source is not None and source.place is not None else f"sample {sample.id}"
            on_broken(ReadError(why, path=str(path), place=place, remedy=UNFIT))
