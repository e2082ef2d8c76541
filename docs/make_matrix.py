"""Writes the table of all pairs of formats: a recording of each, written as each, and what was kept, measured.

The recording of a format is the one of its golden files that says the most. `--check` only compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conversion_cells import Cell, cells
from generate import ROOT, filled

from pantrace.formats import all_formats

GOLDEN = ROOT / "tests/golden"
PAGE = ROOT / "docs/matrix.md"
EIGHT = (
    ("opencode", "opencode"),
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("inspect", "inspect"),
    ("adk-history", "adk-jsonl"),
    ("openai-messages", "openai-messages"),
    ("otlp", "otlp"),
    ("atif", "atif"),
)
"""What the front page shows of it: sources and targets."""


def richest(folder: Path) -> Path:
    """The golden file of a format whose reading is the longest; a directory only where there is no file, as one session
    may stand in several files of it."""
    readings = [each for each in folder.iterdir() if each.name.endswith(".native.json")]
    longest = sorted(readings, key=lambda each: each.stat().st_size, reverse=True)
    inputs = [folder / each.name.removesuffix(".native.json") for each in longest]
    return next((each for each in inputs if each.is_file()), inputs[0])


def sources() -> list[tuple[str, Path]]:
    """A recording of every format that is read."""
    return [(each.name, richest(GOLDEN / each.name)) for each in all_formats() if each.reads]


def targets() -> list[str]:
    """Every format that is written."""
    return [each.name for each in all_formats() if each.writes]


def table(found: list[Cell], rows: list[str], columns: list[str]) -> str:
    """Sources by targets."""
    told = {(each.source, each.to): each.words() for each in found}
    lines = [f"| from / to | {' | '.join(f'`{name}`' for name in columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| `{row}` | {' | '.join(told[row, column] for column in columns)} |" for row in rows]
    return "\n".join(lines)


def recordings() -> str:
    """Which recording stands for each format."""
    lines = ["| format | recording |", "|---|---|"]
    lines += [f"| `{name}` | `{path.relative_to(ROOT)}` |" for name, path in sources()]
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """The page, and the part of it that README shows."""
    found = cells(sources(), targets())
    page = filled(PAGE.read_text(), "pairs", table(found, [name for name, _ in sources()], targets()))
    eight = table(found, [source for source, _ in EIGHT], [to for _, to in EIGHT])
    readme = ROOT / "README.md"
    return {
        PAGE: filled(page, "recordings", recordings()),
        readme: filled(readme.read_text(), "eight", eight),
    }


if __name__ == "__main__":
    made = pages()
    if "--check" in sys.argv:
        stale = [str(path.relative_to(ROOT)) for path, text in made.items() if path.read_text() != text]
        sys.exit(f"stale: {', '.join(stale)}; run make docs" if stale else 0)
    for path, text in made.items():
        path.write_text(text)
