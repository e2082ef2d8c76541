"""Questions: the tables as documented, several runs, and nothing but questions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pantrace.errors import ReadError, UsageError
from pantrace.model import RunHeader
from pantrace.store import RunDirectory, query
from pantrace.store.schema import SQL_TYPES, TABLES, columns
from store.writer import write

PAGE = Path(__file__).parents[2] / "docs/store.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "it's [a] *run?"
    write(str(folder), 2, 4)
    return folder


@pytest.mark.parametrize("table", TABLES)
def test_tables_have_the_columns_of_the_schema(run: Path, tmp_path: Path, table: str) -> None:
    expected = [("run", "VARCHAR"), *((name, SQL_TYPES[kind]) for name, kind in columns(TABLES[table]).items())]
    with RunDirectory.open_for_writing(tmp_path / "empty", RunHeader(), "", ""):
        pass
    for folder in (run, tmp_path / "empty"):
        described = query(folder, f"describe {table}")
        assert [row[:2] for row in described.rows] == expected
        # No column needs quotation marks.
        query(folder, f"select {', '.join(f't.{name}, {name}' for name, _ in expected)} from {table} t group by all")


def test_every_question_in_the_documentation_has_an_answer(run: Path) -> None:
    questions = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(questions) >= 5
    for question in questions:
        assert query(run, question).rows, question


def test_an_answer_has_names_and_values(run: Path) -> None:
    names, rows = query(
        run,
        "select sample, arguments->>'$.path' as path, started, truncated from calls where number = 3 order by all",
    )
    assert names == ("sample", "path", "started", "truncated")
    assert rows == [("sample-3", "/3", None, False), ("sample-7", "/7", None, False)]
    assert query(run, "select sum(input_tokens), max(started) from steps").rows == [(28, 1_700_000_007.5)]
    assert query(run, "select to_timestamp(max(started))::timestamp::varchar from steps").rows == [
        ("2023-11-14 22:13:27.5",)
    ]


def test_several_runs_are_told_apart(run: Path, tmp_path: Path) -> None:
    write(str(tmp_path / "b"), 1, 2)
    counts = "select run, count(*) from samples join decisions using (run, part, number) group by run order by 2"
    assert query([run, tmp_path / "b", run], counts).rows == [(str(tmp_path / "b"), 2), (str(run), 8)]
    assert query([str(run), tmp_path / "b"], "select count(*), count(distinct run) from runs").rows == [(2, 2)]
    with pytest.raises(ReadError, match="not a run directory"):
        query([run, tmp_path], "select 1")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("selec 1", "Parser Error"),
        ("select nothing from samples", 'Referenced column "nothing" not found'),
        ("", "one query at a time; this is none"),
        ("select 1; select 2", "one query at a time; this is 2"),
        ("select to_timestamp(started) from steps", "cast it"),
        ("pivot samples on epoch using count(*)", "name the values"),
    ],
)
def test_a_wrong_question_gets_a_sentence(run: Path, sql: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        query(run, sql)


HOSTILE = [
    "attach '{outside}/x.db'",
    "copy samples to '{outside}/x.csv'",
    "copy (select 1) to '{part}' (format csv, use_tmp_file false)",
    "explain analyze copy (select 1) to '{part}' (format csv, use_tmp_file false)",
    "explain analyze copy (select 1) to '{outside}/x.csv' (format csv, use_tmp_file false)",
    "copy (pivot samples on epoch using count(*)) to '{part}' (format csv, use_tmp_file false)",
    "export database '{outside}/x'",
    "install httpfs",
    "load httpfs",
    "load '{outside}/secret.txt'",
    "set enable_external_access = true",
    "reset lock_configuration",
    "pragma temp_directory='{outside}'",
    "create table samples as select 1",
    "drop view samples",
    "delete from runs",
    "with gone as (delete from runs returning *) select * from gone",
    "with gone as (copy (select 1) to '{part}' (format csv, use_tmp_file false)) select * from gone",
    "with gone as (copy (select 1) to '{outside}/x.csv' (format csv, use_tmp_file false)) select * from gone",
    "select * from read_parquet('{part}')",
    "create secret s (type s3)",
    "prepare x as select 1",
    "call pragma_version()",
    "select 1; copy samples to '{outside}/x.csv'",
    "select * from read_csv('{outside}/secret.txt')",
    "select * from read_text('{outside}/secret.txt')",
    "select * from read_text('{parts}/../../../secret.txt')",
    "select * from '{outside}/secret.txt'",
    "select * from glob('{outside}/*')",
    "select * from sniff_csv('{outside}/secret.txt')",
    "select * from query('copy (select 1) to ''{outside}/x.csv''')",
    "select * from read_parquet('https://example.org/x.parquet')",
    "select * from folder",
    "select * from given",
]


@pytest.mark.parametrize("sql", HOSTILE)
def test_nothing_can_be_written_and_nothing_else_be_read(run: Path, tmp_path: Path, sql: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    before = {path: path.read_bytes() for path in run.rglob("*.parquet")}
    part = str(next(run.glob("parts/*.samples.*.parquet"))).replace("'", "''")
    places = {"{outside}": str(tmp_path), "{part}": part, "{parts}": str(run / "parts").replace("'", "''")}
    for name, place in places.items():
        sql = sql.replace(name, place)
    with pytest.raises(UsageError):
        query(run, sql)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]
    assert {path: path.read_bytes() for path in run.rglob("*.parquet")} == before
