"""Golden files: small real recordings under tests/golden/<format>/, each with what it reads as beside it.

`x.json` reads as `x.json.native.json`. After a wanted change, `make golden` writes these anew: read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pantrace.engine.read import read
from pantrace.formats import by_name
from pantrace.model import Run, header_of
from pantrace.wire.head import Head
from pantrace.wire.json import encode, to_plain

ROOT = Path(__file__).parent / "golden"
ACCEPT = bool(os.environ.get("PANTRACE_ACCEPT"))


def golden_inputs() -> list[tuple[str, Path]]:
    """Every golden input (a file or a directory) with the name of its format."""
    found = []
    for folder in sorted(ROOT.iterdir()):
        for path in sorted(folder.iterdir()):
            if path.name != "README.md" and not path.name.endswith(".native.json"):
                found.append((folder.name, path))
    return found


def inputs_in(path: Path, name: str) -> list[Path]:
    """The golden itself, or the files of a folder that no format takes as a whole."""
    if not path.is_dir() or by_name(name).detect(Head(path)) is not None:
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_file())


def as_native(run: Run) -> list[Any]:
    """A run as plain values: its header, then its samples; paths relative to the golden folder."""
    values = [{"run": to_plain(header_of(run))}, *[to_plain(sample) for sample in run.samples]]
    return [_portable(value) for value in values]


def _portable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, str) and str(ROOT) in value:
        return value.replace(str(ROOT) + "/", "")
    return value


def without_source(value: Any) -> Any:
    """Values without the note of where they were read."""
    if isinstance(value, dict):
        return {key: without_source(item) for key, item in value.items() if key != "source"}
    return [without_source(item) for item in value] if isinstance(value, list) else value


def read_golden(path: Path, format_name: str) -> list[Any]:
    return as_native(read(path, format=format_name))


def accept(path: Path, native: list[Any]) -> None:
    path.with_name(path.name + ".native.json").write_bytes(encode(native, indent=1) + b"\n")
