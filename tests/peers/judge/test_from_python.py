"""Judges asked from Python over real HTTP, outside and inside a running event loop (as in a notebook)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import pantrace
from loopback import loopback, verdict
from pantrace.errors import UsageError
from pantrace.library.results import Results

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_judge_and_evaluate(tmp_path: Path) -> None:
    with loopback(lambda _number, _body: verdict(4)) as server:
        scores = pantrace.judge(
            EXAMPLES / "adk",
            rubrics="HelpfulnessExplain",
            judges="scripted",
            base_url=server.url,
            keys={"openai": "sk-of-this-test"},
            cache=tmp_path / "replies.sqlite",
        )
        assert [(row.status, row.value) for row in scores] == [("scored", 4.0)] * 2
        assert scores.judging is not None
        assert (scores.judging["calls"], len(server.requests)) == (2, 2)

        async def in_a_notebook() -> Results:
            plan = tmp_path / "plan.toml"
            plan.write_text('[measure]\nmetrics = []\n[judge]\nrubrics = ["HelpfulnessExplain"]\n')
            return pantrace.evaluate(
                EXAMPLES / "adk",
                plan=plan,
                out=tmp_path / "run",
                judges="scripted",
                base_url=server.url,
                cache=tmp_path / "replies.sqlite",
            )

        results = asyncio.run(in_a_notebook())
        assert len(server.requests) == 2  # the cache knew them
    grades = [row.value for row in results.scores if row.metric == "HelpfulnessExplain"]
    assert grades == [4.0, 4.0]


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        pantrace.judge(EXAMPLES / "adk", rubrics="HelpfulnessExplain", judges="openai:gpt-4.1-mini")
    # As with the command: without a judge nothing is sent, and nothing is scored.
    assert {row.status for row in pantrace.judge(EXAMPLES / "adk", rubrics="HelpfulnessExplain")} == {"unscored"}
