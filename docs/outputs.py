"""Runs the pages that show commands, and writes what they print. `--check` only compares.

A ```sh or ```python block is run; where a ```text block follows it directly, that holds its output. A block with a
title (```toml title="eval.toml") is a file. All blocks of a page share one fresh folder with `examples` and `docs` in
it, its Python blocks one Python. A block that is not to be run is called ```bash or ```py. A gate that does not pass
(exit 1 or 3) is part of the show; any other failure is an error.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/tutorials").glob("*.md")), ROOT / "docs/ci.md"]
COLUMNS = "80"

_BLOCK = re.compile(
    r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```\n(?P<shown>\n```text\n.*?^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_END = "\x1e"
_SESSION = f"""
import ast, json, sys, traceback
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    tree = ast.parse(json.loads(line))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    try:
        exec(compile(tree, "<page>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names) if last is not None else None
        if value is not None:
            print(repr(value))
    except Exception as error:
        if not type(error).__module__.startswith("pantrace"):
            traceback.print_exc(file=sys.stdout)
        else:
            print(f"{{type(error).__name__}}: {{error}}")
    print({_END!r}, flush=True)
"""


class Failed(AssertionError):
    """A block whose output is not shown did not succeed."""


def executed(page: Path) -> str:
    """The page with the outputs that its blocks have now."""
    text = page.read_text()
    with tempfile.TemporaryDirectory(prefix="pantrace-page-") as name:
        folder = Path(name)
        for linked in ("examples", "docs"):
            (folder / linked).symlink_to(ROOT / linked)
        session = _Session(folder)
        try:
            return _BLOCK.sub(lambda match: _filled(match, folder, session), text)
        finally:
            session.close()


def _filled(match: re.Match[str], folder: Path, session: _Session) -> str:
    kind, title, code, shown = match["kind"], match["title"], match["code"], match["shown"]
    if title:
        (folder / title).parent.mkdir(parents=True, exist_ok=True)
        (folder / title).write_text(code)
    elif kind == "sh":
        output, failed = _shell(code, folder)
        if failed not in (0, 1, 3) or (failed and not shown):
            raise Failed(f"{code}{output}")
        return _with_output(match, output)
    elif kind == "python":
        output = session.run(code)
        if output and not shown:
            raise Failed(f"{code}prints what the page does not show:\n{output}")
        return _with_output(match, output)
    return match[0]


def _with_output(match: re.Match[str], output: str) -> str:
    if not match["shown"]:
        return match[0]
    block = match[0].removesuffix(match["shown"])
    return f"{block}\n```text\n{output}```\n"


def _environment(folder: Path) -> dict[str, str]:
    changed = {
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": COLUMNS,
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(folder),
    }
    return {**os.environ, **changed}


def _shell(code: str, folder: Path) -> tuple[str, int]:
    # The name `pantrace` must run this checkout, whatever is installed.
    program = f'pantrace() {{ "{sys.executable}" -m pantrace "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n{code}'
    done = subprocess.run(
        ["bash", "-c", program],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return _tidy(done.stdout, folder) + (f"[exit {done.returncode}]\n" if done.returncode else ""), done.returncode


def _tidy(output: str, folder: Path) -> str:
    lines = [line.rstrip() for line in output.replace(f"{folder}/", "").splitlines()]
    return "".join(f"{line}\n" for line in lines)


class _Session:
    """One Python for all blocks of a page, started when the first of them comes."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def run(self, code: str) -> str:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SESSION],
                cwd=self._folder,
                env=_environment(self._folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            if line.rstrip("\n") == _END:
                return _tidy("".join(lines), self._folder)
            lines.append(line)
        raise Failed("".join(lines))

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()


if __name__ == "__main__":
    named = [Path(each).resolve() for each in sys.argv[1:] if each != "--check"] or PAGES
    for page in named:
        found = executed(page)
        if "--check" not in sys.argv:
            page.write_text(found)
        elif found != page.read_text():
            sys.exit(f"stale: {page.relative_to(ROOT)}; run make docs")
