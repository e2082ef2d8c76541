"""`run.json`: what a run directory is, and whose."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.model import Record, RunHeader
from pantrace.wire import files

from .durable import replace_file
from .json_text import exact_json, from_exact_json
from .schema import VERSION

RUN = "run.json"
MANIFEST = "manifest.sqlite"
LOCK = "lock"
PARTS = "parts"
FILES = (RUN, LOCK, f"{MANIFEST}*", f"{PARTS}/*")
"""Patterns of what a run directory is made of."""


class RunFile(Record, frozen=True, kw_only=True):
    """The content of `run.json`."""

    store: int
    """Version of the layout."""
    pantrace: str
    """The version that made the directory."""
    plan_hash: str
    plan: str
    run: RunHeader = RunHeader()


class _Version(msgspec.Struct):
    store: int


def is_run_directory(path: str | Path) -> bool:
    """Whether a path is a run directory, of any version."""
    folder = Path(path)
    if not (folder / RUN).is_file() or not (folder / MANIFEST).is_file():
        return False
    try:
        from_exact_json(files.read_all(folder / RUN), _Version)
    except (ReadError, msgspec.ValidationError):
        return False
    return True


def read_run_file(folder: Path) -> RunFile:
    """What a run directory says about itself."""
    path = folder / RUN
    if not is_run_directory(folder):
        raise ReadError(
            "not a run directory", path=str(folder), remedy=f"one has {RUN} and {MANIFEST}; `pantrace eval` makes it"
        )
    data = files.read_all(path)
    version = from_exact_json(data, _Version).store
    if version != VERSION:
        raise UsageError(
            f"{folder}: a run directory of version {version}, this pantrace knows version {VERSION}; "
            "use the pantrace that made it, or make it anew"
        )
    try:
        return from_exact_json(data, RunFile)
    except (ReadError, msgspec.ValidationError) as error:
        raise ReadError(f"not the {RUN} of a run directory: {error}", path=str(path)) from None


def write_run_file(folder: Path, content: RunFile) -> None:
    """Replace `run.json` in one step."""
    replace_file(folder / RUN, exact_json(content, indent=2) + b"\n")
