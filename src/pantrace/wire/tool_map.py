"""Tool maps: files that map logical tool names (fs.read) to physical ones (remote-fs-mcp_read_files)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from pantrace.errors import PantraceError, UsageError

from . import files
from .json import decode
from .toml import parse
from .yaml import load_yaml

SECTION = "tool_mappings"


def tool_names(path: str, option: str = "tool_map") -> dict[str, str]:
    """Physical name -> logical name, from a JSON, TOML or YAML file; read again only if the file has changed."""
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None
    return _read(path, changed, option)


@lru_cache(maxsize=8)
def _read(path: str, changed: int, option: str) -> dict[str, str]:
    try:
        data = files.read_all(Path(path))
        text = data.decode()
        if path.endswith(".toml"):
            found: Any = parse(text)
        elif text.lstrip().startswith("{"):
            found = decode(data)
        else:
            found = load_yaml(text, path)
    except (PantraceError, ValueError) as error:
        raise UsageError(f"{option} {path}: {str(error).removeprefix(f'{path}: ')}") from None
    return invert(found.get(SECTION, found) if isinstance(found, dict) else found, f"{option} {path}")


def invert(mapping: Any, place: str) -> dict[str, str]:
    """Physical -> logical, from logical -> [physical]; if two logical names claim one, the first keeps it."""
    names: dict[str, str] = {}
    if not isinstance(mapping, dict):
        raise UsageError(f"{place}: must be a table of logical names with lists of physical ones")
    for logical, physical in mapping.items():
        listed = [physical] if isinstance(physical, str) else physical
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise UsageError(f"{place}: {logical} must have a list of tool names")
        for name in listed:
            # The first one keeps it, so that the order in the file decides and not chance.
            names.setdefault(name, logical)
    return names
