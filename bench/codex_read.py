"""Reading one long rollout of Codex: pantrace against a bare decode of its lines, without any model.

No peer runs here: Harbor's converter needs its own environment, ccusage reads token events only. What the frame adds
to a reader (depth, soundness) is in ours.
"""

from __future__ import annotations

import json
from pathlib import Path

from measuring import GOLDEN, Aim, Work, contest


def rollout(folder: Path, size: int) -> Path:
    """The recorded session told `size` times over, as one."""
    first, *rest = (GOLDEN / "codex" / "note.jsonl").read_text().splitlines()
    path = folder / "rollout.jsonl"
    with path.open("w") as file:
        file.write(first + "\n")
        for turn in range(size):
            for line in rest:
                file.write(line.replace("call_", f"call_{turn}_").replace("resp_", f"resp_{turn}_") + "\n")
    assert json.loads(first)["type"] == "session_meta"
    return path


def bare_decode(path: Path) -> Work:
    import msgspec

    decode = msgspec.json.Decoder().decode

    def work() -> int:
        with path.open("rb") as file:
            return sum(decode(line)["type"] == "token_usage_record" for line in file)

    return work


def pantrace_reads(path: Path) -> Work:
    from pantrace.engine.read import read

    def work() -> int:
        (sample,) = read(path).samples
        return sum(step.usage is not None for step in sample.trajectory.steps) if sample.trajectory else 0

    return work


BARE = "msgspec: every line, no model"
OURS = "pantrace: the session"

if __name__ == "__main__":
    contest(
        __file__,
        {BARE: bare_decode, OURS: pantrace_reads},
        [Aim(OURS, BARE)],
        rollout,
        size=300,
        unit="turns",
    )
