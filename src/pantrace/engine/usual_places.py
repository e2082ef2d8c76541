"""The usual places: where well-known tools keep their recordings on this machine. They are only read, never changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """A folder in which a tool keeps its recordings."""

    tool: str
    path: Path
    format: str | None
    """The format that reads it; None if pantrace cannot read this tool's recordings."""


_HOMES: tuple[tuple[str, str | None, str, str | None], ...] = (
    # tool, environment variable that moves its home, path below it (or below the user's home), format
    ("Claude Code", "CLAUDE_CONFIG_DIR", ".claude/projects", "claude-code"),
    ("Claude Code", None, ".config/claude/projects", "claude-code"),
    ("Codex", "CODEX_HOME", ".codex/sessions", "codex"),
    ("Codex (archived)", "CODEX_HOME", ".codex/archived_sessions", "codex"),
    ("OpenCode", None, ".local/share/opencode", "opencode"),
    ("Gemini CLI", None, ".gemini/tmp", "gemini-cli"),
    ("Qwen Code", None, ".qwen/projects", "qwen-code"),
    ("Pi", None, ".pi/agent/sessions", "pi"),
    ("OpenClaw", None, ".openclaw/agents", "pi"),
    ("Copilot", None, ".copilot/session-state", "copilot"),
    ("Cursor", None, ".cursor/projects", "cursor"),
    ("OpenHands", None, ".openhands/conversations", "openhands"),
    ("mini-swe-agent", None, ".config/mini-swe-agent", "mini-swe-agent"),
    ("Goose", None, ".local/share/goose/sessions", None),
)
_HERE: tuple[tuple[str, str, str], ...] = (
    ("Inspect", "logs", "inspect"),
    ("ADK", ".adk/eval_history", "adk-history"),
    ("ADK", ".adk", "adk-session"),
)


def usual_places(home: Path, here: Path, environment: Mapping[str, str]) -> Iterator[Place]:
    """The places that exist, of tools that keep recordings in the user's home or in the current folder."""
    for tool, variable, below, format_ in _HOMES:
        moved = environment.get(variable) if variable is not None else None
        # The variable names the tool's own folder, which is the first part of the usual path. Claude Code's may list
        # several, separated by commas.
        moves = [each.strip() for each in moved.split(",") if each.strip()] if moved else []
        paths = [Path(each, *Path(below).parts[1:]) for each in moves] or [home / below]
        if tool == "OpenCode" and (data := environment.get("XDG_DATA_HOME")):
            paths = [Path(data) / "opencode"]
        yield from (Place(tool, path, format_) for path in paths if path.is_dir())
    seen: set[Path] = set()
    for tool, below, format_ in _HERE:
        path = here / below
        if path.is_dir() and not any(path == each or path in each.parents for each in seen):
            seen.add(path)
            yield Place(tool, path, format_)


class Kept(NamedTuple):
    """What a tool keeps for one project, judged by its files alone: nothing is opened."""

    tool: str
    project: str | None
    """The folder below the place, if the tool has one for each project."""
    path: Path
    format: str | None
    files: int
    bytes: int
    newest: float
    """When the newest file was written."""


_BY_PROJECT = {"claude-code", "qwen-code", "gemini-cli"}


def kept_in(place: Place) -> list[Kept]:
    """What is in a place, by project, the newest first."""
    folders = [place.path]
    if place.format in _BY_PROJECT:
        folders = sorted(each for each in place.path.iterdir() if each.is_dir())
    found = []
    for folder in folders:
        files = [each.stat() for each in folder.rglob("*") if each.is_file()]
        if files:
            project = folder.name if folder != place.path else None
            newest = max(each.st_mtime for each in files)
            size = sum(each.st_size for each in files)
            found.append(Kept(place.tool, project, folder, place.format, len(files), size, newest))
    return sorted(found, key=lambda each: -each.newest)
