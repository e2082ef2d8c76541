"""Tool maps: files that say which logical name (fs.read) stands for which physical ones (remote-fs-mcp_read_files)."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from pantrace.errors import PantraceError, UsageError
from pantrace.wire import files
from pantrace.wire.json import decode
from pantrace.wire.yaml import load_yaml

SECTION = "tool_mappings"


def tool_names(path: str) -> dict[str, str]:
    """Physical name -> logical name, of a JSON, TOML or YAML file; read again only when the file has changed."""
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise UsageError(f"tool_map {path}: {error.strerror}") from None
    return _read(path, changed)


@lru_cache(maxsize=8)
def _read(path: str, changed: int) -> dict[str, str]:
    try:
        data = files.read_all(Path(path))
        text = data.decode()
        if path.endswith(".toml"):
            found: Any = tomllib.loads(text)
        elif text.lstrip().startswith("{"):
            found = decode(data)
        else:
            found = load_yaml(text, path)
    except (PantraceError, ValueError) as error:
        raise UsageError(f"tool_map {path}: {str(error).removeprefix(f'{path}: ')}") from None
    return invert(found.get(SECTION, found) if isinstance(found, dict) else found, path)


def invert(mapping: Any, path: str) -> dict[str, str]:
    """Physical -> logical of logical -> [physical]; the first logical name that claims a physical one keeps it."""
    names: dict[str, str] = {}
    if not isinstance(mapping, dict):
        raise UsageError(f"tool_map {path}: must be a table of logical names with lists of physical ones")
    for logical, physical in mapping.items():
        listed = [physical] if isinstance(physical, str) else physical
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise UsageError(f"tool_map {path}: {logical} must have a list of tool names")
        for name in listed:
            names.setdefault(name, logical)
    return names
