"""How many tokens did all my sessions take? The command `pantrace show` against `ccusage-codex`, on the same rollouts.

Both are started as a user starts them, so the time to start is in both; CPU time of the process and its children, the
best of several rounds taken in turns. ccusage reads the events that count tokens and nothing else; pantrace reads the
whole session, and lists turns, calls and errors beside the tokens. Both must find the same number.

Needs the environment of `make peer-agents`: .venvs/agents/bin/python bench/codex_tokens.py
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NODE = Path(os.environ.get("NODE_HOME", sys.prefix)) / "node_modules/.bin"
NOTE = ROOT / "tests/golden/codex/note.jsonl"


def sessions(home: Path, count: int) -> Path:
    """The recorded session so many times, each under an id of its own."""
    text = NOTE.read_text()
    name = json.loads(text.splitlines()[0])["payload"]["id"]
    folder = home / "sessions/2026/11/16"
    folder.mkdir(parents=True)
    for number in range(count):
        own = f"{number:08x}{name[8:]}"
        (folder / f"rollout-2026-11-16T05-13-00-{own}.jsonl").write_text(
            text.replace(name, own).replace("resp_", f"resp_{number}_")
        )
    return home


def ours(home: Path) -> int:
    """What `pantrace show` adds up."""
    out = _run([sys.executable, "-m", "pantrace", "show", str(home / "sessions"), "--csv"], home)
    return sum(int(row["tokens"]) for row in csv.DictReader(out.decode().splitlines()))


def theirs(home: Path) -> int:
    """What ccusage adds up."""
    out = _run(
        [
            str(Path(os.environ.get("NODE_HOME", sys.prefix)) / "node_modules/.bin/ccusage-codex"),
            "session",
            "--json",
            "--offline",
        ],
        home,
    )
    return int(json.loads(out)["totals"]["totalTokens"])


def _run(command: list[str], home: Path) -> bytes:
    surroundings = {**os.environ, "CODEX_HOME": str(home), "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, env=surroundings, capture_output=True, check=True, timeout=600).stdout


def timed(work: Any, home: Path) -> tuple[float, int]:
    """CPU seconds of a command, and what it found."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = work(home)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, found


def main() -> None:
    """Race and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=200, help="sessions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    best: dict[str, tuple[float, int]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        home = sessions(Path(temporary), given.size)
        for _ in range(given.rounds):
            for name, work in (("pantrace show", ours), ("ccusage-codex session", theirs)):
                best[name] = min(best.get(name, (float("inf"), 0)), timed(work, home))
    tokens = {found for _, found in best.values()}
    assert len(tokens) == 1, f"they do not count the same: {best}"
    ratio = best["pantrace show"][0] / best["ccusage-codex session"][0]
    if given.json:
        measured = {name: {"seconds": seconds, "tokens": found} for name, (seconds, found) in best.items()}
        print(json.dumps({"sessions": given.size, "measured": measured, "times_the_time": ratio}))
        return
    for name, (seconds, found) in best.items():
        print(f"{name}: {seconds:.2f} CPU s, {found:,} tokens")
    print(f"pantrace show: {ratio:.2f}x the time of ccusage-codex")


if __name__ == "__main__":
    main()
