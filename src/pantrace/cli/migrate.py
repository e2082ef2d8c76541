"""`pantrace migrate`."""

from __future__ import annotations

import click

from pantrace.engine.migrate import migrate

from .arguments import as_json, expand, sources
from .output import print_json, table


@click.command("migrate")
@sources
@click.option("-o", "out", metavar="DIR", help="Folder to write to; without it, NAME.migrated.json beside the input.")
@as_json
def command(sources: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """Write files of an older version of their format as of today. Inputs are never changed.

    \b
    pantrace migrate old/eval_*.json -o migrated/
    """
    done = migrate(expand(sources), out)
    if as_json:
        print_json(
            [
                {"input": str(path), "output": str(target) if target else None, "what": what}
                for path, target, what in done
            ]
        )
        return
    table(["input", "output", "what was done"], [[str(path), str(target or "-"), what] for path, target, what in done])
