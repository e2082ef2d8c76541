"""What a run directory holds, apart from when it was written: to be held against that of another engine."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec


def run_content(out: Path) -> dict[str, Any]:
    """Names of all files (those of parts say the hash of what is in them), rows of the manifest, and the run file."""
    with closing(sqlite3.connect(out / "manifest.sqlite")) as manifest:
        tables = {
            "parts": "sequence, part, profile",
            "files": "part, name, file, rows, bytes, sha256",
            "aside": "part, since, record",
            "intakes": "input, fingerprint, record",
            "facts": "name, value",
        }
        rows = {name: sorted(manifest.execute(f"select {columns} from {name}")) for name, columns in tables.items()}
    run = msgspec.json.decode((out / "run.json").read_bytes())
    del run["run"]["created"], run["sha256"]  # the hash is of the time, too
    return {"files": sorted(path.name for path in (out / "parts").iterdir()), "manifest": rows, "run": run}
