"""Parquet files of one part: written under temporary names, read row by row."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from os import fspath
from pathlib import Path
from typing import Any

from msgspec.structs import fields, replace

from pantrace.errors import MissingExtra
from pantrace.model import Record
from pantrace.places import BucketRun, bucket_run_of

from .batch import Batch
from .durable import sync, temporary_name, write_errors
from .json_text import sayable
from .rows import Kept, Result
from .schema import PART_TABLES, SCORE_WORDS, columns
from .verify import damaged_part, file_hash

# A group of rows ends at whichever comes first: all of it waits in memory, and a single text may be long.
_ROWS_AT_ONCE = 20_000
_CHARACTERS_AT_ONCE = 3_000_000
# Columns whose values are all different: a dictionary pays off only if values repeat.
_ALL_DIFFERENT = ("json",)
_ASKED_FOR = ("number", "sample", "case_id", "epoch", "origin", "name", "status", "value", "passed", "profile")
"""Columns that queries filter by: their smallest and largest value let a reader skip a group of rows."""
_ADDED = ("numbers", "not_applicable", "required_evals")
"""Columns that parts of earlier versions lack; they are null there."""


class WrittenFile(Record, frozen=True, kw_only=True):
    """A file that is complete on the disk and does not count yet."""

    table: str
    temporary: str
    """Its name in `parts/` until it is committed."""
    rows: int
    bytes: int
    sha256: str
    is_sent: bool = False
    """Whether it is already in the run directory's bucket, under its final name."""


class Staged(Record, frozen=True, kw_only=True):
    """A part that is written and waits to be committed: small enough to be sent between processes."""

    part: str
    files: tuple[WrittenFile, ...]


def stage_part(folder: Path, part: str, results: Iterable[Result | Kept]) -> Staged:
    """Write the files of a part below the run directory `folder` without making them count.

    Needs no lock, so workers can call it; the directory's writer commits what they return."""
    part = sayable(part)
    with PartWriter(folder) as writer:
        for number, result in enumerate(results):
            writer.batch.add(part, number, result)
            writer.flush_if_full()
        staged = Staged(part=part, files=writer.finish())
    remote = bucket_run_of(folder)
    return staged if remote is None or not remote.stands_apart else _sent(remote, folder, staged)


def _sent(remote: BucketRun, folder: Path, staged: Staged) -> Staged:
    """The same part, uploaded to the bucket, because the process that commits it cannot see our disk."""
    for each in staged.files:
        remote.deliver(folder / "parts" / each.temporary, file_name(staged.part, each.table, each.sha256))
    return replace(staged, files=tuple(replace(each, is_sent=True) for each in staged.files))


def file_name(part: str, table: str, digest: str) -> str:
    """The name of a part's file. It contains the hash, so that no file can replace another that still counts."""
    # The part's own name if every file system accepts it, otherwise its hash.
    stem = part if re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", part) else hashlib.sha256(part.encode()).hexdigest()
    return f"{stem}.{table}.{digest[:12]}.parquet"


class PartWriter:
    """Tables of one part, written in groups of rows so that memory stays flat."""

    def __init__(self, folder: Path):
        _arrow()
        self._folder = folder
        self._parts = folder / "parts"
        self.batch = Batch()
        self._open: dict[str, tuple[Path, Any]] = {}
        self._rows = dict.fromkeys(PART_TABLES, 0)
        self._finished = False

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._finished:
            return
        for path, writer in self._open.values():
            try:
                writer.close()
            except Exception:  # noqa: BLE001 -- the file is thrown away; a full disk must not hide the first error
                pass
            path.unlink(missing_ok=True)

    def flush_if_full(self) -> None:
        """Write the batch if it is large enough."""
        if self.batch.characters > _CHARACTERS_AT_ONCE or self.batch.rows > _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        waiting, self.batch = self.batch, Batch()
        tables = waiting.tables()
        with write_errors(self._folder):
            for table, found in tables.items():
                made = to_arrow(PART_TABLES[table], found)
                self._writer(table).write_table(made)
                self._rows[table] += made.num_rows

    def _writer(self, table: str) -> Any:
        if table not in self._open:
            pa, pq = _arrow()
            path = temporary_name(self._parts)
            sink = pa.OSFile(fspath(path), "wb")
            schema = arrow_schema(PART_TABLES[table])
            writer = pq.ParquetWriter(
                sink,
                schema,
                compression="zstd",
                use_dictionary=[name for name in schema.names if name not in _ALL_DIFFERENT],
                write_statistics=[name for name in schema.names if name in _ASKED_FOR],
            )
            self._open[table] = (path, _Closing(writer, sink))
        return self._open[table][1]

    def finish(self) -> tuple[WrittenFile, ...]:
        """Write the rest, sync all files to the disk, and return them."""
        self._flush()
        written = []
        with write_errors(self._folder):
            for table in [table for table in PART_TABLES if table in self._open]:
                path, writer = self._open[table]
                writer.close()
                sync(path)
                size, digest = path.stat().st_size, file_hash(path)
                written.append(
                    WrittenFile(table=table, temporary=path.name, rows=self._rows[table], bytes=size, sha256=digest)
                )
        self._finished = True
        return tuple(written)


