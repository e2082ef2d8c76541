"""Claude Code's sessions to ATIF: pantrace against Harbor's own converter, on the same files.

Both read every session and make the document of it; both count the calls in it, and must find the same.
Harbor wants Python 3.12: `PYTHON312 bench/harbor_convert.py [--size N] [--json]`, with harbor, msgspec and zstandard.
"""

from __future__ import annotations

import json
from pathlib import Path

from measuring import GOLDEN, Aim, Work, contest


def sessions(folder: Path, size: int) -> Path:
    """A recorded session so many times, each in a directory such as Harbor keeps of a trial."""
    text = (GOLDEN / "claude-code/trouble.jsonl").read_text()
    name = next(json.loads(line)["sessionId"] for line in text.splitlines() if "sessionId" in line)
    for number in range(size):
        own = f"{number:08x}{name[8:]}"
        place = folder / str(number) / "sessions" / "projects" / "-home-alex-proj"
        place.mkdir(parents=True)
        (place / f"{own}.jsonl").write_text(text.replace(name, own))
    return folder


def pantrace_converts(path: Path, carry: bool = False) -> Work:
    from pantrace.engine.read import read
    from pantrace.formats import NoOptions, by_name
    from pantrace.wire.carried import carry_if
    from pantrace.wire.json import encode

    dump = by_name("atif").dump
    assert dump is not None

    def work() -> int:
        found = 0
        for file in path.rglob("*.jsonl"):
            for sample in read(file).samples:
                with carry_if(carry):
                    document = dump(sample, NoOptions())
                encode(document)
                found += sum(len(step.get("tool_calls") or ()) for step in document["steps"])
        return found

    return work


def harbor_converts(path: Path) -> Work:
    from harbor.agents.installed.claude_code import ClaudeCode  # type: ignore[import-not-found]

    def work() -> int:
        found = 0
        for trial in path.iterdir():
            document = (
                ClaudeCode(logs_dir=trial, model_name="anthropic/claude").convert_trajectory(trial).to_json_dict()
            )
            json.dumps(document)
            found += sum(len(step.get("tool_calls") or ()) for step in document["steps"])
        return found

    return work


def pantrace_keeps_all(path: Path) -> Work:
    return pantrace_converts(path, carry=True)


PEER = "harbor"
PLAIN = "pantrace: plain"
WHOLE = "pantrace: with everything that ATIF has no field for"

if __name__ == "__main__":
    work = {PEER: harbor_converts, PLAIN: pantrace_converts, WHOLE: pantrace_keeps_all}
    contest(__file__, work, [Aim(PLAIN, PEER), Aim(WHOLE, PEER)], sessions, size=100, unit="sessions")
