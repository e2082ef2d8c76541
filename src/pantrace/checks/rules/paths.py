"""Paths in tool arguments, and whether one lies below another."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import Any

USUAL = ("filePath", "file_path", "path", "search_path", "directory", "dir", "filename", "files[].path", "paths[]")
"""Arguments that hold paths where a rule file does not say."""


def paths_in(arguments: Any, selectors: Iterable[str]) -> list[str]:
    """The paths that a call's arguments name."""
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


def covers(folder: str, path: str) -> bool:
    """Whether a path is a folder or file itself or lies below it. A relative path is found anywhere on an absolute one,
    since recordings mix both; "." and "" mean the whole working directory."""
    above, below = _segments(folder), _segments(path)
    if not above:
        return True
    if folder.startswith("/") or not path.startswith("/"):
        return below[: len(above)] == above
    return any(below[start : start + len(above)] == above for start in range(len(below) - len(above) + 1))


def _segments(path: str) -> list[str]:
    clean = posixpath.normpath(path.replace("\\", "/").strip())
    return [part for part in clean.split("/") if part not in ("", ".")]
