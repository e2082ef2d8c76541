"""Run directories that once ended in a traceback or never: each is refused in a sentence now, by whoever reads it."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyarrow import parquet

from fuzz.attempt import quiet, tried
from fuzz.command_lines import Line
from fuzz.damaged_runs import _sealed
from fuzz.whole import Whole
from pantrace.errors import ReadError
from pantrace.library.shown import _roots
from pantrace.model import RunHeader
from pantrace.store import query


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(tmp_path_factory.mktemp("fuzz") / "whole")


@pytest.fixture
def run(whole: Whole, tmp_path: Path) -> Path:
    shutil.copytree(whole.names["judged"], tmp_path / "run")
    return tmp_path / "run"


def sealed_again(run: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table of the run, and its hash with it, as whoever means harm would."""
    (path,) = (run / "parts").glob(f"*.{table}.*.parquet")
    parquet.write_table(change(parquet.read_table(path)), path)
    data = path.read_bytes()
    with closing(sqlite3.connect(run / "manifest.sqlite")) as database:
        found = (sha256(data).hexdigest(), len(data), path.name)
        database.execute("update files set sha256 = ?, bytes = ? where file = ?", found)
        database.commit()
        assert _sealed(database)


def with_column(name: str, values: Callable[[int], pa.Array]) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.column_names.index(name), name, values(table.num_rows))


def texts(text: str | None) -> Callable[[int], pa.Array]:
    return lambda rows: pa.array([text] * rows, pa.string())


READERS = (
    "compare {run} {other}",
    "gate {run} --markdown {out}/made.md --junit {out}/made.xml --report {out}/made.json",
    "gate {run} --profile {profile}",
    "report {run} -o {out}/made.md",
    "report {run} -o {out}/made.html",
    "eval {recording} --plan {plan} --out {run}",
    "query {run} select",
    "validate {run}",
    "view {run}",
    "diagnose {run}",
)
CHANGES: dict[str, tuple[str, Callable[[pa.Table], pa.Table]]] = {
    "labels that are no object": ("samples", with_column("labels", texts("[1]"))),
    "labels that are no JSON": ("samples", with_column("labels", texts("\x1b[2J"))),
    "no row where four were written": ("samples", lambda table: table.slice(0, 0)),
    "rows twice": ("scores", lambda table: pa.concat_tables([table, table])),
    "a number beyond all samples": (
        "samples",
        with_column("number", lambda rows: pa.array([2**62] * rows, pa.int64())),
    ),
    "a number below zero": ("scores", with_column("number", lambda rows: pa.array([-1] * rows, pa.int64()))),
    "text in a column of numbers": ("scores", with_column("value", texts("x"))),
    "null where there is always a value": ("scores", with_column("name", texts(None))),
    "reasons that are no JSON": ("decisions", with_column("reasons", texts(""))),
    "what decided is no list": ("decisions", with_column("deciding", texts("{}"))),
    "numbers that are no numbers": ("scores", with_column("numbers", texts('{"a": [1]}'))),
    "what does not apply is no list": ("samples", with_column("not_applicable", texts("7"))),
    "a type of value that nobody knows": ("scores", with_column("value_type", texts("x"))),
    "decisions of another part": ("decisions", with_column("part", texts("elsewhere"))),
    "decisions without their profile": ("decisions", lambda table: table.drop_columns(["profile"])),
    "decisions without what decided": ("decisions", lambda table: table.drop_columns(["deciding"])),
    "profiles that are null": ("decisions", with_column("profile", texts(None))),
    "a column fewer": ("samples", lambda table: table.drop_columns(["sample"])),
}


@pytest.mark.parametrize("reader", READERS, ids=lambda each: each.split()[0] + each[-5:-1].strip())
@pytest.mark.parametrize("name", CHANGES)
def test_a_part_whose_hash_is_right_and_whose_content_is_not(
    name: str, reader: str, run: Path, whole: Whole, tmp_path: Path
) -> None:
    sealed_again(run, *CHANGES[name])
    out = tmp_path / "out"
    out.mkdir()
    names = {**whole.names, "run": str(run), "other": whole.names["run"]}
    tried(Line(tuple(reader.split())), names, out, random.Random(1))


