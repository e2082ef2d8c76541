"""Files beside an input: what changes how it is read changes its fingerprint, and nothing else of the folder does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from goldens import ROOT
from pantrace.engine.fingerprint import fingerprint, read_beside
from pantrace.engine.read import read
from pantrace.formats import by_name
from pantrace.wire.json import encode

FOLDERS = [
    ("atif", ROOT / "atif/by_reference"),
    ("claude-code", ROOT / "claude-code/subagent"),
    ("claude-code", ROOT / "claude-code/fork"),
    ("codex", ROOT / "codex/agents"),
    ("codex", ROOT / "codex/agents2"),
    ("gemini-cli", ROOT / "gemini-cli/agents"),
    ("otlp", ROOT / "otlp/spans_and_logs"),
]


def reading(path: Path, name: str) -> list[bytes]:
    return [encode(each) for each in read(path, format=name).samples]


def identity(path: Path, name: str) -> str:
    return fingerprint(path, by_name(name), "", "", "")


@pytest.mark.parametrize(("name", "folder"), FOLDERS, ids=[each.name for _, each in FOLDERS])
def test_what_changes_a_reading_changes_the_fingerprint(name: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "whole")
    files = sorted(each.relative_to(folder) for each in folder.rglob("*") if each.is_file())
    used = set()
    for number, gone in enumerate(files):
        # Another folder for each: readers remember for a moment what lies in one.
        work = tmp_path / str(number)
        shutil.copytree(folder, work)
        for path in files:
            if path == gone or path.name.endswith(".meta.json"):  # a note, which nobody reads by itself
                continue
            before, known = reading(work / path, name), identity(work / path, name)
            (work / gone).rename(tmp_path / "aside")
            try:
                if reading(work / path, name) != before:
                    used.add(gone)
                    assert identity(work / path, name) != known, f"{path} is read with {gone}"
            finally:
                (tmp_path / "aside").rename(work / gone)
    assert used


def test_sessions_that_have_nothing_to_do_with_each_other_are_not_read_together(tmp_path: Path) -> None:
    """Otherwise every file of a project would be hashed for every other one."""
    lines = (ROOT / "claude-code/trouble.jsonl").read_text()
    for number in range(5):
        (tmp_path / f"{number}.jsonl").write_text(lines.replace('uuid":"', f'uuid":"{number}'))
    assert not [*read_beside(tmp_path / "0.jsonl", by_name("claude-code"))]
