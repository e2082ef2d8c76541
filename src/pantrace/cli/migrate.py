"""`pantrace migrate`."""

from __future__ import annotations

import click

from .arguments import as_json, expand, output, sources
from .output import print_json, say, table


@click.command("migrate")
@sources
@output("Folder to write to, or a file for one input; without it, one file is printed.", metavar="PATH")
@as_json
def command(sources: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """Bring files of an older version of their format up to date. Inputs are never changed.

    Only -o is written.

    \b
    pantrace migrate old/eval_*.json -o migrated/
    pantrace migrate eval_base.json > eval_base_today.json
    """
    from pantrace.engine.migrate import migrate

    done = migrate(expand(sources), out)
    if as_json:
        print_json(
            [
                {
                    "input": str(each.input),
                    "output": str(each.output) if each.output else None,
                    "what": each.what,
                    "document": each.document,
                }
                for each in done
            ]
        )
    elif out is None:
        print_json(done[0].document)
        say(f"{done[0].input}: {done[0].what}")
    else:
        rows = [[str(each.input), str(each.output or "-"), each.what] for each in done]
        table(["input", "output", "what was done"], rows)
