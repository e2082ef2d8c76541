"""Columns: where the inputs of a metric definition are in a row, and how their values are shown to a judge.

A row is what the ADK evaluation guide writes of a sample (the format adk-jsonl); its objects `extracted_data` and
`reference_data` count as if each of their members were a column "extracted_data.member" of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from pantrace.errors import ReadError
from pantrace.wire.json import decode, encode

from .cut import Block
from .placeholders import fill_in
from .transcript import told

Row = dict[str, Any]

_OPEN = ("extracted_data", "reference_data")
_HISTORY = ("conversation_history", "history")
NOT_GIVEN = "(not given)"


class Column(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where one input comes from."""

    sources: tuple[str, ...]
    """`root:path.to.it`; one, or several for a template."""
    template: str | None = None
    """A text into which the values of all sources are inserted."""
    transform: Literal["last_item"] | None = None
    default: Any | UnsetType = UNSET
    """What is used if the row has no value."""


def column_blocks(row: Row, name: str, column: Column) -> list[Block] | None:
    """The entries of an input; None if the row does not have it and there is no default."""
    if column.template is not None:
        values = {source: value_at(row, source) for source in column.sources}
        if any(value is not None for value in values.values()):
            return [Block(_compound(column, values) or "(empty)")]
        value = None
    else:
        value = value_at(row, column.sources[0])
        if column.transform == "last_item" and isinstance(value, list):
            value = value[-1] if value else None
    if value is None and column.default is not UNSET:
        value = column.default
    return None if value is None else told_as(name, value)


def _compound(column: Column, values: dict[str, Any]) -> str:
    assert column.template is not None

    def text(name: str) -> str:
        value = values[source_named(name, column.sources) or ""]
        return NOT_GIVEN if value is None else "\n".join(block.text for block in told_as(name, value))

    return fill_in(column.template, text)


def source_named(name: str, sources: Iterable[str]) -> str | None:
    """The source that a compound template means: its path as it is, with `_` for `:`, or with `_` for `.` as well."""
    for source in sources:
        if name in (source, source.replace(":", "_"), re.sub(r"[:.]", "_", source)):
            return source
    return None


def told_as(name: str, value: Any) -> list[Block]:
    """A value as entries: each item of a list on its own line, objects as JSON."""
    if isinstance(value, list):
        # One JSON array, as docs/metric-definitions.md promises; other lists are shown line by line.
        if name == "context":
            return [Block(encode(value).decode())]
        return [Block(told(each), _kind(each), tight=True) for each in value] or [Block("(none)")]
    if isinstance(value, dict) and not value:
        return [Block("(none)")]
    return [Block(told(value) or "(empty)")]


def _kind(item: Any) -> Literal["text", "output"]:
    return "output" if isinstance(item, dict) and "tool_name" in item else "text"


def value_at(row: Row, source: str) -> Any:
    """The value at a source, None when there is none.

    As a column, then inside `extracted_data`, then inside `reference_data`; if none of them has it, the path is
    followed from its root, also through objects that are stored as JSON text."""
    path = source.replace(":", ".")
    if path.rpartition(".")[2] in _HISTORY and (contents := _walked(row, "request.contents")):
        # `request.contents` is always the conversation up to the last prompt; other columns differ between writers.
        return contents
    inside = (path, *(f"{column}.{path}" for column in _OPEN))
    for each in (*inside, source):
        if (value := _column(row, each)) is not None:
            return value
    return next((value for each in inside if (value := _walked(row, each)) is not None), None)


def _column(row: Row, path: str) -> Any:
    if path in row:
        return row[path]
    column, _, rest = path.partition(".")
    return _walked(row.get(column), rest, texts=False) if rest and column in _OPEN else None


def _walked(value: Any, path: str, *, texts: bool = True) -> Any:
    """The member of a value at a path; a key may have dots in it."""
    if texts and isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    place = path.rfind(".")
    while place > 0:
        found = _walked(value.get(path[:place]), path[place + 1 :], texts=texts)
        if found is not None:
            return found
        place = path.rfind(".", 0, place)
    return None


def _parsed(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return decode(text.encode("utf-8", "surrogatepass"))
    except ReadError:
        return None
