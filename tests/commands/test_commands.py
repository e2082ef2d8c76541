"""Runs the Markdown files of this folder: a command, its input, its expected output and exit code.

A fenced block ```file NAME gives an input file; in a ```console block, a line `$ command` is run in a fresh folder and
the lines behind it are what it prints on stdout and stderr, `...` standing for any text; `[exit N]` is the exit code
(0 where none is named). `golden/` leads to the golden files.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldens import ROOT
from preloaded import preloaded

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(r"^```(console|file)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def pantrace() -> Iterator[str]:
    with preloaded() as program:
        yield shlex.join(program)


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_commands(file: Path, pantrace: str, tmp_path: Path) -> None:
    (tmp_path / "golden").symlink_to(ROOT)
    ran = 0
    for kind, name, text in BLOCK.findall(file.read_text()):
        if kind == "file":
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
            continue
        for command, expected, code in _commands(text):
            found = _run(command, pantrace, tmp_path)
            assert found.returncode == code, f"{command}\n{found.stdout}"
            assert _pattern(expected).fullmatch(found.stdout), f"{command}\n{found.stdout}"
            ran += 1
    assert ran


def _commands(text: str) -> list[tuple[str, str, int]]:
    found = []
    for chunk in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = chunk.partition("\n")
        code = 0
        if match := re.search(r"^\[exit (\d+)\]\n", output, re.MULTILINE):
            code = int(match[1])
            output = output.replace(match[0], "", 1)
        found.append((command, output, code))
    return found


def _pattern(expected: str) -> re.Pattern[str]:
    lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in expected.rstrip("\n").split("\n")]
    text = "\n".join(line.rstrip() + r"[ ]*" for line in lines)
    return re.compile(text.replace(r".*[ ]*" + "\n", ".*\n") + r"\n?", re.DOTALL)


def _run(command: str, pantrace: str, folder: Path) -> subprocess.CompletedProcess[str]:
    # The name `pantrace` must run this checkout, whatever is installed.
    program = f'pantrace() {{ {pantrace} "$@"; }}\n{command}'
    source = str(FOLDER.parent.parent / "src")
    environment = {**os.environ, "PYTHONPATH": source, "COLUMNS": "120", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    environment.pop("PYTHONUNBUFFERED", None)  # it would hide lines that come out of order
    return subprocess.run(
        ["bash", "-c", program],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
