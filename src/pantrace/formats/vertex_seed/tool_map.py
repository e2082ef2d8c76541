"""Tool maps: files that say which logical name (fs.read) stands for which physical ones (remote-fs-mcp_read_files)."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from pantrace.errors import PantraceError, UsageError
from pantrace.wire import files
from pantrace.wire.json import decode

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
            found = parse_yaml(text)
    except (PantraceError, ValueError) as error:
        raise UsageError(f"tool_map {path}: {error}") from None
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


_KEY = re.compile(r"""(?P<indent> *)(?P<quote>["']?)(?P<key>[^\s"'#][^"'#]*?)(?P=quote)\s*:\s*(?:#.*)?""")
_ITEM = re.compile(
    r"""(?P<indent> *)-\s+(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'#][^#]*?))\s*(?:#.*)?"""
)


def parse_yaml(text: str) -> dict[str, Any]:
    """The part of YAML that tool maps are written in: keys, one level of keys below them, lists of names, comments."""
    sections: dict[str, Any] = {}
    section: dict[str, Any] = sections
    items: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.rstrip() == "---":
            continue
        if (item := _ITEM.fullmatch(line)) and items is not None:
            items.append(next(name for name in item.group("double", "single", "bare") if name is not None))
        elif key := _KEY.fullmatch(line):
            name = key["key"]
            if not key["indent"]:
                section = sections
            elif section is sections and sections:
                section = {}
                sections[next(reversed(sections))] = section
            items = section[name] = []
        else:
            raise ValueError(f"line {number}: only keys and lists of names are understood here, not {line.strip()!r}")
    return sections
