"""Carrying: what a format cannot say of a sample rides in a free corner of its row, and comes back from there.

A format gives a plain reader and a plain writer and names its corner; it need not know that anything is carried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pantrace.model import Sample

from .loss import without_source
from .remainder import SAME, apply_difference, difference

Load = Callable[[Any], Sample]
Dump = Callable[[Sample, Any], Any]


def carrying(load: Load, dump: Dump, corner: str) -> tuple[Load, Dump]:
    """Reader and writer that keep the rest of a sample at `corner` of an object ("extra.pantrace"), or of the first
    record of a list ("[].pantrace")."""
    path = corner.split(".")

    def load_whole(row: Any) -> Sample:
        if not isinstance(row, dict) and not (path[0] == "[]" and isinstance(row, list)):
            return load(row)
        bare, rest = _taken(row, path)
        sample = load(bare)
        return apply_difference(sample, rest) if isinstance(rest, (dict, list)) and rest else sample

    def dump_whole(sample: Sample, options: Any) -> Any:
        row = dump(sample, options)
        # Read as it will be read: taking the corner away may leave nothing of the object that it lay in.
        told = load(_taken(_put(row, path, {}), path)[0])
        rest = difference(told, without_source(sample))
        return row if rest is SAME else _put(row, path, rest)

    return load_whole, dump_whole


def _taken(row: Any, path: list[str]) -> tuple[Any, Any]:
    """A row without what lies at a path, and that; objects that hold nothing else go with it."""
    first, *inner = path
    if first == "[]":
        if not row or not isinstance(row[0], dict):
            return row, None
        head, found = _taken(row[0], inner)
        return [head, *row[1:]], found
    if first not in row or (inner and not isinstance(row[first], dict)):
        return row, None
    found, left = row[first], None
    if inner:
        left, found = _taken(row[first], inner)
    bare = {key: value for key, value in row.items() if key != first}
    return ({**bare, first: left} if left else bare), found


def _put(row: Any, path: list[str], value: Any) -> Any:
    first, *inner = path
    if first == "[]":
        return [_put(row[0], inner, value), *row[1:]]
    if not inner:
        return {**row, first: value}
    around = row.get(first)
    return {**row, first: _put(around if isinstance(around, dict) else {}, inner, value)}
