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

# Whichever comes first ends a group of rows: a group waits in memory as a whole, and a single text may be long.
_ROWS_AT_ONCE = 20_000
_CHARACTERS_AT_ONCE = 3_000_000
# A dictionary of values pays only where values repeat.
_ALL_DIFFERENT = ("json",)
_ASKED_FOR = ("number", "sample", "case_id", "epoch", "origin", "name", "status", "value", "passed", "profile")
"""Columns whose least and greatest value are worth knowing before a group of rows is read."""
_ADDED = ("numbers", "not_applicable", "required_evals")
"""Columns that parts of earlier versions do not have; there they are null."""


class WrittenFile(Record, frozen=True, kw_only=True):
    """A file that is whole on the disk and does not count yet."""

    table: str
    temporary: str
    """Its name in `parts/` until it is committed."""
    rows: int
    bytes: int
    sha256: str
    is_sent: bool = False
    """Whether it is in the run directory's bucket already, by the name that it will have."""


class Staged(Record, frozen=True, kw_only=True):
    """A part that is written and waits to be committed: small enough to be sent between processes."""

    part: str
    files: tuple[WrittenFile, ...]


def stage_part(folder: Path, part: str, results: Iterable[Result | Kept]) -> Staged:
    """Write the files of a part below the run directory `folder` without making them count.

    Needs no lock, so workers may call it; the directory's writer commits what they give back."""
    part = sayable(part)
    with PartWriter(folder) as writer:
        for number, result in enumerate(results):
            writer.batch.add(part, number, result)
            writer.flush_if_full()
        staged = Staged(part=part, files=writer.finish())
    remote = bucket_run_of(folder)
    return staged if remote is None or not remote.stands_apart else _sent(remote, folder, staged)


def _sent(remote: BucketRun, folder: Path, staged: Staged) -> Staged:
    """The same part, in the bucket: who commits it does not see our disk."""
    for each in staged.files:
        remote.deliver(folder / "parts" / each.temporary, file_name(staged.part, each.table, each.sha256))
    return replace(staged, files=tuple(replace(each, is_sent=True) for each in staged.files))


def file_name(part: str, table: str, digest: str) -> str:
    """The name of a part's file. With the hash in it no file takes the place of another that still counts."""
    # The part itself where every file system takes it, else its hash.
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
        """Write what waits, when enough has come together."""
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
                # A list of texts that are all different is made for nothing.
                use_dictionary=[name for name in schema.names if name not in _ALL_DIFFERENT],
                write_statistics=[name for name in schema.names if name in _ASKED_FOR],
            )
            self._open[table] = (path, _Closing(writer, sink))
        return self._open[table][1]

    def finish(self) -> tuple[WrittenFile, ...]:
        """Write what is left, bring all to the disk, and say what there is."""
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
    """A Parquet writer with the file below it: closing one closes both."""

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
    """The same by the table's name, made once."""
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
    except (UnicodeEncodeError, OverflowError, pa.ArrowInvalid):
        found = pa.array([_fitting(value, kind == pa.float64()) for value in values], kind)
    if kind == pa.float64():
        from pyarrow import compute

        finite = compute.is_finite(found)
        if not compute.all(finite, min_count=0).as_py():
            found = compute.if_else(finite, found, None)
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
    """Some columns of a file, row by row; a group of rows is in memory at a time. With `only`, those rows that have one
    of these texts in this column."""
    pa, pq = _arrow()
    from pyarrow import compute

    wanted = pa.array(list(only[1]), pa.string()) if only is not None else None
    columns = list(dict.fromkeys([*names, *([only[0]] if only is not None else [])]))
    try:
        with pa.OSFile(fspath(path), "rb") as file, pq.ParquetFile(file) as parquet:
            # A file of an earlier version lacks the columns that came later.
            lacking = {*columns} & {*_ADDED} - {*parquet.schema_arrow.names}
            columns = [name for name in columns if name not in lacking]
            _refuse_other_rows(parquet.metadata.num_rows, rows)
            for batch in parquet.iter_batches(batch_size=256, columns=columns, use_threads=False):
                _refuse_other_columns(table, batch)
                if only is not None:
                    batch = batch.filter(compute.is_in(batch.column(only[0]), wanted))
                none = [None] * batch.num_rows
                yield from zip(
                    *(none if name in lacking else batch.column(name).to_pylist() for name in names), strict=True
                )
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError, _Other) as error:
        raise damaged_part(path, str(error)) from None


class _Other(Exception):
    """A file that is not what a writer of ours makes, although its hash is right: whoever can change a file can change
    its hash."""


def _refuse_other_rows(found: int, told: int) -> None:
    if found != told:
        raise _Other(f"it has {found:,} rows, and {told:,} were written")


def _refuse_other_columns(table: str, found: Any) -> None:
    """Columns of a type that the table does not have, or with nulls where it has none."""
    pa, _ = _arrow()
    kinds, needed = arrow_schema_of(table), needed_columns(table)
    for name, column in zip(found.schema.names, found.columns, strict=True):
        kind = getattr(column.type, "value_type", column.type)  # of a list of texts: of the texts
        if kind != kinds.field(name).type:
            raise _Other(f"its column {name} holds {kind}, not {kinds.field(name).type}")
        if column.null_count and name in needed:
            raise _Other(f"its column {name} has no value in some rows")
        # Lists of texts are short. Whoever reads texts row by row also decodes the record, which knows its words.
        if table == "scores" and name in SCORE_WORDS and pa.types.is_dictionary(column.type):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            said = {word for chunk in chunks for word in chunk.dictionary.to_pylist()}
            if other := said - SCORE_WORDS[name]:
                raise _Other(f"its column {name} says {min(map(str, other))[:40]!r}")


def read_whole(table: str, path: Path, rows: int, names: Sequence[str], listed: Collection[str]) -> Any:
    """Some columns of a file as an Arrow table, texts of some of them as places in a list. Null where an earlier
    version has no such column."""
    pa, pq = _arrow()
    schema = arrow_schema_of(table)
    try:
        with pa.OSFile(fspath(path), "rb") as file:
            told = pq.read_metadata(file)
            _refuse_other_rows(told.num_rows, rows)
            columns = told.schema.names
            there = [name for name in names if name not in _ADDED or name in columns]
            file.seek(0)
            in_lists = [name for name in listed if name in columns]
            with pq.ParquetFile(file, metadata=told, read_dictionary=in_lists) as parquet:
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


def open_dataset(table: str, files: Sequence[str]) -> Any:
    """Many files of one table as one, read when it is asked."""
    _arrow()
    from pyarrow import dataset, fs

    # Not `dataset.dataset`, which looks for the files: those of a table that nobody asks for stay in their bucket.
    return dataset.FileSystemDataset.from_paths(
        list(files),
        schema=arrow_schema(PART_TABLES[table]),
        format=dataset.ParquetFileFormat(),
        filesystem=fs.LocalFileSystem(),
    )


def require_analysis() -> None:
    """Raise MissingExtra now rather than when the first result is to be kept, or the last one summed up."""
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
