"""`pantrace compare --rubric` and `eval` of comparative cases as a user runs them, with a judge behind real HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loopback import Act, loopback, verdict
from pantrace.wire.json import decode
from seeds.recordings import pantrace
from seeds.test_doc4 import comparative


def _prefers_good(number: int, body: dict[str, Any]) -> Act:
    text = body["messages"][-1]["content"]
    first, second = text.index("First answer:"), text.index("Second answer:")
    good = ["good plan" in text[first:second], "good plan" in text[second:]]
    return verdict(-1 if good[0] >= good[1] else 1)


def test_two_answers_are_compared_blind(tmp_path: Path) -> None:
    with loopback(_prefers_good) as server:
        found = pantrace(
            "compare", comparative(tmp_path), "--rubric", "pairwise_quality", "--judge", "judge",
            "--base-url", server.url, "--cache", tmp_path / "cache.sqlite", "--json",
        )  # fmt: skip
    assert found.returncode == 0, found.stderr
    (each,) = decode(found.stdout.encode())["comparisons"]
    assert (each["metric"], each["wins"], each["losses"], each["ties"]) == ("pairwise_quality", 8, 0, 4)
    assert "4 of 12 verdicts changed with the order of the answers; they count as equal" in found.stderr


def test_eval_judges_both_sides_and_tells_which_is_better(tmp_path: Path) -> None:
    def graded(number: int, body: dict[str, Any]) -> Act:
        return verdict(5 if "A good plan." in json.dumps(body["messages"]) else 2)

    with loopback(graded) as server:
        done = pantrace(
            "eval", comparative(tmp_path), "--out", tmp_path / "out", "--judge", "judge", "--base-url", server.url,
            "--cache", tmp_path / "cache.sqlite", "--markdown", tmp_path / "summary.md",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "multi-agent is 2 higher than single-agent on HelpfulnessExplain" in done.stdout
    assert "## multi-agent against single-agent" in (tmp_path / "summary.md").read_text()
