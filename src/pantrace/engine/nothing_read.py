"""The error for inputs of which nothing could be read. It names what is wrong with the first few files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pantrace.errors import ReadError, UnknownFormat

NAMED = 5
"""How many files are named; a pile may have thousands."""


def nothing_read(paths: Iterable[Path], broken: Sequence[ReadError]) -> ReadError:
    """The error for these inputs, and the errors that were met in them."""
    # One error for each file is enough: its other records are most likely broken in the same way.
    firsts = {error.path: error for error in reversed(broken)}
    errors = [*reversed(firsts.values())]
    if len(errors) == 1:
        return errors[0]
    where = ", ".join(map(str, paths))
    if not errors:
        return UnknownFormat("nothing readable in it", path=where, remedy="`pantrace formats` lists what can be read")
    lines = [f"  {error}" for error in errors[:NAMED]]
    if (more := len(errors) - NAMED) > 0:
        lines.append(f"  and {more:,} more (`pantrace validate` lists them all)")
    found = ReadError(f"none of {len(errors):,} files could be read:", path=where)
    found.below = tuple(lines)
    return found
