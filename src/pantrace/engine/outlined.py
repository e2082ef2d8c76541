"""Outlined: a run directory with its scores only, so that no recording in it has to be read."""

from __future__ import annotations

from pathlib import Path

from pantrace.model import Run, with_samples
from pantrace.store import RunDirectory, is_run_directory


def outlined(path: Path) -> Run | None:
    """The run of a run directory. Its samples have scores, and those fields of case and outcome that have a column.
    None if the path is not a run directory."""
    if not is_run_directory(path):
        return None
    directory = RunDirectory.open(path)
    return with_samples(directory.header, directory.outlines())
