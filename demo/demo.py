"""The demo, a tour of a minute: look at recordings of five systems, evaluate and gate them, convert them, and write one
report to look at."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from pathlib import Path

from pantrace.cli import main as pantrace

ROOT = Path(__file__).parent.parent
OUT = Path("demo-out")


def run(*words: str) -> None:
    """Run a command as a user would, and show it. A gate that does not pass is part of the show, trouble ends it."""
    print(f"\n$ pantrace {' '.join(words)}", flush=True)
    try:
        pantrace(list(words))
    except SystemExit as end:
        if end.code in (1, 3):
            print(f"(exit code {end.code})")
        elif end.code:
            raise


def say(text: str) -> None:
    """What comes next, and why."""
    width = shutil.get_terminal_size().columns
    print("\n" + textwrap.fill(f"# {text}", width, subsequent_indent="# "), flush=True)


def main() -> None:
    """Five systems, one path."""
    shutil.rmtree(OUT, ignore_errors=True)
    say("1. Recordings of five systems lie in examples/. What did they do, and what did it cost?")
    run("show", "examples", "--sort", "cost")
    say("2. One of them had trouble with its tools. What happened?")
    run("show", "examples", "--sample", "ses_e1f8", "--no-pager")
    say("3. Are they good enough? A plan measures, checks and decides them; the gate ends with 1 if one fails.")
    run("eval", "examples", "--plan", "examples/eval.toml", "--out", str(OUT / "results"), "--gate")
    say("4. The same sessions for another tool, and exactly what it cannot hold.")
    run("convert", "examples/opencode", str(OUT / "sessions.eval"))
    run("convert", "examples/opencode", "--to", "vertex", "-o", str(OUT / "sessions.vertex.jsonl"))
    say("5. All of it in one file that opens in any browser.")
    run("report", str(OUT / "results"), "-o", str(OUT / "report.html"))
    print(f"\nOpen {OUT}/report.html to see it.\nNext: .venv/bin/pantrace eval YOUR_RUNS --out results/today")


if __name__ == "__main__":
    os.chdir(ROOT)
    try:
        main()
    except KeyboardInterrupt:
        print()  # the terminal has written ^C, and the next prompt wants a line of its own
        sys.exit(130)
