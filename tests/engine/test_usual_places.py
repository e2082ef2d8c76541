"""What a person has on disk is found where tools keep it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
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


def test_claude_code_may_be_kept_in_several_places(tmp_path: Path) -> None:
    for name in ("one", "two"):
        made(tmp_path / name / "projects" / "-home-a" / "s.jsonl", 5, 100)
    made(tmp_path / ".config" / "claude" / "projects" / "-home-b" / "t.jsonl", 5, 100)
    listed = {"CLAUDE_CONFIG_DIR": f"{tmp_path / 'one'}, {tmp_path / 'two'}"}
    found = [each.path.relative_to(tmp_path).parts[0] for each in usual_places(tmp_path, tmp_path, listed)]
    assert found == ["one", "two", ".config"]


def test_a_person_without_any_tool(tmp_path: Path) -> None:
    assert list(usual_places(tmp_path, tmp_path, {})) == []


def test_without_a_path_commands_look_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    golden = Path(__file__).parents[1] / "golden" / "claude-code"
    shutil.copytree(golden, home / ".claude" / "projects" / "-home-alex")
    given = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": "", "CODEX_HOME": ""}

    def pantrace(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pantrace", *words]
        return subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)

    (kept,) = json.loads(pantrace("detect", "--json").stdout)
    assert (kept["tool"], kept["project"], kept["format"]) == ("Claude Code", "-home-alex", "claude-code")
    listed = pantrace("show", "--json")
    assert listed.returncode == 0 and json.loads(listed.stdout)
    assert "no path was given; read: home/.claude/projects/-home-alex (`pantrace detect` lists them)" in listed.stderr
    nothing = pantrace("show", "--since", "1m", "--where", "agent=nobody")
    assert nothing.returncode == 2
    shutil.rmtree(home)
    missing = pantrace("detect")
    assert missing.returncode == 2 and "name a path" in missing.stderr
