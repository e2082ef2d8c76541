"""Claims: which files of a directory belong to a format that reads the directory as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path


@dataclass(frozen=True)
class Claim:
    """The files a format claims; all other files of the directory are searched one by one."""

    holds: Callable[[Path], bool]
    """Whether a file belongs to it."""
    reaches: Callable[[Path], bool]
    """Whether files in a folder may belong to it; such a folder is not detected as a whole."""


def everything(folder: Path) -> Claim:
    """A claim on all files, for formats that do not say more."""
    return Claim(holds=lambda _: True, reaches=lambda _: True)


def of_patterns(folder: Path, *patterns: str) -> Claim:
    """Claim files below a folder whose paths match a pattern part by part: "tasks/*/task.json"."""
    start = folder.parts
    wanted = [tuple(pattern.split("/")) for pattern in patterns]

    def holds(path: Path) -> bool:
        inner = path.parts[len(start) :]
        if path.parts[: len(start)] != start:
            return False
        # Part by part: with fnmatch on the whole path, a * would also match slashes.
        return any(len(inner) == len(each) and all(map(fnmatchcase, inner, each)) for each in wanted)

    def reaches(path: Path) -> bool:
        # A folder above the claimed one: the search must go through it.
        if len(path.parts) < len(start):
            return path.parts == start[: len(path.parts)]
        inner = path.parts[len(start) :]
        if path.parts[: len(start)] != start:
            return False
        # `map` stops at the shorter one: only the folders so far are compared.
        return any(len(inner) < len(each) and all(map(fnmatchcase, inner, each)) for each in wanted)

    return Claim(holds, reaches)


def inside(folder: Path) -> Claim:
    """Claim everything in a folder, however deep."""
    return Claim(
        holds=lambda path: path.is_relative_to(folder),
        reaches=lambda path: path.is_relative_to(folder) or folder.is_relative_to(path),
    )


def either(*claims: Claim) -> Claim:
    """Claim what any of several claims covers."""
    return Claim(
        holds=lambda path: any(each.holds(path) for each in claims),
        reaches=lambda path: any(each.reaches(path) for each in claims),
    )
