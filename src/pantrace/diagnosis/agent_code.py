"""The agent's own code, as far as a judge may see it: a bounded number of text files, without secrets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from pantrace.errors import UsageError

LARGEST = 40_000
"""Larger files are not read (bytes)."""
FILES = 2_000
"""At most this many files are read."""
_NOT_CODE = {"node_modules", "__pycache__", "site-packages", "venv", "env", "dist", "build", "target", "vendor"}
_NOT_TO_BE_SEEN = ("secret", "credential", "password", "id_rsa", "id_ed25519", ".pem", ".key", ".p12", ".env")
_LISTS = (".lock", "-lock.json", ".csv", ".jsonl", ".ipynb", ".svg", ".min.js", ".map")
_TELLING = ("prompt", "instruction", "agent", "tool", "config", "readme")


class Code(msgspec.Struct, frozen=True):
    """The files that were read, and how many were not."""

    files: dict[str, str] = {}
    """Path below the directory -> its text."""
    left_out: int = 0


def read_code(folder: Path, clean: Callable[[str], str]) -> Code:
    """The text files of a directory with secrets removed, and without hidden files, links, packages and large files."""
    if not folder.is_dir():
        raise UsageError(f"--source {folder}: no such directory")
    found: dict[str, str] = {}
    left_out = 0
    for number, path in enumerate(_files(folder)):
        text = _text(path) if number < FILES else None
        if text is None:
            left_out += 1
        else:
            found[path.relative_to(folder).as_posix()] = clean(text)
    if not found:
        raise UsageError(f"--source {folder}: there is no text file in it")
    return Code(found, left_out)


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        # Sorted, so that the prompt is the same on every machine and the judge's cache finds it.
        folders[:] = sorted(each for each in folders if each not in _NOT_CODE and not each.startswith("."))
        yield from (Path(place) / name for name in sorted(names))


def _text(path: Path) -> str | None:
    name = path.name.lower()
    if name.startswith(".") or any(word in name for word in _NOT_TO_BE_SEEN) or name.endswith(_LISTS):
        return None
    try:
        # A link could lead out of the directory that the user allowed us to send.
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        content = path.read_bytes()
        return None if b"\0" in content else content.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def chosen_code(code: Code, subject: str, budget: int) -> dict[str, str]:
    """The files that fit into the budget: first those that mention the subject, then prompts, agents and tools."""

    def rank(path: str) -> tuple[bool, bool, int, str]:
        names = any(word and word in code.files[path] for word in subject.split(", "))
        return not names, not any(word in path.lower() for word in _TELLING), len(code.files[path]), path

    found: dict[str, str] = {}
    for path in sorted(code.files, key=rank):
        if len(code.files[path]) <= budget:
            found[path] = code.files[path]
            budget -= len(code.files[path])
    return found
