"""How the command line speaks: tables, JSON, progress, hostile text made harmless."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pantrace.wire.json import encode

from .arguments import on_terminal

if TYPE_CHECKING:
    from rich.console import Console


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(encode(value, indent=2).decode() + "\n")


def harmless(text: str) -> str:
    """Text of a recording without the control characters that steer a terminal."""
    return "".join(letter if letter in "\n\t" or letter.isprintable() else _visible(letter) for letter in text)


def _visible(letter: str) -> str:
    code = ord(letter)
    return (
        chr(0x2400 + code) if code < 0x20 else "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"
    )


def console(*, err: bool = False) -> Console:
    """A console as wide as the terminal; where there is none, wide enough that little is folded."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 200
    return Console(stderr=err, width=width, highlight=False, markup=False, soft_wrap=False)


def table(
    columns: list[str],
    rows: list[list[str]],
    *,
    right: tuple[str, ...] = (),
    prose: str | None = None,
    err: bool = False,
) -> None:
    """A plain table. Where it is too wide, the column `prose` is folded before names and numbers are."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    target = console(err=err)
    whole = {name for name in columns if name != prose} if prose and _leaves_room(target, columns, rows, prose) else ()
    for name in columns:
        grid.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=name in whole)
    for row in rows:
        grid.add_row(*[Text(harmless(cell)) for cell in row])
    target.print(grid)


PROSE = 10
"""Letters in a line of prose, at least."""


def _leaves_room(target: Console, columns: list[str], rows: list[list[str]], prose: str) -> bool:
    """Whether all other columns fit beside a narrow column of prose; else nothing may be kept from folding."""
    from rich.cells import cell_len

    widths = [
        max(map(cell_len, map(harmless, cells))) for cells in zip(columns, *rows, strict=True) if cells[0] != prose
    ]
    return sum(widths) + 3 * len(widths) + PROSE <= target.width


def say(text: str) -> None:
    """A line for the person, on stderr, behind all that was printed before it."""
    sys.stdout.flush()
    click.echo(harmless(text), err=True)


@contextmanager
def progress(what: str) -> Iterator[Callable[[Any], None]]:
    """A counter with its rate on stderr while a person is watching; a function to call for each thing done."""
    if not on_terminal():
        yield lambda _: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(f"{what} {{task.completed:.0f}}"), TextColumn("{task.speed:.0f}/s"))
    with Progress(*columns, TimeElapsedColumn(), console=console(err=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda _: bar.advance(task)
