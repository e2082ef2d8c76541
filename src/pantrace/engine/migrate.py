"""Migrate: documents of an older version of their format, written anew as of today."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError, UsageError
from pantrace.formats import Format
from pantrace.wire import files
from pantrace.wire.json import decode_document, encode
from pantrace.wire.output import writing

from .overwriting import Output, refuse_overwriting
from .read import Notes, inputs

Migrated = tuple[Path, Path | None, str]
"""Input, output (None when nothing was written) and what was done."""


def migrate(paths: Iterable[str | Path], out_dir: str | Path | None = None) -> list[Migrated]:
    """Bring documents to the current version of their format; inputs are never changed.

    Outputs have the names of their inputs, in `out_dir`; without one they lie beside them as NAME.migrated.json, and
    what is current already is not written again. A name that occurs twice is led by its folder's."""
    folder = Path(out_dir) if out_dir is not None else None
    sources = [Path(each) for each in paths]
    if folder is not None:
        refuse_overwriting(sources, [Output(folder, recording=True)])
    targets: dict[Path, Path | None] = {}
    found = list(inputs(sources, None, Notes()))
    for path, chosen, _ in found:
        movable = not path.is_dir() and chosen.migrate is not None
        targets[path] = _target(path, folder, targets.values()) if movable else None
    if folder is not None:
        refuse_overwriting(targets, [Output(target) for target in targets.values() if target is not None])
    return [_written(path, targets[path], chosen, anew=folder is None) for path, chosen, _ in found]


def _written(path: Path, target: Path | None, chosen: Format, *, anew: bool) -> Migrated:
    """One document brought to today's version; `anew`: it lies beside its input, where nothing is written over."""
    if target is None:
        return path, None, f"{chosen.name} has no older versions that can be migrated: left alone"
    before, after = _migrated(path, chosen)
    current = encode(before) == encode(after)
    if current and anew:
        return path, None, f"{chosen.name}: is current already"
    if anew and target.exists():
        return path, None, f"{chosen.name}: {target.name} is there already: left alone"
    with writing(target) as file:
        file.write(encode(after, indent=2) + b"\n")
    return path, target, f"{chosen.name}: {'copied, is current already' if current else 'migrated'}"


def _migrated(path: Path, chosen: Format) -> tuple[Any, Any]:
    assert chosen.migrate is not None
    try:
        before = decode_document(files.read_all(path))
        return before, chosen.migrate(before)
    except ReadError as error:
        raise error.at(path=str(path)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReadError(f"cannot be migrated as {chosen.name}: {error}", path=str(path)) from None


def _target(path: Path, folder: Path | None, taken: Collection[Path | None]) -> Path:
    if folder is None:
        target = path.with_name(f"{path.stem}.migrated{path.suffix or '.json'}")
    else:
        target = folder / path.name
        if target in taken:
            target = folder / f"{path.parent.name}_{path.name}"
    if target in taken:
        raise UsageError(f"two inputs would be written as {target}: migrate them one by one")
    return target
