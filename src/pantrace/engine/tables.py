"""Tables: flat records as JSON Lines, CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pantrace.errors import MissingExtra
from pantrace.model import Record
from pantrace.wire import files
from pantrace.wire.json import encode

Kind = Literal["jsonl", "json", "csv", "parquet"]


def write_table(rows: Iterable[Record], target: Path, kind: Kind, columns: tuple[str, ...]) -> int:
    """Write records to a file that appears when it is complete; gives their number."""
    if kind == "parquet":
        return _write_parquet(list(rows), target, columns)
    count = 0
    with files.writing(target) as file:
        if kind == "csv":
            file.write(_csv_line(columns))
        for count, row in enumerate(rows, 1):
            if kind == "csv":
                file.write(_csv_line([_cell(getattr(row, name)) for name in columns]))
            elif kind == "jsonl":
                file.write(full_json(row, columns) + b"\n")
            else:
                file.write((b"[\n" if count == 1 else b",\n") + full_json(row, columns))
        if kind == "json":
            file.write(b"\n]\n" if count else b"[]\n")
    return count


def full_json(row: Record, columns: tuple[str, ...]) -> bytes:
    """A record as JSON with every key, null included."""
    return encode({name: getattr(row, name) for name in columns})


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (dict, list, tuple)):
        return encode(value).decode() if value else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: Any) -> str:
    """A value as text that is valid UTF-8: half of a surrogate pair is written out, as in CSV."""
    text = value if isinstance(value, str) else encode(value).decode()
    return text.encode("utf-8", "backslashreplace").decode()


def _csv_line(cells: Iterable[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue().encode("utf-8", "backslashreplace")


def _write_parquet(rows: list[Record], target: Path, columns: tuple[str, ...]) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("writing Parquet", "analysis") from None
    # Values of several types (a score may be a number or a word) are text beside a number column.
    data: dict[str, list[Any]] = {}
    for name in columns:
        values = [getattr(row, name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int, float, bool} and not any(type(value) is int and abs(value) >= 2**63 for value in values):
            mixed = len(kinds) > 1
            data[name] = [None if value is None else float(value) for value in values] if mixed else values
        else:
            data[name] = [None if value is None else _text(value) for value in values]
            if name == "value" and not kinds <= {str}:
                data["number"] = [float(value) if isinstance(value, (int, float)) else None for value in values]
    with files.writing(target) as file:
        pq.write_table(pa.table(data), file)
    return len(rows)
