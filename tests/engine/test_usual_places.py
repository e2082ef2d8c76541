"""What a person has on disk is found where tools keep it."""

from __future__ import annotations

import os
from pathlib import Path

from pantrace.engine.usual_places import kept_in, usual_places


def made(path: Path, size: int, at: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (at, at))


def test_places_of_home_of_here_and_of_variables(tmp_path: Path) -> None:
    home, here, moved = tmp_path / "home", tmp_path / "work", tmp_path / "moved"
    made(home / ".claude" / "projects" / "-home-a" / "s.jsonl", 5, 100)
    made(home / ".claude" / "projects" / "-home-b" / "t.jsonl", 7, 300)
    made(home / ".claude" / "projects" / "-home-b" / "t" / "subagents" / "u.jsonl", 2, 200)
    made(moved / "sessions" / "2026" / "rollout.jsonl", 3, 50)
    made(here / "logs" / "x.eval", 1, 10)
    made(here / ".adk" / "eval_history" / "y.json", 1, 10)
    found = list(usual_places(home, here, {"CODEX_HOME": str(moved)}))
    assert [(each.tool, each.format) for each in found] == [
        ("Claude Code", "claude-code"),
        ("Codex", "codex"),
        ("Inspect", "inspect"),
        ("ADK", "adk-history"),
    ]
    newest, older = kept_in(found[0])
    assert (newest.project, newest.files, newest.bytes, newest.newest) == ("-home-b", 2, 9, 300)
    assert older.project == "-home-a"
    assert [each.project for each in kept_in(found[1])] == [None]


def test_a_person_without_any_tool(tmp_path: Path) -> None:
    assert list(usual_places(tmp_path, tmp_path, {})) == []
