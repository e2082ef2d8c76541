"""Workspaces: a directory for each trial, and what the agent changed in it."""

from __future__ import annotations

import difflib
import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

from pantrace.errors import UsageError
from pantrace.model import Media, Step
from pantrace.wire.file_names import clean

MOST_FILES = 2_000
MOST_BYTES = 200_000
"""Larger files are named in the diff but not shown."""


def fill(workspace: Path, fixtures: Path | None, case: str) -> None:
    """Create a workspace: empty, or a copy of the case's fixture (`DIR/CASE`), or of the directory itself."""
    if fixtures is None:
        workspace.mkdir(parents=True)
        return
    if not fixtures.is_dir():
        raise UsageError(f"--fixtures {fixtures}: there is no such directory")
    own = fixtures / clean(case)
    shutil.copytree(own if own.is_dir() else fixtures, workspace, symlinks=True)


def contents(workspace: Path) -> dict[str, bytes | None]:
    """The files of a workspace; None for a file that is too large to be shown, or that cannot be read."""
    found: dict[str, bytes | None] = {}
    # An agent may have replaced its workspace with a link to a directory that is not ours.
    for path in sorted(workspace.rglob("*")) if not workspace.is_symlink() else ():
        if len(found) >= MOST_FILES:
            break
        inside = path.relative_to(workspace)
        # A link may lead out of the workspace, and Git's own files would bury the agent's changes.
        if path.is_symlink() or ".git" in inside.parts or not path.is_file():
            continue
        try:
            found[inside.as_posix()] = path.read_bytes() if path.stat().st_size <= MOST_BYTES else None
        except OSError:
            found[inside.as_posix()] = None
    return found


def changes(before: dict[str, bytes | None], after: dict[str, bytes | None]) -> Step | None:
    """The changes in a workspace, as a note with a unified diff; None if there are none."""
    lines = [line for name in sorted(before.keys() | after.keys()) for line in _changed(name, before, after)]
    if not lines:
        return None
    if MOST_FILES in (len(before), len(after)):
        lines.append(f"More than {MOST_FILES:,} files: the others were not compared")
    data = b64encode("\n".join(lines).encode("utf-8", "surrogateescape")).decode()
    return Step(role="agent", kind="note", parts=(Media(mime="text/x-diff", name="workspace.diff", data=data),))


def _changed(name: str, before: dict[str, bytes | None], after: dict[str, bytes | None]) -> Iterator[str]:
    old, new = before.get(name, b""), after.get(name, b"")
    if name in before and name in after and old == new and old is not None:
        return
    texts = [_text(each) for each in (old, new)]
    if None in texts:
        if old is None and new is None:
            return
        yield f"Binary or large file {name} differs"
        return
    if not old and not new:
        yield f"New empty file {name}" if name in after else f"Empty file {name} deleted"
        return
    was, now = f"a/{name}" if name in before else "/dev/null", f"b/{name}" if name in after else "/dev/null"
    old_lines, new_lines = [each.splitlines() for each in texts if each is not None]
    yield from difflib.unified_diff(old_lines, new_lines, was, now, lineterm="")


def _text(data: bytes | None) -> str | None:
    if data is None or b"\0" in data:
        return None
    return data.decode("utf-8", "surrogateescape")
