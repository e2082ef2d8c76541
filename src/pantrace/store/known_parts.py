"""Known parts: what a run directory held at one moment, for those who look into it and do not write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .json_text import sayable
from .manifest import CommittedPart
from .reading import read_kept
from .rows import Kept
from .run_file import PARTS
from .verify import damage


class KnownParts:
    """Parts by name, counting or set aside: small enough to be sent between processes."""

    def __init__(self, folder: Path, parts: Mapping[str, CommittedPart]):
        self._folder = folder
        self._parts = dict(parts)

    def damage(self, part: str) -> list[Path]:
        """The files of a part that are damaged or missing."""
        found = self._parts.get(sayable(part))
        return damaged_files(self._folder, found) if found is not None else []

    def has(self, part: str) -> bool:
        """Whether a part is there whole."""
        return sayable(part) in self._parts and not self.damage(part)

    def kept(self, part: str) -> list[Kept]:
        """The results of a part, as they were written."""
        found = self._parts.get(part)
        return read_kept(self._folder, found) if found is not None else []


def damaged_files(folder: Path, part: CommittedPart) -> list[Path]:
    """The files of a part that are damaged or missing."""
    files = [(folder / PARTS / each.file, each) for each in part.files]
    return [path for path, file in files if damage(path, file)]
