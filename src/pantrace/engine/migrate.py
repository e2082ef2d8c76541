"""Migrate: writes documents of an older version of their format in the newest one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError, UsageError
from pantrace.formats import Format
from pantrace.model import Record
from pantrace.places import path_at
from pantrace.wire import files
from pantrace.wire.json import decode_document, encode
from pantrace.wire.output import writing

from .overwriting import Output, refuse_overwriting
from .read import Notes, inputs


class Migrated(Record, frozen=True, kw_only=True):
    """The result for one input."""

    input: Path
    output: Path | None = None
    """None if nothing was written."""
    what: str
    document: Any = None
    """The migrated document, if it is to be printed."""


def migrate(paths: Iterable[str | Path], out: str | Path | None = None) -> list[Migrated]:
    """Convert documents to the current version of their format; inputs are never changed.

    They are written to the folder `out` under the names of their inputs; if a name occurs twice, the name of its folder
    is put in front. For a single input, `out` can be a file. Without `out` there must be a single file, whose document
    is returned."""
    given = [path_at(each) for each in paths]
    alone = len(given) == 1 and not given[0].is_dir()
    if out is None and not alone:
        raise UsageError("several documents need a folder to go to: name it with -o")
    target = Path(out) if out is not None else None
    # Twice: now for the folder as a whole, and below for the single files, whose names are only known after reading.
    if target is not None:
        refuse_overwriting(given, [Output(target, recording=True)])
    found = [(path, chosen) for path, chosen, _ in inputs(given, None, Notes())]
    targets: dict[Path, Path] = {}
    for path, chosen in found:
        if target is not None and _is_movable(path, chosen):
            targets[path] = _target(path, target, targets.values(), alone=alone)
    refuse_overwriting([path for path, _ in found], [Output(each) for each in targets.values()])
    return [_one(path, chosen, targets.get(path), printed=target is None) for path, chosen in found]


def _is_movable(path: Path, chosen: Format) -> bool:
    return not path.is_dir() and chosen.migrate is not None


def _one(path: Path, chosen: Format, target: Path | None, *, printed: bool) -> Migrated:
    if not _is_movable(path, chosen):
        what = f"{chosen.name} has no older versions that can be migrated"
        if printed:
            raise UsageError(f"{path}: {what}")
        return Migrated(input=path, what=f"{what}: left alone")
    before, after = _migrated(path, chosen)
    # Shows whether anything changed, without knowing the versions of each format.
    current = encode(before) == encode(after)
    if target is None:
        what = "is already current" if current else "migrated"
        return Migrated(input=path, what=f"{chosen.name}: {what}", document=after)
    with writing(target) as file:
        file.write(encode(after, indent=2) + b"\n")
    what = "copied, already current" if current else "migrated"
    return Migrated(input=path, output=target, what=f"{chosen.name}: {what}")


def _migrated(path: Path, chosen: Format) -> tuple[Any, Any]:
    assert chosen.migrate is not None
    try:
        before = decode_document(files.read_all(path))
        return before, chosen.migrate(before)
    except ReadError as error:
        raise error.at(path=str(path)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReadError(f"cannot be migrated as {chosen.name}: {error}", path=str(path)) from None


def _target(path: Path, out: Path, taken: Collection[Path], *, alone: bool) -> Path:
    target = out if alone and out.suffix and not out.is_dir() else out / path.name
    if target in taken:
        target = out / f"{path.parent.name}_{path.name}"
    if target in taken:
        raise UsageError(f"two inputs would be written as {target}: migrate them one by one")
    return target
