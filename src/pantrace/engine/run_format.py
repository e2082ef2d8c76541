"""Run directories as a format: they are read like any other input, and `eval` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pantrace.errors import PantraceError
from pantrace.formats import Format
from pantrace.model import Run, Violation
from pantrace.store import FILES, RECORDINGS, WORKSPACES, RunDirectory, is_run_directory, unfinished
from pantrace.wire.claimed_files import either, inside, of_patterns
from pantrace.wire.rows import OnBroken


def _open(path: Path, on_broken: OnBroken) -> Run:
    return RunDirectory.open(path).run()


def _validate(path: Path) -> Iterator[Violation]:
    """Every file that is damaged; if none is, everything is read. A table that no sample is made of (steps, calls) is
    only seen in the first way."""
    directory = RunDirectory.open(path)
    whole = True
    for error in directory.damaged():
        whole = False
        message = f"{error.message} ({error.remedy})" if error.remedy else error.message
        yield Violation(level="error", message=message, path=error.path)
    if whole:
        for _ in directory.results():
            pass


RUN_DIRECTORY = Format(
    name="run-directory",
    title="what `pantrace eval` leaves behind",
    spec="docs/store.md",
    detect=lambda head: "" if is_run_directory(head.path) else None,
    open=_open,
    validate=_validate,
    claim=lambda folder: either(of_patterns(folder, *FILES), inside(folder / RECORDINGS), inside(folder / WORKSPACES)),
    typed=True,
)


def unfinished_words(path: Path) -> str | None:
    """A sentence if the evaluation in a run directory has not ended."""
    # A damaged directory is reported when its samples are read.
    with suppress(PantraceError):
        if (found := unfinished(path)) is not None:
            return f"{path}: {found.words}"
    return None
