"""Sub-agents whose trajectories lie in files beside the one that started them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Sample, ToolResult, Trajectory
from pantrace.wire import files
from pantrace.wire.carry_rest import Load
from pantrace.wire.json import decode_document
from pantrace.wire.optional import list_of, object_of
from pantrace.wire.read_listener import listening
from pantrace.wire.rows import OnBroken

from .read import REFERENCE, one_or_several, references

_MARK = b'"trajectory_path"'
_MOST = 200
"""How many files of a folder are searched at most for one that refers to another."""


def resolve(sample: Sample, path: Path, load: Load, on_broken: OnBroken) -> Sample:
    """A sample with the trajectories that its results refer to by file name."""
    trajectory = sample.trajectory
    if trajectory is None:
        return sample
    children = list(trajectory.children)
    for step in trajectory.steps:
        for part in step.parts:
            for name in _paths(part) if isinstance(part, ToolResult) else ():
                child = _read(path.parent / name, load, on_broken)
                if child is not None:
                    caller = part.call_id if isinstance(part, ToolResult) else None
                    children.append(msgspec.structs.replace(child, parent=trajectory.id, caller=caller))
    if len(children) == len(trajectory.children):
        return sample
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(trajectory, children=tuple(children)))


def referred(path: Path) -> Iterator[Path]:
    """The files that a document refers to; none if it cannot be read, which whoever reads it says."""
    try:
        with listening(None):  # not a reading of the document
            data = files.read_all(path)
            row = object_of(decode_document(data)) if _MARK in data else {}
    except ReadError:
        return
    for step in list_of(row.get("steps")):
        for result in list_of(object_of(object_of(step).get("observation")).get("results")):
            for name in _names(one_or_several(object_of(result).get(REFERENCE))):
                yield path.parent / name


def _paths(result: ToolResult) -> list[str]:
    """Names of files in the same folder; paths that lead elsewhere are not followed."""
    return _names(references(result))


def _names(given: list[dict[str, Any]]) -> list[str]:
    found = [each.get("trajectory_path") for each in given]
    return [name for name in found if isinstance(name, str) and name == Path(name).name]


def _read(path: Path, load: Load, on_broken: OnBroken) -> Trajectory | None:
    try:
        if not path.is_file():
            return None  # the reference itself is kept
    except OSError:
        return None  # no file can have such a name
    try:
        return load(decode_document(files.read_all(path))).trajectory
    except ReadError as error:
        on_broken(error.at(path=str(path)))
        return None


def owner(path: Path) -> Path | None:
    """The document that refers to a file as its sub-agent's trajectory."""
    name = path.name.encode()
    # A sub-agent's document does not name its parent, so the other files are searched for its name.
    for number, other in enumerate(sorted(path.parent.glob("*.json"))):
        if number == _MOST:
            break
        if other != path and _refers(other, name):
            return other
    return None


def _refers(path: Path, name: bytes) -> bool:
    try:
        with listening(None):  # a search, which must not count as reading the file
            data = files.read_all(path)
    except ReadError:
        return False
    return _MARK in data and b'"' + name + b'"' in data
