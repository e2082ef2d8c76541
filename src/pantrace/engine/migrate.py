"""Migrate: documents of an older version of their format, written anew as of today."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError, UsageError
from pantrace.formats import Format
from pantrace.model import Record
from pantrace.wire import files
from pantrace.wire.json import decode_document, encode

from .read import Notes, inputs


class Migrated(Record, frozen=True, kw_only=True):
    """What became of one input."""

    input: Path
    output: Path | None = None
    """None when nothing was written."""
    what: str
    document: Any = None
    """The document of today, where it was to be printed."""


def migrate(paths: Iterable[str | Path], out: str | Path | None = None) -> list[Migrated]:
    """Bring documents to the current version of their format; inputs are never changed.

    They go into the folder `out` under the names of their inputs, a name that occurs twice led by its folder's; one
    file may also be given a file. Without `out` there must be one file, whose document is handed back."""
    given = [Path(each) for each in paths]
    alone = len(given) == 1 and not given[0].is_dir()
    if out is None and not alone:
        raise UsageError("several documents need a folder to go to: name it with -o")
    target = Path(out) if out is not None else None
    done: list[Migrated] = []
    taken: set[Path] = set()
    for path, chosen, _ in inputs(given, None, Notes()):
        if path.is_dir() or chosen.migrate is None:
            what = f"{chosen.name} has no older versions that can be migrated"
            if target is None:
                raise UsageError(f"{path}: {what}")
            done.append(Migrated(input=path, what=f"{what}: left alone"))
            continue
        before, after = _migrated(path, chosen)
        current = encode(before) == encode(after)
        if target is None:
            what = "is current already" if current else "migrated"
            done.append(Migrated(input=path, what=f"{chosen.name}: {what}", document=after))
            continue
        written = _target(path, target, taken, alone=alone)
        taken.add(written)
        with files.writing(written) as file:
            file.write(encode(after, indent=2) + b"\n")
        what = "copied, is current already" if current else "migrated"
        done.append(Migrated(input=path, output=written, what=f"{chosen.name}: {what}"))
    return done


def _migrated(path: Path, chosen: Format) -> tuple[Any, Any]:
    assert chosen.migrate is not None
    try:
        before = decode_document(files.read_all(path))
        return before, chosen.migrate(before)
    except ReadError as error:
        raise error.at(path=str(path)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReadError(f"cannot be migrated as {chosen.name}: {error}", path=str(path)) from None


def _target(path: Path, out: Path, taken: set[Path], *, alone: bool) -> Path:
    target = out if alone and out.suffix and not out.is_dir() else out / path.name
    if target in taken:
        target = out / f"{path.parent.name}_{path.name}"
    if target.resolve() == path.resolve():
        raise UsageError(f"{path} would be overwritten: give another folder with -o")
    if target in taken:
        raise UsageError(f"two inputs would be written as {target}: migrate them one by one")
    return target
