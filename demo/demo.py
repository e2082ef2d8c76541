"""The demo: read the bundled recordings, show one, measure, check, convert, and say what each conversion lost."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from pantrace.cli import main as pantrace
from pantrace.cli.output import table
from pantrace.engine.matrix import cells

ROOT = Path(__file__).parent.parent
EXAMPLES = Path("examples")
OUT = Path("demo-out")
SOURCES = [
    ("opencode", EXAMPLES / "opencode"),
    ("adk", EXAMPLES / "adk/garden_shop.evalset_result.json"),
    ("inspect", EXAMPLES / "inspect/basic.eval"),
    ("openadapt", EXAMPLES / "openadapt/login"),
    ("explain", EXAMPLES / "explain/cases.explain.jsonl"),
]
TARGETS = ["vertex-seed", "adk-jsonl", "openadapt-episodes", "explain", "inspect"]


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


def main() -> None:
    """Five systems, one path."""
    shutil.rmtree(OUT, ignore_errors=True)
    print("Recordings of five systems lie in examples/. What are they?")
    run("detect", "examples")
    print("\nWhat did an agent do?")
    run("show", "examples/opencode/bad_tool_calls.json")
    print(
        "\nHow did they do, and is that good enough? (offline; n/a is not zero, and what cannot be decided is no pass)"
    )
    run("eval", "examples", "--plan", "examples/eval.toml", "--out", str(OUT / "results"), "--gate")
    print("\nWhat each format keeps, in %: for its own tools · for pantrace only · lost")
    found = cells(SOURCES, TARGETS, OUT)
    rows = [[name, *(cell.words() for cell in found if cell.source == name)] for name, _ in SOURCES]
    table(["from / to", *TARGETS], rows)
    written = sorted(path for path in OUT.rglob("*") if path.is_file() and "results" not in path.parts)
    print(f"\nWrote {len(written)} files to {OUT}/, among them {OUT}/opencode.inspect.eval for `inspect view`.")
    print("\nAll of it in one file that opens in any browser:")
    run("report", str(OUT / "results"), "-o", str(OUT / "report.html"))
    print("\nNext: pantrace eval YOUR_RUNS --out results/today, or pantrace convert YOUR_RUNS --to inspect -o out.eval")
    print(f"Look at what happened here: open {OUT / 'report.html'} in a browser.")


if __name__ == "__main__":
    os.chdir(ROOT)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
