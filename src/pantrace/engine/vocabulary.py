"""Vocabulary: the keys that a format's reader knows, taken from its code.

A key that is nowhere in a reader's code cannot have been read by it. So small values under such keys, which prove
nothing by themselves, do not count as read (`wire.unread`). A list of keys would become outdated.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from pantrace.formats import Format

_WORD = re.compile(r"[A-Za-z_$][\w$.-]{0,60}")


@cache
def words_of(name: str, *entries: str) -> frozenset[str]:
    """Words in the code of these modules, of their package and of the modules of `wire` that they use."""
    seen: set[str] = set()
    waiting = [each for each in sys.modules if any(each == entry or each.startswith(f"{entry}.") for entry in entries)]
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        found |= _words_in(module)
        waiting += _used(sys.modules[module])
    # msgspec renames fields to camelCase, and the renamed key is in no constant.
    return frozenset(found | {_camel(word) for word in found})


def vocabulary(chosen: Format) -> frozenset[str]:
    """The words of a format's reader."""
    reader = chosen.load or chosen.open
    module = getattr(reader, "__module__", None) or ""
    package = ".".join(module.split(".")[:3])
    own = f"pantrace.formats.{chosen.name.replace('-', '_')}"
    return words_of(chosen.name, *{each for each in (package, own) if each})


def _used(module: ModuleType) -> Iterator[str]:
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.startswith("pantrace.wire.") and name in sys.modules:
            yield name


def _words_in(module: str) -> set[str]:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return set()
    code: CodeType | None
    if spec.loader is not None and hasattr(spec.loader, "get_code"):
        code = spec.loader.get_code(module)
    elif not module.startswith("pantrace."):
        code = None
    else:
        # Under pytest our modules have another loader, because we register a fixture; it does not return code.
        code = compile(Path(spec.origin).read_bytes(), spec.origin, "exec")
    return set(_constants(code)) if code is not None else set()


def _constants(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if _WORD.fullmatch(value):
            yield value
    elif isinstance(value, (tuple, frozenset)):
        for item in value:
            yield from _constants(item)
    elif isinstance(value, CodeType):
        yield from _constants(value.co_consts)
        # Names of fields in structs and named tuples.
        yield from value.co_names


def _camel(word: str) -> str:
    first, *rest = word.split("_")
    return first + "".join(part.capitalize() for part in rest)
