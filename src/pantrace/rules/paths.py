"""Finds paths in tool arguments, and whether one is below another."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import Any

USUAL = ("filePath", "file_path", "path", "search_path", "directory", "dir", "filename", "files[].path", "paths[]")
"""Arguments that are taken for paths if a rule file does not name any."""


def paths_in(arguments: Any, selectors: Iterable[str]) -> list[str]:
    """The paths in a call's arguments."""
    if not isinstance(arguments, dict):
        return []
    return [found for selector in selectors for found in _select(arguments, selector.split("."))]


def _select(value: Any, steps: list[str]) -> Iterator[str]:
    if not steps:
        if isinstance(value, str):
            yield value
        return
    name = steps[0].removesuffix("[]")
    inner = value.get(name) if isinstance(value, dict) else None
    if steps[0].endswith("[]"):
        for item in inner if isinstance(inner, list) else ():
            yield from _select(item, steps[1:])
    else:
        yield from _select(inner, steps[1:])


class Searched:
    """Folders and files that were searched. The time of a lookup does not depend on their number."""

    def __init__(self) -> None:
        self._absolute: set[tuple[str, ...]] = set()
        self._relative: set[tuple[str, ...]] = set()

    def add(self, folder: str) -> None:
        """Add a folder or file."""
        (self._absolute if folder.startswith("/") else self._relative).add(_segments(folder))

    def covers(self, path: str) -> bool:
        """Whether a path is one of the places or below one. A relative place may be anywhere in an absolute path, as
        recordings mix both; "." and "" mean the whole working directory."""
        below = _segments(path)
        starts = range(len(below) + 1 if path.startswith("/") else 1)
        return any(below[:end] in self._absolute for end in range(len(below) + 1)) or any(
            below[start:end] in self._relative for start in starts for end in range(start, len(below) + 1)
        )


def covers(folder: str, path: str) -> bool:
    """Whether a path is this folder or file, or below it, by the rules of `Searched`."""
    place = Searched()
    place.add(folder)
    return place.covers(path)


def _segments(path: str) -> tuple[str, ...]:
    # Recordings from Windows have backslashes.
    clean = posixpath.normpath(path.replace("\\", "/").strip())
    return tuple(part for part in clean.split("/") if part not in ("", "."))
