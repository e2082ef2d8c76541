"""`pantrace validate`."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from .answer import few, sentence, verdict
from .arguments import as_json, expand, from_format, sources, verbose
from .output import folded, harmless, print_json, put, say, width_of

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.errors import ReadError
    from pantrace.model import Violation

LISTED = 20
"""Number of violations that are listed without -v."""


@click.command("validate")
@sources
@from_format
@verbose
@as_json
def command(sources: tuple[str, ...], from_: str | None, verbose: bool, as_json: bool) -> None:
    """Check files against the rules of their format, and name every place that breaks them.

    An error is something that a reader would fail on or misread. A warning breaks only a rule of the format's
    specification. Values without a place in pantrace's model are counted and named.

    \b
    pantrace validate out.json
    pantrace validate log.eval --json

    Exit code: 0 clean or warnings only, 1 errors, 2 unreadable.
    """
    from pantrace.engine.validate import validate_files

    from .left_out import tell_left_out

    found = validate_files(expand(sources), from_)
    if as_json:
        print_json(found.to_dict())
    else:
        _tell(found.files, found, found.unreadable, verbose)
    for each in found.unreadable:
        say(f"error: {each.sentence()}")
        for line in each.below:
            say(line)
    if not as_json:
        tell_left_out(found.notes)
        if found.notes.unread is not None and (told := found.notes.unread.sentence()) is not None:
            say(told)
    raise click.exceptions.Exit(2 if found.unreadable else 1 if found.errors else 0)


def _files_in(paths: list[Path]) -> str:
    """The number of files inside, because a folder may be one input."""
    inside = sum(1 for path in paths if path.is_dir() for each in path.rglob("*") if each.is_file())
    return f" ({few(inside, 'file')})" if inside > 1 else ""


def _tell(paths: list[Path], found: list[Violation], unreadable: list[ReadError], verbose: bool) -> None:
    errors = sum(violation.level == "error" for violation in found)
    warnings = len(found) - errors
    of = few(len(paths), "input") + _files_in(paths)
    told = [few(errors, "error")] if errors else []
    told += [few(warnings, "warning")] if warnings else []
    told += [f"{len(unreadable):,} could not be read"] if unreadable else []
    head = "Unreadable" if unreadable else "Not valid" if errors else "Valid"
    verdict(f"{head}: {', '.join(told) or 'no errors, no warnings'} in {of}.", not (errors or unreadable))
    # Errors first: warnings must not push them off the list.
    shown = found if verbose else sorted(found, key=lambda each: each.level != "error")[:LISTED]
    if shown:
        click.echo()
    _list(shown)
    if len(found) > len(shown):
        files = Counter(violation.path for violation in found)
        more = f"; {len(files):,} files are affected" if len(files) > 1 else ""
        sentence(f"and {len(found) - len(shown):,} more: -v lists all of them{more}")


def _list(shown: list[Violation]) -> None:
    """One line for each violation; on a terminal, those of a file stand under its name."""
    width = width_of(sys.stdout)
    under = None
    files = [*dict.fromkeys(each.path for each in shown)]
    for violation in shown if width is None else sorted(shown, key=lambda each: files.index(each.path)):
        if width is not None and violation.path and violation.path != under:
            under = violation.path
            put(under)
        path = violation.path if width is None else None
        where = ": ".join(part for part in (violation.level, path, violation.place, violation.message) if part)
        margin = "  " if under else ""
        click.echo(folded(margin + harmless(where), width, "  "))
