"""Run directories as a format: they are read like any other input, and `eval` writes them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pantrace.errors import PantraceError
from pantrace.formats import Format
from pantrace.model import Run
from pantrace.store import FILES, RECORDINGS, WORKSPACES, RunDirectory, is_run_directory, unfinished
from pantrace.wire.claimed_files import either, inside, of_patterns
from pantrace.wire.rows import OnBroken


def _open(path: Path, on_broken: OnBroken) -> Run:
    return RunDirectory.open(path).run()


RUN_DIRECTORY = Format(
    name="run-directory",
    title="what `pantrace eval` leaves behind",
    spec="docs/store.md",
    detect=lambda head: "" if is_run_directory(head.path) else None,
    open=_open,
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
