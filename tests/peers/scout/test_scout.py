"""Other readers of Claude Code's sessions find in ours what pantrace says is in them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from claude_code_log.converter import load_transcript  # type: ignore[import-not-found]
from inspect_scout.sources import claude_code  # type: ignore[import-not-found]

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.model import ToolCall, Trajectory, is_prompt

RECORDINGS = [
    ROOT / "opencode/multi_turn_reasoning_edit_compaction.json",
    ROOT / "codex/note.jsonl",
    ROOT / "codex/trouble.jsonl",
    ROOT / "mini-swe-agent/steps.traj.json",
    ROOT / "openai-messages/chat.jsonl",
    ROOT / "adk-session/saved_refund.session.json",
    ROOT / "tau-bench/library.json",
    ROOT / "gemini-cli/session-2026-11-16T05-50-89e6e23f.jsonl",
]


def written(path: Path, folder: Path) -> list[tuple[Path, Trajectory]]:
    """Sessions that a recording becomes, each with what we read in it."""
    found = []
    for file in convert(path, folder / "sessions", to="claude-code", measure=False).outputs:
        (sample,) = read(file, format="claude-code").samples
        assert sample.trajectory is not None
        found.append((file, sample.trajectory))
    return found


def calls(trajectory: Trajectory) -> list[str]:
    return [part.name for step in trajectory.steps for part in step.parts if isinstance(part, ToolCall)]


async def transcripts(path: Path) -> list[Any]:
    return [each async for each in claude_code(path=path)]


@pytest.mark.parametrize("path", RECORDINGS, ids=[f"{each.parent.name}/{each.name}" for each in RECORDINGS])
def test_inspect_scout_finds_every_prompt_and_every_call(path: Path, tmp_path: Path) -> None:
    for file, trajectory in written(path, tmp_path):
        found = asyncio.run(transcripts(file))
        messages = [message for each in found for message in each.messages]
        assert [call.function for message in messages for call in getattr(message, "tool_calls", None) or ()] == calls(
            trajectory
        )
        prompts = [step for step in trajectory.steps if is_prompt(step)]
        assert sum(message.role == "user" for message in messages) >= len(prompts) > 0


@pytest.mark.parametrize("path", RECORDINGS, ids=[f"{each.parent.name}/{each.name}" for each in RECORDINGS])
def test_claude_code_log_reads_every_line_and_every_call(path: Path, tmp_path: Path) -> None:
    for file, trajectory in written(path, tmp_path):
        entries = load_transcript(file, silent=True)
        blocks = [
            block
            for entry in entries
            if entry.type == "assistant" and isinstance(entry.message.content, list)
            for block in entry.message.content
        ]
        assert [block.name for block in blocks if getattr(block, "type", None) == "tool_use"] == calls(trajectory)
