"""Pictures of terminal screens for the docs: real commands in a real pseudo-terminal of 80 columns, drawn as PNG.

`python docs/make_screens.py` runs them on the bundled recordings; look at the pictures before you commit them.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from pseudo_terminal import PANTRACE, watch  # noqa: E402

OUT = ROOT / "docs/pictures"
SCREENS = {
    "screen-eval": "eval examples --plan examples/eval.toml --out results --gate",
    "screen-compare": "compare monday.trace.jsonl tuesday.trace.jsonl",
    "screen-show": "show examples --sort cost",
    "screen-convert": "convert examples/opencode --to vertex-seed -o sessions.json",
    "screen-error": "convert examples/opencode --to vertx -o sessions.json",
}
MADE_UP = ("monday.trace.jsonl", "tuesday.trace.jsonl")
"""Two runs of sixty cases with made-up grades: the second gets more of them right, and writes as much."""
COLOURS = {"red": "#d1242f", "green": "#1a7f37", "brown": "#9a6700", "yellow": "#9a6700", "blue": "#0969da"}
LETTER, LINE, MARGIN, ROWS = 8.4, 18, 14, 46


def drawn(command: str, cells: list[list[tuple[str, str, bool]]]) -> str:
    """A screen as SVG: one text for each run of letters in one colour."""
    rows = [[(letter, "", False) for letter in f"$ pantrace {command}"], *cells]
    if len(rows) > ROWS:
        rows = [*rows[: ROWS - 1], [(letter, "", False) for letter in "…"]]
    width, height = 80 * LETTER + 2 * MARGIN, len(rows) * LINE + 2 * MARGIN
    texts = []
    for number, row in enumerate(rows):
        for start, text, colour, bold in _runs(row):
            fill = COLOURS.get(colour, "#1f2328")
            weight = ' font-weight="bold"' if bold else ""
            x, y = MARGIN + start * LETTER, MARGIN + (number + 0.75) * LINE
            length = f' textLength="{len(text) * LETTER:.1f}" lengthAdjust="spacingAndGlyphs"'
            texts.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{weight}{length}>{escape(text)}</text>')
    font = 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" xml:space="preserve"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" {font}>'
        f'<rect width="100%" height="100%" rx="6" fill="#ffffff" stroke="#d0d7de"/>{"".join(texts)}</svg>\n'
    )


def _runs(row: list[tuple[str, str, bool]]) -> list[tuple[int, str, str, bool]]:
    found: list[tuple[int, str, str, bool]] = []
    for place, (letter, colour, bold) in enumerate(row):
        if letter == " ":
            continue
        start, text, *style = found[-1] if found else (0, "", "", False)
        if found and style == [colour, bold] and start + len(text) == place:
            found[-1] = (start, text + letter, colour, bold)
        else:
            found.append((place, letter, colour, bold))
    return found


def _made_up(folder: Path) -> None:
    dice = random.Random(7)
    easy = [dice.random() for _ in range(60)]
    for place, name in enumerate(MADE_UP):
        lines: list[dict[str, Any]] = [{"pantrace": "1", "run": {"name": name.partition(".")[0]}}]
        for number, share in enumerate(easy, 1):
            case = f"order-{number:03}"
            right = share > (0.55, 0.25)[place] or dice.random() < 0.08
            words = round(dice.gauss(120, 25))
            scores = [
                {"name": "correct", "value": right, "scale": {"low": 0, "high": 1}},
                {"name": "words", "value": words, "scale": {"low": 0, "better": "lower"}},
            ]
            lines.append({"id": case, "case": {"id": case}, "scores": scores})
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def main() -> None:
    """Run the commands in an empty folder beside a copy of the recordings."""
    import vl_convert

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        _made_up(folder)
        for picture, command in SCREENS.items():
            seen = watch(*PANTRACE, *command.split(), folder=folder)
            svg = drawn(command, seen.cells)
            (OUT / f"{picture}.png").write_bytes(vl_convert.svg_to_png(svg, scale=1.5))
            sys.stdout.write(f"{picture}.png (exit code {seen.code})\n")


if __name__ == "__main__":
    main()
