"""Tables of cases: CSV, TSV and JSON with a question in each row, and Inspect's datasets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError, UnknownFormat, UsageError
from pantrace.model import Case, Extra, Sample
from pantrace.wire import files
from pantrace.wire.json import encode
from pantrace.wire.rows import raise_broken, read_rows

from .inspect_dataset import case_of_row, is_inspect

NAME = "table"
COLUMNS: dict[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "input", "query", "instruction", "task"),
    "id": ("id", "case_id", "task_id", "question_id"),
    "reference": ("reference", "answer", "expected", "target", "ideal", "expected_output"),
    "goal": ("goal",),
    "context": ("context",),
}
"""The column names under which a table can have the fields of a case."""


def is_table(path: Path) -> bool:
    """Whether a file has the suffix of a table and no known format."""
    if files.bare_suffix(path) not in (".csv", ".tsv", ".jsonl", ".json"):
        return False
    from pantrace.formats import detect

    try:
        detect(path)
    except UnknownFormat:
        return True
    except ReadError:
        # A damaged file of a known format is not a table.
        return False
    return False


def table(path: Path, columns: dict[str, str]) -> Iterator[Sample]:
    """A case for each row."""
    for field in columns:
        if field not in COLUMNS:
            close = next(iter(get_close_matches(field, COLUMNS, n=1)), None)
            hint = f"did you mean {close}?" if close else f"fields are {', '.join(COLUMNS)}"
            raise UsageError(f"--column {field}={columns[field]}: a case has no field {field!r}; {hint}")
    for number, row in enumerate(_rows(path), 1):
        if not isinstance(row, dict):
            raise ReadError("a row of cases must be an object", path=str(path), place=f"row {number}")
        yield _case(row, columns, path, number)


def _rows(path: Path) -> Iterator[Any]:
    suffix = files.bare_suffix(path)
    if suffix in (".csv", ".tsv"):
        try:
            text = files.read_all(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            remedy = "save the table as UTF-8"
            raise ReadError("not UTF-8 text", path=str(path), place=f"byte {error.start}", remedy=remedy) from None
        rows = csv.DictReader(
            io.StringIO(text, newline=""), restkey="more", delimiter="\t" if suffix == ".tsv" else ","
        )
        # csv refuses cells over 128 kB, and a case may contain a whole document. The limit is global: reset it below.
        former = csv.field_size_limit(len(text) + 1)
        try:
            yield from rows
        except csv.Error as error:
            raise ReadError(f"not a table: {error}", path=str(path), place=f"line {rows.line_num}") from None
        finally:
            csv.field_size_limit(former)
    else:
        for _, row in read_rows(path, raise_broken):
            yield row


def _case(row: dict[str, Any], columns: dict[str, str], path: Path, number: int) -> Sample:
    where = {"path": str(path), "place": f"row {number}"}
    found: dict[str, Any] = {}
    taken: set[str] = set()
    for name, usual in COLUMNS.items():
        names = (columns[name],) if name in columns else usual
        key = next((each for each in names if row.get(each) not in (None, "")), None)
        if key is not None:
            found[name] = row[key] if isinstance(row[key], str) else encode(row[key]).decode()
            taken.add(key)
        elif name in columns and columns[name] not in row:
            raise ReadError(f"there is no column {columns[name]!r}; there are {', '.join(map(str, row))}", **where)
    if "question" not in found:
        there = ", ".join(map(str, row))
        remedy = "name it with --column question=NAME"
        raise ReadError(f"no column has the question; there are {there}", **where, remedy=remedy)
    name = found.pop("id", None) or str(number)
    beside: Extra = {NAME: {"folder": str(path.parent.absolute())}}
    # "input" alone is a common column; Inspect's other fields make it a sample of Inspect.
    if found["question"] is not None and "input" in taken and is_inspect(row):
        try:
            return Sample(id=name, case=case_of_row(name, row, taken), extra=beside)
        except ReadError as error:
            raise error.at(**where) from None
    # Other text columns (difficulty, topic) become labels, so that results can be grouped by them.
    labels = {key: value for key, value in row.items() if key not in taken and isinstance(value, str) and value}
    rest = {key: value for key, value in row.items() if key not in taken and key not in labels and value is not None}
    return Sample(id=name, case=Case(id=name, **found, labels=labels, extra={NAME: rest} if rest else {}), extra=beside)
