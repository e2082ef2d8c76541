"""`pantrace query`."""

from __future__ import annotations

import click

from .arguments import as_json, size, unfold
from .output import print_data, print_json, say, table


@click.command("query")
@click.argument("words", nargs=-1, required=True, metavar="DIR... SQL")
@click.option("--csv", "as_csv", is_flag=True, help="CSV on stdout.")
@click.option(
    "--max-memory", type=size, default="1GB", show_default=True, metavar="SIZE", help="Memory that a query may use."
)
@as_json
def command(words: tuple[str, ...], as_csv: bool, max_memory: int, as_json: bool) -> None:
    """Query run directories with SQL (DuckDB).

    Tables: runs, samples, steps, calls, scores, decisions; docs/store.md lists their columns.

    \b
    pantrace query results/today \\
        "select name, avg(value) from scores group by name"
    pantrace query results/* "select run, count(*) from samples group by run" \\
        --csv
    """
    from pantrace.store import query

    if len(words) < 2:
        raise click.UsageError("name at least one run directory, then the query")
    # The SQL comes last, so that `results/*` can stand in front of it.
    answer = query(unfold(words[:-1]), words[-1], memory=max_memory)
    if as_json:
        print_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
    elif as_csv:
        from pantrace.engine.tables import csv_line

        for row in (answer.columns, *answer.rows):
            print_data(csv_line("" if cell is None else str(cell) for cell in row).decode(), "csv")
    else:
        _tell(list(answer.columns), [["" if cell is None else str(cell) for cell in row] for row in answer.rows])


LONGEST = 48
"""Maximum characters of a cell in a table: some columns contain whole trajectories as JSON."""


def _tell(columns: list[str], rows: list[list[str]]) -> None:
    """Print rows as a table that fits: only the start of long cells, and the last columns only if there is room."""
    short = [[cell if len(cell) <= LONGEST else f"{cell[: LONGEST - 1]}…" for cell in row] for row in rows]
    # `select *` begins with what tables are joined by, which says nothing to people.
    table(columns, short, spare=("part", "number", *reversed(columns[1:])), firm=True)
    if short != rows:
        say("long cells are cut; --json and --csv have them in full")
