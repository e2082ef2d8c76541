"""`pantrace validate`."""

from __future__ import annotations

import click

from pantrace.engine.balance import Balance
from pantrace.engine.read import Notes
from pantrace.engine.validate import file_violations
from pantrace.errors import ReadError
from pantrace.model import Violation

from .arguments import as_json, expand, from_format, sources
from .left_out import ignored_entries, tell_left_out
from .output import harmless, print_json, say


@click.command("validate")
@sources
@from_format
@as_json
def command(sources: tuple[str, ...], from_: str | None, as_json: bool) -> None:
    """Name every place where a file is not as its format demands.

    An error is something that a reader would fail on or lie about; a warning is something that only a document demands.
    Values that have no place in pantrace's model are counted and named.

    \b
    pantrace validate out.json
    pantrace validate log.eval --json

    Exit code: 0 clean or warnings only, 1 errors, 2 unreadable.
    """
    found: list[Violation] = []
    unreadable: list[ReadError] = []
    notes = Notes(unread=(unread := Balance()))
    paths = expand(sources)
    for path in paths:
        try:
            found += file_violations(path, from_, notes)
        except ReadError as error:
            unreadable.append(error.at(path=str(path)))
    errors = sum(violation.level == "error" for violation in found)
    if as_json:
        print_json(
            {
                "files": [str(path) for path in paths],
                "errors": errors,
                "warnings": len(found) - errors,
                "violations": found,
                "unreadable": [
                    {"path": each.path, "place": each.place, "message": each.message} for each in unreadable
                ],
                "reading": unread.plain(),
                "ignored": ignored_entries(notes),
            }
        )
    else:
        for violation in found:
            where = ": ".join(part for part in (violation.path, violation.place) if part)
            click.echo(harmless(f"{violation.level}: {where}: {violation.message}"))
    for each in unreadable:
        say(f"pantrace: {each}")
    if not as_json:
        tell_left_out(notes)
        if (sentence := unread.sentence()) is not None:
            say(sentence)
    if not as_json and not unreadable:
        say(f"{len(paths)} checked: {errors} errors, {len(found) - errors} warnings")
    raise click.exceptions.Exit(2 if unreadable else 1 if errors else 0)
