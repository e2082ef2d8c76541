"""Reading Claude Code's sessions: pantrace against the importer of inspect_scout, on the same files.

Both give messages, calls and tokens of every session; both count the calls they found, and must find the same.
Run it with a Python that has inspect_scout: `.venvs/scout/bin/python bench/claude_read.py [--size N] [--json]`.
"""

from __future__ import annotations

import json
from pathlib import Path

from measuring import GOLDEN, Aim, Work, contest


def sessions(folder: Path, size: int) -> Path:
    """A recorded session so many times, each under a name of its own."""
    text = (GOLDEN / "claude-code/trouble.jsonl").read_text()
    name = next(json.loads(line)["sessionId"] for line in text.splitlines() if "sessionId" in line)
    project = folder / "-home-alex-proj"
    project.mkdir()
    lines = [json.loads(line) for line in text.splitlines()]
    ids = [each["uuid"] for each in lines if "uuid" in each]
    for number in range(size):
        own = f"{number:08x}{name[8:]}"
        told = text.replace(name, own).replace("msg_", f"msg_{number}_")
        for each in ids:
            told = told.replace(each, f"{number:08x}{each[8:]}" if each[:8] != name[:8] else each)
        (project / f"{own}.jsonl").write_text(told)
    return project


def pantrace_reads(path: Path) -> Work:
    from pantrace.engine.read import read
    from pantrace.model import ToolCall

    def work() -> int:
        told = (sample.trajectory for sample in read(path).samples if sample.trajectory is not None)
        return sum(isinstance(part, ToolCall) for each in told for step in each.steps for part in step.parts)

    return work


def scout_reads(path: Path) -> Work:
    import asyncio

    from inspect_scout.sources import claude_code  # type: ignore[import-not-found]

    async def count() -> int:
        found = 0
        async for transcript in claude_code(path=path):
            found += sum(len(getattr(message, "tool_calls", None) or ()) for message in transcript.messages)
        return found

    return lambda: asyncio.run(count())


OURS = "pantrace: all sessions"
PEER = "inspect_scout: all sessions"

if __name__ == "__main__":
    contest(__file__, {PEER: scout_reads, OURS: pantrace_reads}, [Aim(OURS, PEER)], sessions, size=100, unit="sessions")
