"""`pantrace judge` and `pantrace eval` with a real client, in front of a person: progress, results, Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopback import Act, Loopback, loopback, verdict
from pseudo_terminal import ROOT, Seen, pantrace, untroubled

CASES = ROOT / "examples/explain/cases.explain.jsonl"
KEY = {"OPENAI_API_KEY": "none"}


def slowly(_: int, body: dict[str, Any]) -> Act:
    found = verdict(4)
    found.delay = 0.6
    return found


def never(_: int, body: dict[str, Any]) -> Act:
    return Act(delay=60)


def words(server: Loopback, *more: str) -> list[str]:
    judge = ["--judge", "openai:scripted", "--base-url", server.url, "--cache", "replies.sqlite"]
    return [*more, str(CASES), *judge]


COMMANDS = {
    "judge": ["judge", "--rubric", "HelpfulnessExplain", "--concurrency", "1"],
    "eval": ["eval", "--out", "out"],
}
ENDINGS = {"judge": "", "eval": "stopped; what was committed is in out; run the same command to continue"}
"""What is on the screen after Ctrl-C."""


@pytest.mark.parametrize("name", COMMANDS)
def test_answers_that_take_their_time(name: str, tmp_path: Path) -> None:
    with loopback(slowly) as server:
        seen = pantrace(*words(server, *COMMANDS[name]), folder=tmp_path, variables=KEY)
        assert server.requests
    untroubled(seen)
    assert seen.code == 0, seen.text
    assert seen.counted()
    assert "HelpfulnessExplain" in seen.text
    assert "0 retries" in seen.words


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_while_a_judge_is_asked(name: str, tmp_path: Path) -> None:
    with loopback(never) as server:

        def keys(screen: Any) -> bytes | None:
            return b"\x03" if server.requests and Seen(under_way=screen.under_way).counted() else None

        seen = pantrace(*words(server, *COMMANDS[name]), folder=tmp_path, variables=KEY, keys=keys)
    assert seen.code == 130, seen.text
    untroubled(seen)
    assert seen.text.strip() == ENDINGS[name]
