"""Files of a case: they are copied into the workspace before the agent starts.

A dataset is not trusted. It may only write inside the workspace, read next to itself, and download nothing."""

from __future__ import annotations

import shutil
from base64 import b64decode
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote_to_bytes

_LONGEST = 1_000
"""A longer value is not a file name but the content itself."""


def place_files(workspace: Path, given: Any, beside: str | None) -> list[str]:
    """Copy the files of a case into its workspace; returns a remark for each that could not be copied."""
    found = []
    for name, value in given.items() if isinstance(given, dict) else ():
        # In Inspect, the name of a sandbox may come before a colon; we have only one workspace.
        place = str(name).rpartition(":")[2]
        why = _placed(workspace, PurePosixPath(place), str(value), Path(beside) if beside else None)
        if why is not None:
            found.append(f"its file {name} {why}")
    return found


def _placed(workspace: Path, place: PurePosixPath, value: str, beside: Path | None) -> str | None:
    if place.is_absolute() or ".." in place.parts or not place.parts or "\0" in str(place):
        return "is outside the workspace and is left out"
    target = workspace / place
    try:
        # A fixture may contain links, so a name without ".." can still lead out of the workspace.
        if target.is_symlink() or not target.parent.resolve().is_relative_to(workspace.resolve()):
            return "would be written through a link and is left out"
        # Only now: folders must not be created behind a link either.
        target.parent.mkdir(parents=True, exist_ok=True)
        if value.startswith("data:"):
            target.write_bytes(_data(value))
        elif value.startswith(("http://", "https://", "s3://", "gs://")):
            return "is a URL, and nothing is downloaded; save it next to the dataset"
        elif (source := _source(value, beside)) is not None:
            if beside is None or not source.resolve().is_relative_to(beside.resolve()):
                return "is not next to the dataset and is left out"
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True) if source.is_dir() else shutil.copyfile(
                source, target
            )
        else:
            target.write_bytes(value.encode("utf-8", "surrogateescape"))
    except (OSError, ValueError) as error:
        return f"could not be written: {getattr(error, 'strerror', None) or error}"
    return None


def _source(value: str, beside: Path | None) -> Path | None:
    """The file that a value names; None if the value is the content itself."""
    if len(value) > _LONGEST or "\n" in value or "\0" in value or not value.strip():
        return None
    path = (beside or Path()) / value
    try:
        return path if path.exists() else None
    except OSError:
        return None


def _data(value: str) -> bytes:
    head, _, data = value.partition(",")
    return b64decode(data, validate=True) if head.endswith(";base64") else unquote_to_bytes(data)
