"""A server that echoes the key it was asked with: over real HTTP, nothing that stays behind knows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loopback import Act, Script, loopback, verdict

ROOT = Path(__file__).parents[3]
KEY = "open-sesame-4711"
"""No rule knows its form."""
OTHERS = {"AZURE_OPENAI_API_KEY": "the-azure-word-0815", "GEMINI_API_KEY": "gemini-word-1234"}


def _with_model(name: str) -> Act:
    message = {"role": "assistant", "content": verdict(3).text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body: dict[str, Any] = {"id": KEY, "object": "chat.completion", "created": 1, "model": name, "choices": [choice]}
    return Act(body=json.dumps(body).encode())


ALL = " ".join((KEY, *OTHERS.values()))
ECHOES: dict[str, tuple[Script, int]] = {
    "reason": (lambda *_: verdict(4, f"I was asked with {ALL}"), 0),
    "escaped reason": (lambda *_: Act('So: {"reason": "\\u006fpen-sesame-4711", "score": 4}'), 0),
    "no verdict": (lambda *_: Act(f"{ALL} is not a verdict"), 3),
    "model": (lambda *_: _with_model(f"model-{KEY}"), 0),
    "wrong key": (lambda *_: Act(f"Incorrect API key provided: {ALL}", status=401), 3),
    "cut error": (lambda *_: Act("x" * 221 + f" {ALL}", status=500), 3),
    "error page": (lambda *_: Act(body=f"<html>Authorization: Bearer {KEY}</html>".encode(), status=502), 3),
    "odd reply": (lambda *_: Act(body=json.dumps({"choices": KEY}).encode()), 3),
}


@pytest.mark.parametrize("name", ECHOES)
def test_an_echoed_key_stays_nowhere(name: str, tmp_path: Path) -> None:
    script, code = ECHOES[name]
    source = tmp_path / "in.trace.jsonl"
    said = [{"role": role, "parts": [{"type": "text", "text": role}]} for role in ("user", "agent")]
    rows = [{"pantrace": "1"}, {"id": "s", "trajectory": {"steps": said}}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.defpath, "HOME": str(tmp_path), "OPENAI_API_KEY": KEY}
    with loopback(script) as server:
        words = ["judge", source, "--rubric", "HelpfulnessExplain", "--judge", "openai:scripted", "--retries", "0"]
        words += ["--base-url", server.url, "--cache", tmp_path / "c.sqlite", "-o", tmp_path / "out.jsonl"]
        command = [sys.executable, "-m", "pantrace", *map(str, words)]
        done = subprocess.run(command, env=environment | OTHERS, capture_output=True, timeout=60)
        assert server.requests
    assert done.returncode == code, done.stderr
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file() and path != source}
    assert {"c.sqlite", "out.jsonl"} <= set(left)
    for where, data in {**left, "stdout": done.stdout, "stderr": done.stderr}.items():
        for key in (KEY, *OTHERS.values()):
            assert key.encode() not in data, where
            assert key[:-2].encode() not in data, where
