"""Recognises which of the format's shapes an input has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pantrace.errors import ReadError
from pantrace.wire.claimed_files import Claim, of_patterns
from pantrace.wire.head import Head

from . import arena, logs
from .benchmark import is_execution
from .older_shapes import is_demo, is_episode, is_legacy

Shape = Literal[
    "episode",
    "legacy",
    "demo",
    "step-log",
    "planner",
    "full-eval",
    "arena",
    "execution",
    "benchmark-run",
    "arena-results",
    "episode-folder",
]

_DATA = (".json", ".jsonl", ".ndjson", ".db", ".sqlite", ".zip", ".eval", ".parquet")
_PICTURES = (".png", ".jpg", ".jpeg", ".webp")
_LOOKS = 400
"""At most this many folders are opened; after that, a directory is taken for what it looks like so far."""


def shape_of(head: Head) -> Shape | None:
    """The shape of an input; None if it is none of ours."""
    if head.kind == "directory":
        return _folder_shape(head.path)
    if head.kind != "json":
        return None
    row = head.record
    if head.may_be_document and isinstance(inner := row.get("episodes"), list) and inner:
        row = inner[0]
    if is_execution(row):
        return "execution"
    return row_shape(row) if isinstance(row, dict) else None


def row_shape(row: dict[str, Any]) -> Shape | None:
    """The shape of one record."""
    if is_episode(row):
        return "episode"
    if is_legacy(row):
        return "legacy"
    if is_demo(row):
        return "demo"
    if logs.is_step_log(row):
        return "step-log"
    if logs.is_planner(row):
        return "planner"
    if logs.is_meta(row) or logs.is_task_result(row):
        return "full-eval"
    return "arena" if arena.is_row(row) else None


def _folder_shape(path: Path) -> Shape | None:
    if (path / "metadata.json").is_file() and next(path.glob("tasks/*/execution.json"), None) is not None:
        return "benchmark-run"
    if _leads_to_tasks(path, 6, [_LOOKS]):
        return "arena-results"
    return "episode-folder" if _holds_episodes(path) else None


def claim(folder: Path) -> Claim:
    """The files that the episodes of a directory are read from, their pictures included."""
    shape = _folder_shape(folder)
    if shape == "benchmark-run":
        tasks = ("tasks/*/task.json", "tasks/*/execution.json", "tasks/*/screenshots/*")
        return of_patterns(folder, "metadata.json", "summary.json", *tasks)
    if shape == "arena-results":
        return Claim(holds=lambda file: (file.parent / "traj.jsonl").is_file(), reaches=lambda _: True)
    pictures = [f"{place}*{ending}" for place in ("", "*/") for ending in _PICTURES]
    return of_patterns(folder, "*.json", *pictures)


def _leads_to_tasks(folder: Path, depth: int, looks: list[int]) -> bool | None:
    """Whether every branch ends at a traj.jsonl; None for a folder that does not tell (a task that never began)."""
    if looks[0] <= 0:
        return True
    looks[0] -= 1
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return None
    if any(entry.name == "traj.jsonl" for entry in found):
        return _is(folder / "traj.jsonl", "arena")
    # `logs` is the arena's own folder and has no tasks.
    folders = [entry for entry in found if _is_dir(entry) and entry.name != "logs" and not entry.name.startswith(".")]
    # Data of another kind on the way down: this is a mixed pile, and each file in it must be looked at for itself.
    if any(entry.name.lower().endswith(_DATA) for entry in found if not _is_dir(entry)):
        return False
    if depth == 0 or not folders:
        return None if not folders else False
    answers = {_leads_to_tasks(Path(entry.path), depth - 1, looks) for entry in folders}
    return False if False in answers else True if True in answers else None


def _holds_episodes(folder: Path) -> bool:
    """Whether a folder is nothing but episodes and their pictures."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return False
    named = [entry for entry in found if not _is_dir(entry) and not entry.name.lower().endswith(_PICTURES)]
    documents = [entry for entry in named if entry.name.lower().endswith(".json")]
    # One other file is enough to say no: claiming the folder would hide that file.
    if not documents or len(documents) < len(named):
        return False
    return all(_is(Path(entry.path), "episode", "legacy", "demo") for entry in documents[:_LOOKS]) and all(
        _holds_pictures(entry.path) for entry in found if _is_dir(entry)
    )


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads in a circle


def _is(path: Path, *shapes: Shape) -> bool:
    try:
        return shape_of(Head(path)) in shapes
    except ReadError:
        return False


def _holds_pictures(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return all(entry.name.lower().endswith(_PICTURES) for entry in entries)
    except OSError:
        return False


def detect(head: Head) -> str | None:
    return version_of(head, shape_of(head))


def version_of(head: Head, shape: Shape | None) -> str | None:
    """The schema's version for episodes, else the name of the shape."""
    if shape == "episode":
        row = head.record
        inner = row.get("episodes")
        row = inner[0] if isinstance(inner, list) and inner else row
        return str(row.get("schema_version") or "")
    return shape
