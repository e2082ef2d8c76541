"""Sound: every sample that enters has the types that the model promises; one that has not is left out, in words.

Structs do not check what they are made of. A foreign value that a reader hands on as it found it (an id that is a
number) would make a sample that metrics stumble over, and that can be written and never read again. Checking all of a
sample takes as long as decoding it; a format that promises more is spared the most of it (`Format.checks_itself`).
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
    """The run without the samples that do not fit the model; ReadError when its header does not."""
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
