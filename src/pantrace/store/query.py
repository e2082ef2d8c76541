"""SQL queries: DuckDB, in memory, over the committed parts of one or more run directories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import fspath
from pathlib import Path
from sys import getsizeof
from typing import Any, NamedTuple

import msgspec

from pantrace.errors import MissingExtra, ReadError, UsageError
from pantrace.model import RunHeader
from pantrace.places import bring_all, path_at
from pantrace.wire.limits import in_words
from pantrace.wire.memory_bound import memory_bound
from pantrace.wire.private_folder import private_folder

from .durable import renewal
from .json_text import column_json, sayable
from .manifest import CommittedPart, committed_parts
from .parquet import open_dataset, refuse_other_file
from .reading import with_replaced_profiles
from .run_file import MANIFEST, PARTS, RunFile, read_run_file
from .schema import PART_TABLES, SQL_TYPES, TABLES, VIEWS, RunRow, columns
from .verify import check


class Answer(NamedTuple):
    """The result of a query, all in memory."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


MEMORY = 1_000_000_000
"""Bytes of memory for a query, and the same again for its answer."""
_SPILLED = 20
"""A query may use this many times its memory on the disk; the bound keeps an endless one from filling it."""
_AT_ONCE = 10_000
_WHOLE = 3
"""The whole process may take this many times its memory more. DuckDB bounds its tables, but not one long text."""
_BESIDE = 200_000_000
"""Bytes for what does not grow with the query: threads, and code that is loaded late."""


def query(paths: str | Path | Sequence[str | Path], sql: str, *, memory: int = MEMORY) -> Answer:
    """Run one query in DuckDB's SQL over the tables runs, samples, steps, calls, scores and decisions.

    The column `run` of each table is the directory's path as given. Nothing can be written, and only committed parts
    can be read. A query that needs more than `memory` bytes uses the disk, up to twenty times as much; if it needs
    more than that, or if its answer is larger than `memory`, that is an error."""
    duckdb = _duckdb()
    if sayable(sql) != sql:
        raise UsageError("the query contains a lone surrogate (half a letter), which is not valid text")
    given = [paths] if isinstance(paths, str | Path) else paths
    # The same directory given twice must not count twice.
    folders = list({(found := path_at(path)).resolve(): found for path in given}.values())
    bound = memory_bound(_WHOLE * memory + _BESIDE)
    with private_folder() as spill, duckdb.connect(config=_bounded(spill, memory)) as database, bound:
        try:
            _create_tables(database, folders, PART_TABLES, _named_in(sql))
            # The read-only transaction below would stop a write, too, but this gives the reason.
            _refuse_all_but_a_question(duckdb, database, sql)
            database.execute("begin transaction read only")
            return _interruptible(database, lambda: _answered(database.execute(sql), memory))
        except (duckdb.OutOfMemoryException, MemoryError):
            raise UsageError(
                f"the query needs more than {in_words(memory)} of memory, or too much disk space; "
                "select fewer rows, or allow more with --max-memory SIZE"
            ) from None
        except duckdb.Error as error:
            raise _usage_error(error) from None


def _interruptible(database: Any, work: Callable[[], Answer]) -> Answer:
    """Done in a thread, because DuckDB may not look for Ctrl-C as long as a query runs in the main one."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            database.interrupt()
            raise


def _answered(answer: Any, memory: int) -> Answer:
    return Answer(tuple(column[0] for column in answer.description), _fetched(answer, memory))


def _bounded(spill: Path, memory: int) -> dict[str, Any]:
    return {
        **_config(spill),
        "memory_limit": f"{memory}B",
        "max_temp_directory_size": f"{memory * _SPILLED}B",
    }


def _fetched(answer: Any, most: int) -> list[tuple[Any, ...]]:
    """All rows. The bound is on their size as Python objects, which is several times their size in the database."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    while some := answer.fetchmany(_AT_ONCE):
        rows += some
        size += sum(getsizeof(row) + sum(map(getsizeof, row)) for row in some)
        if size > most:
            raise UsageError(
                f"the answer is larger than {in_words(most)} ({len(rows):,} rows so far); "
                "select less with LIMIT or GROUP BY, or allow more with --max-memory SIZE"
            )
    return rows


@contextmanager
def workbench(path: Path, memory: str, tables: set[str]) -> Iterator[Any]:
    """A DuckDB connection with these tables of one run directory, for queries in several steps. It uses at most this
    much memory and puts the rest on the disk."""
    duckdb = _duckdb()
    with private_folder() as spill:
        config = {**_config(spill), "memory_limit": memory, "threads": "1"}
        with duckdb.connect(config=config) as database:
            _create_tables(database, [path], tables, tables)
            try:
                yield database
            except (duckdb.DataError, duckdb.InvalidInputException) as error:
                # Our own queries are right, so a text in the parts must not be what its column promises.
                raise ReadError(
                    f"the run directory is damaged: {error}", path=str(path), remedy=renewal(path)
                ) from None


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("a query", "analysis") from None
    return duckdb


