"""One of something is not several: messages with a count of 1."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from goldens import ROOT
from pantrace.cli import cli


@pytest.fixture
def path(tmp_path: Path) -> str:
    step = {"role": "agent", "parts": [{"type": "text", "text": "hi"}], "usage": {"input": 5, "output": 5}}
    lines = [{"pantrace": "2", "run": {"name": "r"}}, {"id": "a", "trajectory": {"steps": [step]}}]
    (tmp_path / "a.trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(tmp_path / "a.trace.jsonl")


def test_one_sample_was_read(path: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["show", path, "--where", "agent=x"])
    assert "1 sample was read, but none matches" in done.stderr
    out = str(tmp_path / "o.json")
    done = CliRunner().invoke(cli, ["convert", path, "--to", "otlp", "-o", out, "--where", "agent=x"])
    assert "1 samples" not in done.stderr


def test_a_small_report_has_a_size(path: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["report", path, "-o", str(tmp_path / "r.md")], catch_exceptions=False)
    assert "0.0 MB" not in done.stderr
    assert "bytes" in done.stderr or "kB" in done.stderr


def test_notes_without_text_are_folded_into_one_line() -> None:
    source = str(ROOT / "codex" / "note.jsonl")
    told = CliRunner().invoke(cli, ["show", source, "--no-pager"], catch_exceptions=False).stdout
    lines = [line.strip() for line in told.splitlines()]
    assert "3 notes (--full shows them)" in lines
    notes = [number for number, line in enumerate(lines) if line.startswith("system ") and line.endswith(" note")]
    assert not any(one + 1 == other for one, other in itertools.pairwise(notes))
    full = CliRunner().invoke(cli, ["show", source, "--no-pager", "--full"], catch_exceptions=False).stdout
    assert "notes (--full" not in full
    assert not any(line.endswith("  0.0 s") or "  0.0 s  " in line for line in full.splitlines())
