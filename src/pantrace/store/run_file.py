"""`run.json`: the header of a run directory."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.model import Record, RunHeader
from pantrace.places import path_at
from pantrace.wire import files
from pantrace.wire.json import decode

from .durable import renewal, replace_file
from .json_text import exact_json, from_exact_json
from .schema import VERSION

RUN = "run.json"
MANIFEST = "manifest.sqlite"
LOCK = "lock"
PARTS = "parts"
LABELS = "labels.jsonl"
"""Labels that people gave to the samples; only ever appended to."""
RECORDINGS = "recordings"
"""Recordings of the agents that `pantrace run` started."""
WORKSPACES = "workspaces"
"""Working directories of these agents while they run."""
FILES = (RUN, LOCK, f"{MANIFEST}*", f"{PARTS}/*", LABELS)
"""Patterns of the files of a run directory."""


class RunFile(Record, frozen=True, kw_only=True):
    """The content of `run.json`."""

    store: int
    """Version of the layout."""
    pantrace: str
    """The version that made the directory."""
    plan_hash: str
    plan: str
    run: RunHeader = RunHeader()
    sha256: str | None = None
    """Of everything else; None in directories from before there were hashes."""


class _Version(msgspec.Struct):
    store: int


def is_run_directory(path: str | Path) -> bool:
    """Whether a path is a run directory, of any version. If one of its three components is missing it still counts,
    because it can be repaired."""
    folder = path_at(path)
    signs = ((folder / MANIFEST).is_file(), (folder / PARTS).is_dir())
    return sum((*signs, any(signs) and is_run_file(folder / RUN, _Version))) >= 2


def is_run_file(path: Path, kind: type[Any]) -> bool:
    """Whether a file is the `run.json` of a run directory, by the fields of this kind."""
    if not path.is_file():
        return False
    try:
        from_exact_json(files.read_all(path), kind)
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
    if not path.is_file():
        raise _damaged(path, "it is missing")
    data = files.read_all(path)
    try:
        # The version before the rest: a newer layout may have fields of other types, and is not damaged.
        version = from_exact_json(data, _Version).store
        if not _is_as_written(data):
            raise _damaged(path, "it is not what was written")
        if not 1 <= version <= VERSION:
            raise UsageError(
                f"{folder}: a run directory of version {version}, this pantrace knows versions 1 to {VERSION}; "
                "use the pantrace that made it, or make it again"
            )
        return from_exact_json(data, RunFile)
    except msgspec.ValidationError as error:
        raise _damaged(path, str(error)) from None
    except ReadError as error:
        raise error if isinstance(error, DamagedRunFile) else _damaged(path, str(error)) from None


def _is_as_written(data: bytes) -> bool:
    """Whether the file matches the hash inside it, whatever its version. A file without a hash is trusted."""
    plain = decode(data)
    given = plain.pop("sha256", None)
    return given is None or given == sha256(exact_json(plain)).hexdigest()


def _damaged(path: Path, why: str) -> DamagedRunFile:
    return DamagedRunFile(f"the header of the run is damaged: {why}", path=str(path), remedy=renewal(path.parent))


class DamagedRunFile(ReadError):
    """A run directory whose `run.json` is not what was written, or is missing."""


def write_run_file(folder: Path, content: RunFile) -> None:
    """Replace `run.json` in one step."""
    # Hashed as it will be read back: a header may contain 1 where the model says 1.0.
    as_read = from_exact_json(exact_json(msgspec.structs.replace(content, sha256=None)), RunFile)
    sealed = msgspec.structs.replace(as_read, sha256=sha256(exact_json(as_read)).hexdigest())
    replace_file(folder / RUN, exact_json(sealed, indent=2) + b"\n")
