"""Outlined: a run directory with its scores alone, so that no recording in it is read."""

from __future__ import annotations

from pathlib import Path

from pantrace.model import Run, with_samples
from pantrace.store import RunDirectory, is_run_directory


def outlined(path: Path) -> Run | None:
    """The run of a run directory: its samples have scores, and of case and outcome what the columns say. None of
    anything else."""
    if not is_run_directory(path):
        return None
    directory = RunDirectory.open(path)
    return with_samples(directory.header, directory.outlines())