class _Closing:
    """A Parquet writer together with its file: closing it closes both."""

    def __init__(self, writer: Any, sink: Any):
        self._writer, self._sink = writer, sink
        self.write_table = writer.write_table

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._sink.close()


def arrow_schema(row: type[Record]) -> Any:
    """The columns of a table as Arrow sees them."""
    pa, _ = _arrow()
    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(name, kinds[kind]) for name, kind in columns(row).items()])


@cache
def arrow_schema_of(table: str) -> Any:
    """The same by the table's name, cached."""
    return arrow_schema(PART_TABLES[table])


@cache
def needed_columns(table: str) -> frozenset[str]:
    """Columns that have a value in every row."""
    return frozenset(field.name for field in fields(PART_TABLES[table]) if field.required)


def to_arrow(row: type[Record], found: Mapping[str, list[Any]]) -> Any:
    """Columns as an Arrow table."""
    pa, _ = _arrow()
    schema = arrow_schema(row)
    return pa.table([_array(found[field.name], field.type) for field in schema], schema=schema)


def _array(values: list[Any], kind: Any) -> Any:
    pa, _ = _arrow()
    try:
        found = pa.array(values, kind)
    # Lone surrogates and numbers beyond 64 bits are rare, so values are checked one by one only after Arrow refused
    # them.
    except (UnicodeEncodeError, OverflowError, pa.ArrowInvalid):
        found = pa.array([_fitting(value, kind == pa.float64()) for value in values], kind)
    if kind == pa.float64():
        import numpy as np

        # NaN in a column would make every average NaN. `json` has the exact value. By numpy here and elsewhere:
        # pyarrow.compute makes a function for each of its kernels when it is loaded, which takes 25 ms.
        numbers = found.to_numpy(zero_copy_only=False)
        finite = np.isfinite(numbers)
        if np.count_nonzero(finite) + found.null_count < len(found):
            found = pa.array(numbers, kind, mask=~finite)
    return found


def _fitting(value: Any, is_number: bool) -> Any:
    if isinstance(value, str):
        return sayable(value)
    if is_number and value is not None:
        try:
            return float(value)
        except OverflowError:
            return None
    return None if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 else value


