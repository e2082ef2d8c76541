"""`pantrace redact`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from pantrace.errors import UsageError

from .arguments import as_json, expand, from_format, keep_inputs, output, selecting, sources, to_format, verbose
from .output import print_json, say, table

if TYPE_CHECKING:
    from pantrace.engine.select import Selection
    from pantrace.normalise.secrets import Replacement


@click.command("redact")
@sources
@output("File or directory to write.", required=True)
@to_format("Write another format than the input's.")
@from_format
@click.option("--emails", is_flag=True, help="Also replace e-mail addresses.")
@click.option(
    "--personal",
    is_flag=True,
    help="Also replace e-mail addresses, telephone numbers, cards, bank accounts, postal and public IP addresses.",
)
@click.option("--pattern", "patterns", multiple=True, metavar="NAME=REGEX", help="Also replace this; repeat for more.")
@click.option(
    "--list", "listing", metavar="FILE", help="Write every replacement as a JSON line {sample, path, kind, count}."
)
@selecting
@verbose
@as_json
def command(
    sources: tuple[str, ...],
    out: str,
    to: str | None,
    from_: str | None,
    emails: bool,
    personal: bool,
    patterns: tuple[str, ...],
    listing: str | None,
    chosen: Selection,
    verbose: bool,
    as_json: bool,
) -> None:
    """Replace secrets in recordings: keys, tokens, passwords, private keys, connection strings.

    Each secret becomes [redacted:KIND]. The input is not changed; the output has the same format unless --to names
    another. Secrets are found by their form or by the name before them, also in keys, run headers, and JSON and base64
    inside texts. Others are not found: read the output before you publish it.

    \b
    pantrace redact session.json -o clean/
    pantrace redact runs/ --to native -o clean.trace.jsonl --emails \\
        --list replaced.jsonl
    """
    from pathlib import Path

    from pantrace.engine.redact import redact
    from pantrace.normalise.secrets import Redactor
    from pantrace.wire.json import encode
    from pantrace.wire.output import writing

    from .convert import tell

    keep_inputs(sources, recordings=[out], others=[listing])
    found: list[Replacement] = []
    paths = expand(sources)
    report = redact(
        paths,
        Path(out),
        to=to,
        format=from_,
        redactor=Redactor(emails=emails, personal=personal, more=dict(_pattern(text) for text in patterns)),
        selection=chosen,
        on_replacement=found.append,
    )
    # After the output: a list of replacements in a file that was never written would mislead.
    if listing:
        with writing(Path(listing)) as file:
            file.writelines(encode(each) + b"\n" for each in found)
    if as_json:
        print_json(
            {"outputs": [str(path) for path in report.outputs], "written": report.samples, "replacements": found}
        )
        return
    tell(report, verbose=verbose, listed=True)
    counts: Counter[str] = Counter()
    for each in found:
        # On stderr, like everything that is not the result.
        counts[each.kind] += each.count
    if counts:
        table(["replaced", "kind"], [[str(n), kind] for kind, n in counts.most_common()], right=("replaced",), err=True)
    else:
        say("no secret was found")


def _pattern(text: str) -> tuple[str, str]:
    from pantrace.wire.patterns import compiled

    name, equals, shape = text.partition("=")
    if not equals or not name or not shape:
        raise UsageError(f"--pattern {text!r} is not NAME=REGEX")
    try:
        # Checked now, with the option's name in the message; the redactor would fail in the middle of a recording.
        compiled(shape)
    except UsageError as error:
        raise UsageError(f"--pattern {text!r}: {error}") from None
    return name, shape