def _config(spill: Path) -> dict[str, Any]:
    return {
        # DuckDB gets the parts through Arrow and may not open any file: even a SELECT can COPY inside a WITH.
        "enable_external_access": "false",
        "temp_directory": str(spill),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_persistent_secrets": "false",
        # Otherwise a name in SQL could refer to a Python variable of ours.
        "python_enable_replacements": "false",
    }


def _refuse_all_but_a_question(duckdb: Any, database: Any, sql: str) -> None:
    """Refuse everything except SELECT and statements like it."""
    statements = database.extract_statements(sql)
    if len(statements) != 1:
        raise UsageError(f"one query at a time; this is {len(statements) or 'none'}")
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = statements[0].type.name
        hint = "; name the values of a PIVOT: PIVOT … ON column IN (…)" if kind == "MULTI" else ""
        raise UsageError(f"{kind} is not a query; SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE and SHOW are{hint}")


def _usage_error(error: Exception) -> UsageError:
    text = str(error)
    if "'pytz'" in text:
        text = "a time with a time zone cannot be given back; cast it: to_timestamp(started)::timestamp"
    first, *rest = text.split("\n")
    failed = UsageError(f"the query failed: {first}")
    # DuckDB shows the place in the query below its message.
    failed.below = tuple(f"  {line}" for line in rest if line)
    return failed


def _named_in(sql: str) -> set[str]:
    """The tables that a query may read; only their files are checked against their hashes. `query('…')` and
    `query_table('…')` can compose any name."""
    text = sql.lower()
    seen = {table for table in PART_TABLES if table in text or "query" in text}
    seen |= {"scores"} if "score_rows" in text else set()
    return seen | {"samples", "scores"} if any(view in text for view in VIEWS) else seen


def _create_tables(database: Any, folders: list[Path], tables: Collection[str], asked: set[str]) -> None:
    """Create these tables, and the views where all tables are there. `asked`: those whose files are checked."""
    runs = {sayable(str(folder)): (folder, read_run_file(folder)) for folder in folders}
    parts = {run: committed_parts(folder / MANIFEST) for run, (folder, _) in runs.items()}
    # The same query must have the same answer on every machine.
    database.execute("set timezone = 'UTC'")
    # From here on, no SQL can undo the settings of `_config`.
    database.execute("set lock_configuration = true")
    for table in tables:
        found = None
        for run, (folder, _) in runs.items():
            for files, condition in _groups(folder, table, parts[run], table in asked):
                some = database.from_arrow(open_dataset(table, files)).filter(condition)
                some = some.project(f"{_text(run)} as run, *")
                found = some if found is None else found.union(some)
        # Scores that do not apply have no row in the parts, so `scores` is a view that adds them.
        name = "score_rows" if table == "scores" else table
        if found is not None:
            found.create_view(name)
        else:
            database.execute(f"create view {name} as select {_columns(table, 'null::{1} as {0}')} where false")
    for view, question in VIEWS.items() if {*tables} == {*PART_TABLES} else ():
        database.execute(f"create view {view} as {question}")
    database.execute(f"create table runs ({_columns('runs', '{0} {1}')})")
    for run, (_, content) in runs.items():
        values = [run, *msgspec.structs.astuple(_run_row(content))]
        database.execute(
            f"insert into runs values ({', '.join('?' * len(values))})",
            [sayable(value) if isinstance(value, str) else value for value in values],
        )


def _columns(table: str, pattern: str) -> str:
    kinds = {"run": str, **columns(TABLES[table])}
    return ", ".join(pattern.format(name, SQL_TYPES[kind]) for name, kind in kinds.items())


def _groups(folder: Path, table: str, parts: list[CommittedPart], hashed: bool) -> Iterable[tuple[list[str], str]]:
    """Files of one table, with the condition under which their rows count."""
    groups: dict[frozenset[str], list[str]] = {}
    if hashed:
        bring_all(folder / PARTS / file.file for part in parts if (file := part.file(table)) is not None)
    for part, replaced in with_replaced_profiles(parts):
        file = part.file(table)
        if file is None:
            continue
        path = folder / PARTS / file.file
        check(path, file, hashed=hashed)
        if hashed:
            refuse_other_file(table, path, file.rows)
        groups.setdefault(replaced if table == "decisions" else frozenset(), []).append(fspath(path))
    for replaced, files in groups.items():
        profiles = ", ".join(map(_text, sorted(replaced)))
        yield files, f"profile not in ({profiles})" if replaced else "true"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _run_row(content: RunFile) -> RunRow:
    header: RunHeader = content.run
    return RunRow(
        id=header.id,
        name=header.name,
        created=header.created,
        task=header.task,
        agent=header.agent,
        model=header.model,
        checkpoint=header.checkpoint,
        status=header.status,
        config=_json(header.config),
        dataset=_json(header.dataset),
        environment=_json(header.environment),
        results=_json(header.results),
        extra=_json(header.extra),
        format=header.source.format if header.source is not None else None,
        source=header.source.path if header.source is not None else None,
        plan=content.plan,
        plan_hash=content.plan_hash,
        pantrace=content.pantrace,
    )


def _json(value: Any) -> str | None:
    return column_json(value) if value else None
