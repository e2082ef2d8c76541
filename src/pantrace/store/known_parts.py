"""Known parts: what a run directory contained at one moment, for processes that read it and do not write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from .json_text import sayable
from .manifest import CommittedPart
from .reading import read_kept, read_rows
from .rows import Kept
from .run_file import PARTS
from .verify import damage


class KnownParts:
    """Parts by name, whether they count or are set aside; small enough to be sent between processes."""

    def __init__(self, folder: Path, parts: Mapping[str, CommittedPart]):
        self._folder = folder
        self._parts = dict(parts)

    def damage(self, part: str) -> list[Path]:
        """The files of a part that are damaged or missing."""
        found = self._parts.get(sayable(part))
        return damaged_files(self._folder, found) if found is not None else []

    def has(self, part: str) -> bool:
        """Whether a part is there and intact."""
        return sayable(part) in self._parts and not self.damage(part)

    def kept(self, part: str) -> list[Kept]:
        """The results of a part, as they were written."""
        found = self._parts.get(part)
        return read_kept(self._folder, found) if found is not None else []

    def rows(self, part: str, table: str, *names: str, only: tuple[str, Collection[str]]) -> Iterator[tuple[Any, ...]]:
        """Some columns of a part's table: those rows that have one of these texts in this column."""
        found = self._parts.get(part)
        return read_rows(self._folder, found, table, *names, only=only) if found is not None else iter(())


def damaged_files(folder: Path, part: CommittedPart) -> list[Path]:
    """The files of a part that are damaged or missing."""
    files = [(folder / PARTS / each.file, each) for each in part.files]
    return [path for path, file in files if damage(path, file)]
