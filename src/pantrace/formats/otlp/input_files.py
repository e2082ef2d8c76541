"""Finds which files are one input.

A folder of exports is one input: collectors write traces and logs to separate files, and start new files in the middle
of a trace. A single file is read with the log records beside it, if the names match: `x.otlp.json` and
`x.logs.otlp.json`, `traces.jsonl` and `logs.jsonl`.
"""

from __future__ import annotations

from pathlib import Path

from pantrace.wire.claimed_files import Claim

from .recognise import files_in


def files_of(path: Path) -> list[Path]:
    """The files of an input."""
    return files_in(path) if path.is_dir() else [path, *beside(path)]


def beside(path: Path) -> list[Path]:
    """Log records that belong to a file of spans."""
    if path.is_dir():
        return []
    # The usual names in configurations of collectors' file exporters.
    names = {path.name.replace("traces", "logs"), path.name.replace("spans", "logs")}
    if ".otlp." in path.name and ".logs." not in path.name:
        names.add(path.name.replace(".otlp.", ".logs.otlp."))
    found = [path.with_name(name) for name in sorted(names) if name != path.name]
    return [each for each in found if each.is_file()]


def owner(path: Path) -> Path | None:
    """The file of spans that a file of log records belongs to."""
    if "logs" not in path.name:
        return None
    names = [path.name.replace("logs", "traces"), path.name.replace("logs", "spans"), path.name.replace(".logs.", ".")]
    return next((found for name in names if name != path.name and (found := path.with_name(name)).is_file()), None)


def claim(folder: Path) -> Claim:
    """The exports in a folder; other files are searched."""
    mine = set(files_in(folder))
    return Claim(holds=lambda path: path in mine, reaches=lambda path: path == folder)
