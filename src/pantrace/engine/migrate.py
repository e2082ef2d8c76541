"""Migrate: documents of an older version of their format, written anew as of today."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError, UsageError
from pantrace.formats import Format
from pantrace.wire import files
from pantrace.wire.json import decode_document, encode

from .read import Notes, inputs

Migrated = tuple[Path, Path | None, str]
"""Input, output (None when nothing was written) and what was done."""


def migrate(paths: Iterable[str | Path], out_dir: str | Path | None = None) -> list[Migrated]:
    """Bring documents to the current version of their format; inputs are never changed.

    Outputs have the names of their inputs, in `out_dir`; without one they lie beside them as NAME.migrated.json, and
    what is current already is not written again. A name that occurs twice is led by its folder's."""
    folder = Path(out_dir) if out_dir is not None else None
    notes = Notes()
    done: list[Migrated] = []
    taken: set[Path] = set()
    for path, chosen, _ in inputs([Path(each) for each in paths], None, notes):
        if path.is_dir() or chosen.migrate is None:
            done.append((path, None, f"{chosen.name} has no older versions that can be migrated: left alone"))
            continue
        before, after = _migrated(path, chosen)
        current = encode(before) == encode(after)
        if current and folder is None:
            done.append((path, None, f"{chosen.name}: is current already"))
            continue
        target = _target(path, folder, taken)
        taken.add(target)
        with files.writing(target) as file:
            file.write(encode(after, indent=2) + b"\n")
        done.append((path, target, f"{chosen.name}: {'copied, is current already' if current else 'migrated'}"))
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


def _target(path: Path, folder: Path | None, taken: set[Path]) -> Path:
    if folder is None:
        target = path.with_name(f"{path.stem}.migrated{path.suffix or '.json'}")
    else:
        target = folder / path.name
        if target in taken:
            target = folder / f"{path.parent.name}_{path.name}"
        if target.resolve() == path.resolve():
            raise UsageError(f"{path} would be overwritten: give another folder with -o")
    if target in taken:
        raise UsageError(f"two inputs would be written as {target}: migrate them one by one")
    return target