def read_columns(
    table: str, path: Path, rows: int, names: Sequence[str], only: tuple[str, Collection[str]] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Some columns of a file, row by row, with one group of rows in memory at a time. With `only`, just the rows that
    have one of these texts in this column."""
    pa, pq = _arrow()
    wanted = pa.array(list(only[1]), pa.string()) if only is not None else None
    columns = list(dict.fromkeys([*names, *([only[0]] if only is not None else [])]))
    try:
        with pa.OSFile(fspath(path), "rb") as file, pq.ParquetFile(file) as parquet:
            # Files of earlier versions lack columns that were added later.
            lacking = {*columns} & {*_ADDED} - {*parquet.schema_arrow.names}
            columns = [name for name in columns if name not in lacking]
            _refuse_other_rows(parquet.metadata.num_rows, rows)
            for batch in parquet.iter_batches(batch_size=256, columns=columns, use_threads=False):
                _refuse_other_columns(table, batch)
                if only is not None:
                    from pyarrow import compute

                    batch = batch.filter(compute.is_in(batch.column(only[0]), wanted))
                none = [None] * batch.num_rows
                yield from zip(
                    *(none if name in lacking else batch.column(name).to_pylist() for name in names), strict=True
                )
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError, _Other) as error:
        raise damaged_part(path, str(error)) from None


class _Other(Exception):
    """A file that we cannot have written, although its hash is right: whoever can change a file can change its hash."""


def _refuse_other_rows(found: int, written: int) -> None:
    if found != written:
        raise _Other(f"it has {found:,} rows, and {written:,} were written")


def _refuse_other_columns(table: str, found: Any) -> None:
    """Refuse columns of another type, or with nulls where the table has none."""
    pa, _ = _arrow()
    kinds, needed = arrow_schema_of(table), needed_columns(table)
    for name, column in zip(found.schema.names, found.columns, strict=True):
        # A dictionary column has the type of its texts.
        kind = getattr(column.type, "value_type", column.type)
        if kind != kinds.field(name).type:
            raise _Other(f"its column {name} holds {kind}, not {kinds.field(name).type}")
        if column.null_count and name in needed:
            raise _Other(f"its column {name} has no value in some rows")
        # Only dictionaries, which are short. Readers of single rows decode the record, which checks its words itself.
        if table == "scores" and name in SCORE_WORDS and pa.types.is_dictionary(column.type):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            words = {word for chunk in chunks for word in chunk.dictionary.to_pylist()}
            if other := words - SCORE_WORDS[name]:
                raise _Other(f"its column {name} says {min(map(str, other))[:40]!r}")


def read_whole(table: str, path: Path, rows: int, names: Sequence[str], listed: Collection[str]) -> Any:
    """Some columns of a file as an Arrow table, the `listed` ones dictionary-encoded. Null if the file is of an earlier
    version without such a column."""
    pa, pq = _arrow()
    schema = arrow_schema_of(table)
    try:
        with pa.OSFile(fspath(path), "rb") as file:
            metadata = pq.read_metadata(file)
            _refuse_other_rows(metadata.num_rows, rows)
            columns = metadata.schema.names
            there = [name for name in names if name not in _ADDED or name in columns]
            file.seek(0)
            in_lists = [name for name in listed if name in columns]
            with pq.ParquetFile(file, metadata=metadata, read_dictionary=in_lists) as parquet:
                found = parquet.read(columns=there, use_threads=False)
            if missing := [name for name in there if name not in found.column_names]:
                raise _Other(f"it has no column {missing[0]}")
            _refuse_other_columns(table, found)
            if any(column.num_chunks != 1 for column in found.columns):
                found = found.combine_chunks()
            for name in [name for name in names if name not in there]:
                kind = pa.dictionary(pa.int32(), pa.string()) if name in listed else schema.field(name).type
                found = found.append_column(name, pa.nulls(found.num_rows, kind))
            return found
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError, _Other) as error:
        raise damaged_part(path, str(error)) from None


def refuse_other_file(table: str, path: Path, rows: int) -> None:
    """A damaged part for a file that a question would read without an error: Arrow reads a column that is not there as
    nulls."""
    pa, pq = _arrow()
    try:
        with pa.OSFile(fspath(path), "rb") as file:
            told = pq.read_metadata(file)
        _refuse_other_rows(told.num_rows, rows)
        needed = needed_columns(table) - {*_ADDED}
        if missing := needed - {*told.schema.names}:
            raise _Other(f"it has no column {min(missing)}")
        for group in map(told.row_group, range(told.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                counts = column.statistics
                if column.path_in_schema in needed and counts is not None and counts.null_count:
                    raise _Other(f"its column {column.path_in_schema} has no value in some rows")
    except (OSError, pa.ArrowException, UnicodeDecodeError, _Other) as error:
        raise damaged_part(path, str(error)) from None


def open_dataset(table: str, files: Sequence[str]) -> Any:
    """Many files of one table as one dataset, read only when it is queried."""
    _arrow()
    from pyarrow import dataset, fs

    # Not `dataset.dataset`, which opens the files: those of a table that is not queried stay in their bucket.
    return dataset.FileSystemDataset.from_paths(
        list(files),
        schema=arrow_schema(PART_TABLES[table]),
        format=dataset.ParquetFileFormat(),
        filesystem=fs.LocalFileSystem(),
    )


def require_analysis() -> None:
    """Raise MissingExtra now, and not after an hour of work, when results are stored or summed up."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("pyarrow", "duckdb", "scipy")):
        raise MissingExtra("a run directory", "analysis")


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("a run directory", "analysis") from None
    return pa, pq
