"""Recordings that several tests of the contract read: the bundled ones, and the examples of the documents."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def pantrace(*arguments: object, cwd: Path | None = None, columns: int = 80) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, as an author of a document would call it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": str(columns)}
    return subprocess.run(
        [sys.executable, "-m", "pantrace", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=environment,
    )
