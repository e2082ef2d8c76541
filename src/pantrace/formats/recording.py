"""Journals of pantrace's recorder: what a program recorded before it was killed, or has recorded so far.

Spec: `wire/journal.py`. A finished recording is a native file (or the format that was chosen), not a journal.
Detect: `pantrace_recording` in the first line.
Lost: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source
from pantrace.wire import files
from pantrace.wire.head import Head
from pantrace.wire.journal import Event, event_in, sample_of
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source

from .format import Format

NAME = "recording"


def detect(head: Head) -> str | None:
    version = head.record.get("pantrace_recording")
    return str(version) if isinstance(version, int) else None


def open_run(path: Path, on_broken: OnBroken) -> Run:
    source = Source(format=NAME, path=str(path))

    def samples() -> Iterator[Sample]:
        try:
            yield with_source(sample_of(_events(path, on_broken)), source)
        except ReadError as error:
            on_broken(error.at(path=str(path)))

    return Run(name=path.name, source=source, samples=samples())


def _events(path: Path, on_broken: OnBroken) -> Iterator[Event]:
    held: ReadError | None = None
    for number, line in files.lines(path, held=True):
        # A broken line with lines after it was not cut off by the end of the program: report it.
        if held is not None:
            on_broken(held)
        held = None
        try:
            yield event_in(line)
        except ReadError as error:
            # The last line of a killed program may be cut off. That is expected, so it is dropped without a report.
            held = error.at(path=str(path), place=f"line {number}")


FORMAT = Format(
    name=NAME,
    title="Journals of pantrace's recorder, left by programs that were killed",
    spec="`pantrace.recorder`",
    detect=detect,
    open=open_run,
    suffix=".recording.jsonl",
    nests=True,
)