def test_most_of_them_are_called_damage(run: Path, whole: Whole, tmp_path: Path) -> None:
    sealed_again(run, *CHANGES["labels that are no JSON"])
    with pytest.raises(ReadError, match="damaged"):
        quiet(["compare", str(run), whole.names["run"]])


def test_a_column_that_is_not_there_is_not_read_as_nulls(run: Path) -> None:
    sealed_again(run, *CHANGES["decisions without their profile"])
    with pytest.raises(ReadError, match="it has no column profile"):
        query(run, "select * from decisions")


def test_nulls_where_there_is_always_a_value_are_damage(run: Path) -> None:
    sealed_again(run, *CHANGES["profiles that are null"])
    with pytest.raises(ReadError, match="its column profile has no value in some rows"):
        query(run, "select * from decisions")


@pytest.mark.parametrize("name", ["manifest.sqlite-wal", "manifest.sqlite-shm", "lock"])
def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(name: str, run: Path, whole: Whole) -> None:
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    with pytest.raises(ReadError, match="not a regular file but a pipe"):
        quiet(["eval", whole.names["recording"], "--plan", whole.names["plan"], "--out", str(run)])
    if name != "lock":
        with pytest.raises(ReadError, match="not a regular file but a pipe"):
            query(run, "select * from samples")


def test_labels_that_are_a_pipe_are_no_labels(run: Path, whole: Whole, tmp_path: Path) -> None:
    os.mkfifo(run / "labels.jsonl")
    (tmp_path / "out").mkdir()
    tried(Line(("view", str(run))), whole.names, tmp_path / "out", random.Random(1))


@pytest.mark.parametrize(
    ("column", "value"), [("file", "../../x.parquet"), ("file", "a/b"), ("bytes", "many"), ("rows", None)]
)
def test_a_manifest_that_leads_elsewhere_or_has_other_types(column: str, value: object, run: Path) -> None:
    with closing(sqlite3.connect(run / "manifest.sqlite")) as database:
        database.execute("create table other as select * from files")
        database.execute("drop table files")
        database.execute("alter table other rename to files")
        database.execute(f"update files set {column} = ?", (value,))
        database.commit()
        assert _sealed(database)
    with pytest.raises(ReadError, match="the manifest of the run is damaged"):
        query(run, "select * from samples")


@pytest.mark.parametrize("value", ["null", None, "9" * 5_000])
def test_an_edition_that_is_no_number(value: object, run: Path, whole: Whole, tmp_path: Path) -> None:
    with closing(sqlite3.connect(run / "manifest.sqlite")) as database:
        database.execute("create table other as select * from facts")
        database.execute("drop table facts")
        database.execute("alter table other rename to facts")
        database.execute("update facts set value = ? where name = 'edition'", (value,))
        database.commit()
        assert _sealed(database)
    with pytest.raises(ReadError, match="the manifest of the run is damaged"):
        query(run, "select * from samples")
    (tmp_path / "out").mkdir()
    tried(
        Line(("run", "{cases}", "--agent", "cmd:cat", "--out", str(run))),
        whole.names,
        tmp_path / "out",
        random.Random(1),
    )


def test_a_run_file_of_half_a_letter(run: Path) -> None:
    (run / "run.json").write_text('"\\ud800"')
    with pytest.raises(ReadError, match="the header of the run is damaged"):
        query(run, "select 1")


def test_inputs_that_are_no_list_are_none(run: Path) -> None:
    directory = SimpleNamespace(header=RunHeader(dataset={"inputs": 10**30}))
    assert _roots(str(run), cast("Any", directory)) == ()


def test_the_seal_is_what_a_writer_makes(run: Path) -> None:
    """Else these tests would only try what a wrong hash gives away."""
    sealed_again(run, "samples", lambda table: table)
    assert query(run, "select count(*) from samples").rows == [(4,)]
    with closing(sqlite3.connect(run / "manifest.sqlite")) as database:
        database.execute("update seal set value = '00'")
        database.commit()
    with pytest.raises(ReadError, match="not those that were written"):
        query(run, "select count(*) from samples")
