"""Writes flat records as JSON Lines, JSON, CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pantrace.errors import MissingExtra, WriteError
from pantrace.model import Record
from pantrace.wire.csv_cells import escape_formula
from pantrace.wire.json import encode
from pantrace.wire.output import writing

from .stored_numbers import in_range

Kind = Literal["jsonl", "json", "csv", "parquet"]


def write_table(rows: Iterable[Record | dict[str, Any]], target: Path, kind: Kind, columns: Sequence[str]) -> int:
    """Write records to a file that appears when it is complete; returns their number."""
    if kind == "parquet":
        return _write_parquet(rows, target, columns)
    pieces = 0
    with writing(target) as file:
        for piece in encode_table(rows, kind, columns):
            file.write(piece)
            pieces += 1
    return pieces - _FRAME[kind]


_FRAME = {"csv": 1, "jsonl": 0, "json": 2}
"""How many pieces are not rows: the header of a CSV, the brackets of JSON."""


def encode_table(
    rows: Iterable[Record | dict[str, Any]],
    kind: Literal["jsonl", "json", "csv"],
    columns: Sequence[str],
    *,
    indent: int = 0,
) -> Iterator[bytes]:
    """A table as pieces of text, one for each row and those around them; every row has every key or column."""
    if kind == "csv":
        yield csv_line(columns)
        for row in rows:
            yield csv_line([_cell(_at(row, name)) for name in columns])
        return
    plain = ({name: _at(row, name) for name in columns} for row in rows)
    if kind == "jsonl":
        for each in plain:
            yield encode(each) + b"\n"
        return
    yield b"["
    between, margin = b"\n", b" " * indent
    for each in plain:
        yield between + margin + encode(each, indent=indent or None).replace(b"\n", b"\n" + margin)
        between = b",\n"
    yield b"]\n" if between == b"\n" else b"\n]\n"


def _at(row: Record | dict[str, Any], name: str) -> Any:
    return row.get(name) if isinstance(row, dict) else getattr(row, name)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (dict, list, tuple)):
        return encode(value).decode() if value else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: Any) -> str:
    """A value as valid UTF-8 text: a lone surrogate is written as its escape, as in CSV."""
    text = value if isinstance(value, str) else encode(value).decode()
    return text.encode("utf-8", "backslashreplace").decode()


def csv_line(cells: Iterable[str]) -> bytes:
    """A row of CSV in which no cell is a formula: text by an agent must not run in somebody's spreadsheet."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow([escape_formula(cell) for cell in cells])
    return buffer.getvalue().encode("utf-8", "backslashreplace")


_BATCH = 10_000
_TYPES = {"epoch": "int64", "turn": "int64", "threshold": "float64", "passed": "bool_", "number": "float64"}
"""Columns of Parquet that are not text."""


def _write_parquet(rows: Iterable[Record | dict[str, Any]], target: Path, columns: Sequence[str]) -> int:
    """Every file has the same columns of the same types, whatever its values are: a value can be a number or a word, so
    it is stored as text, with the number in a column next to it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("writing Parquet", "analysis") from None
    # Types that depend on the values would differ between files, and engines refuse to read such files together.
    names = [each for name in columns for each in ((name, "number") if name == "value" else (name,))]
    schema = pa.schema([(name, getattr(pa, _TYPES.get(name, "string"))()) for name in names])
    count, left = 0, iter(rows)
    with writing(target) as file, pq.ParquetWriter(file, schema) as writer:
        while batch := list(islice(left, _BATCH)):
            data = {name: [_entry(row, name) for row in batch] for name in names}
            try:
                writer.write_table(pa.table(data, schema=schema))
            except (pa.ArrowInvalid, OverflowError) as error:
                raise WriteError(f"a number is too large for Parquet ({error}): write .csv or .json instead") from None
            count += len(batch)
    return count


def _entry(row: Record | dict[str, Any], name: str) -> Any:
    value = _at(row, "value" if name == "number" else name)
    if name == "number":
        return float(value) if in_range(value) else None
    if _TYPES.get(name) == "float64" and in_range(value):
        return float(value)  # Arrow takes no whole number of more than 64 bits for a float
    return value if value is None or name in _TYPES else _text(value)
