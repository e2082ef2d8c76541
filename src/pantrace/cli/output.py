"""Output of the command line: tables, JSON, and hostile text made harmless."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from functools import cache
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from pantrace.normalise.secrets import Redactor


_STEERING = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that control a terminal or reverse text: C1 controls, direction marks."""


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    from pantrace.wire.json import encode

    print_data(encode(value, indent=2).decode() + "\n")


def print_data(text: str, kind: Literal["json", "csv"] = "json") -> None:
    """Print data for programs on stdout. A terminal gets it without characters that control it; in a pipe programs read
    it, and must get the text unchanged."""
    if kind == "csv":
        text = harmless_lines(text) if sys.stdout.isatty() else text
    # In JSON these characters occur only in strings, where an escape means the same.
    elif sys.stdout.isatty() or os.environ.get("PANTRACE_ASCII"):
        text = _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    sys.stdout.write(text)


class _TerminalData(io.RawIOBase):
    """JSON text as bytes, for a terminal."""

    def __init__(self) -> None:
        # Pieces may end in the middle of a letter.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        print_data(self._decoder.decode(bytes(data)))
        return len(data)


def data_stream() -> IO[bytes]:
    """Where a JSON file goes that is written to stdout."""
    return cast("IO[bytes]", _TerminalData()) if sys.stdout.isatty() else sys.stdout.buffer


DISCREET = ("eval", "gate", "run", "check", "compare", "diagnose", "judge", "calibrate", "aggregate", "plot", "report")
"""Commands that run in CI, where logs are kept and shared: they print no secrets. Others, such as `show`, print a
recording unchanged because that is their purpose."""


def harmless(text: str) -> str:
    """Text that may hold names of others, in one line: without the characters that control a terminal or end a line,
    and in DISCREET commands without secrets. A name must not begin a line, which could say anything in our words."""
    return harmless_lines(text).replace("\n", _visible("\n"))


def harmless_lines(text: str) -> str:
    """The same of a text that has lines of its own, such as a prompt or the content of a recording."""
    if (redactor := _redactor()) is not None:
        text = redactor.text(text)[0]
    return "".join(letter if letter in "\n\t" or letter.isprintable() else _visible(letter) for letter in text)


def _redactor() -> Redactor | None:
    """The redactor of the running command; None if it prints texts unchanged."""
    context = click.get_current_context(silent=True)
    # By the command's name: `show` prints what it was asked for, and must not hide a part of it.
    if context is None or context.info_name not in DISCREET or context.params.get("no_redact"):
        return None
    return _made_redactor()


@cache
def _made_redactor() -> Redactor:
    from pantrace.normalise.secrets import Redactor

    return Redactor()


def _visible(letter: str) -> str:
    code = ord(letter)
    return (
        chr(0x2400 + code) if code < 0x20 else "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"
    )


def console(*, err: bool = False) -> Console:
    """A console as wide as the terminal; without one, so wide that little is wrapped."""
    stream = sys.stderr if err else sys.stdout
    # 80 columns, rich's default without a terminal, would wrap tables in logs and files.
    width = None if stream.isatty() or "COLUMNS" in os.environ else 200
    return _console_kind()(stderr=err, width=width, highlight=False, markup=False, soft_wrap=False)


@cache
def _console_kind() -> type[Console]:
    from rich.console import Console

    class PipedConsole(Console):
        """A console that leaves a closed pipe to `main`: rich would exit with 1, which means that a gate failed."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PipedConsole


def table(
    columns: list[str],
    rows: list[list[str]],
    *,
    right: tuple[str, ...] = (),
    spare: tuple[str, ...] = (),
    last: Sequence[str] = (),
    total: bool = False,
    firm: bool = False,
    err: bool = False,
) -> None:
    """Print a plain table that breaks no word if possible. If it is too wide, the columns in `spare` are left out, in
    this order, and listed below it. With `total`, the last row is set apart; with `firm`, columns are left out before
    any cell is wrapped, those in `last` only where splitting names does not help either."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from .layout import fit, parted

    target = console(err=err)
    cells = [[harmless(cell) for cell in column] for column in zip(columns, *rows, strict=True)]
    layout = fit(cells, target.width, spare, last, firm=firm)
    if layout.names_parted:
        cells[0] = [parted(name) if len(name) > layout.widths[0] else name for name in cells[0]]
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=layout.tight)
    for place, width in layout.widths.items():
        name = columns[place]
        justify: Literal["right", "left"] = "right" if name in right else "left"
        # A heading is no constant: `--by` makes one of the user's words.
        grid.add_column(harmless(name), justify=justify, overflow="fold", width=width)
    for number, texts in enumerate(zip(*(cells[place][1:] for place in layout.widths), strict=True), 1):
        grid.add_row(*map(Text, texts), end_section=total and number == len(rows) - 1)
    target.print(grid)
    if layout.left_out:
        say(f"no room in {target.width} columns for: {', '.join(layout.left_out)} (--json has everything)")


def fits(columns: list[str], rows: list[list[str]]) -> bool:
    """Whether a table fits on stdout without leaving out a column or wrapping a cell."""
    from .layout import fit

    layout = fit([[harmless(cell) for cell in column] for column in zip(columns, *rows, strict=True)], console().width)
    return not layout.tight and not layout.left_out


def say(text: str) -> None:
    """Print a message of one line on stderr, after everything printed before it; wrapped on a terminal."""
    # stdout has a buffer and stderr has none: without this, a message would appear above the table it follows.
    sys.stdout.flush()
    click.echo(folded(harmless(text), width_of(sys.stderr)), err=True)


def put(text: str) -> None:
    """Print a line of the result on stdout; wrapped on a terminal."""
    click.echo(folded(harmless(text), width_of(sys.stdout)))


def width_of(stream: Any) -> int | None:
    """Columns of a stream's terminal; None if it is no terminal, and nothing has to be wrapped."""
    try:
        if not stream.isatty():
            return None
        told = os.environ.get("COLUMNS", "")
        return int(told) if told.isdigit() and int(told) else os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def folded(text: str, width: int | None, indent: str = "") -> str:
    """Text in lines of at most `width` cells, broken between words; a number stays with its percent sign. A word that
    is wider than a line is left to the terminal."""
    if width is None:
        return text
    return "\n".join(_folded_line(line, width, indent) for line in text.split("\n"))


def _cells_of(text: str) -> Callable[[str], int]:
    """A function that measures a text in cells; `len` for ASCII, because importing rich takes time."""
    if text.isascii():
        return len
    from rich.cells import cell_len

    return cell_len


def _folded_line(text: str, width: int, indent: str) -> str:
    cells = _cells_of(text)
    if cells(text) <= width:
        return text
    margin = text[: len(text) - len(text.lstrip(" "))]
    lines, line = [], margin
    for word in text.replace(" %", "\0%").split():
        wider = f"{line} {word}" if line.strip() else line + word
        if cells(wider) > width and line.strip() and cells(margin + indent + word) <= width:
            lines.append(line)
            wider = margin + indent + word
        line = wider
    return "\n".join([*lines, line]).replace("\0", " ")
