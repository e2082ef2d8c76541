"""Finds recordings in a directory: databases first, then the trees that older versions left."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pantrace.errors import ReadError
from pantrace.wire.claimed_files import Claim, either, of_patterns
from pantrace.wire.head import Head

from . import database
from .storage import is_first


class Place(NamedTuple):
    """One source of sessions in a directory."""

    variant: str
    path: Path


def places(folder: Path) -> list[Place]:
    """The recordings in a data directory, a `storage` folder, a `project` folder or one of its slugs, newest first."""
    try:
        found = [Place("sqlite", path) for path in sorted(folder.glob("opencode*.db")) if _is_database(path)]
        for storage in (folder, folder / "storage"):
            if _is_tree(storage):
                found.append(Place("project-storage" if is_first(storage) else "storage", storage))
        # Users may name any of these levels.
        for pattern in ("project/*/storage", "*/storage") if folder.name == "project" else ("project/*/storage",):
            found += [Place("project-storage", path) for path in sorted(folder.glob(pattern)) if is_first(path)]
    except OSError:
        return []
    return found


_TREE = (
    "session/*/*.json",
    "message/*/*.json",
    "part/*/*.json",
    "todo/*.json",
    "session_diff/*.json",
    "project/*.json",
    "migration",
)
_FIRST_TREE = ("session/info/*.json", "session/message/*/*.json", "session/part/*/*/*.json")


def claim(folder: Path) -> Claim:
    """The files that the sessions of a directory are read from."""
    return either(*(_claim(place) for place in places(folder)))


def _claim(place: Place) -> Claim:
    around = place.path.parent
    if place.variant == "sqlite":
        # `-wal` and `-shm` belong to the database: the newest messages may be only in the first.
        return of_patterns(around, place.path.name, f"{place.path.name}-*", "tool-output/*")
    tree = of_patterns(place.path, *(_FIRST_TREE if place.variant == "project-storage" else _TREE))
    return either(tree, of_patterns(around, "tool-output/*", "app.json"))


def _is_database(path: Path) -> bool:
    head = Head(path)
    try:
        return path.is_file() and head.kind == "sqlite" and database.has_its_tables(head.tables)
    except ReadError:
        return True  # it has the right name: opening it gives an error that says what is wrong; skipping would hide it


def _is_tree(storage: Path) -> bool:
    if not (storage / "session").is_dir():
        return False
    if is_first(storage):
        return next(storage.glob("session/info/ses_*.json"), None) is not None
    return next(storage.glob("session/*/ses_*.json"), None) is not None or (
        # Messages without any session file are read, too (see `storage`).
        (storage / "message").is_dir() and (storage / "migration").is_file()
    )


def is_export(record: Any) -> bool:
    """Whether a value is an export document, or the beginning of one."""
    info = record.get("info") if isinstance(record, dict) else None
    if (
        not isinstance(info, dict)
        or not isinstance(info.get("id"), str)
        or not isinstance(record.get("messages"), list)
    ):
        return False
    first = record["messages"][0] if record["messages"] else {"info": {}}
    # `info` and `messages` are common words: mini-swe-agent's files have both.
    known = "projectID" in info or "slug" in info or info["id"].startswith("ses_")
    return known and isinstance(first, dict) and isinstance(first.get("info"), dict)
