"""`pantrace report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .arguments import as_json, expand, from_format, keep_inputs, output, selecting, size, sources
from .output import print_json, say
from .progress import progress

if TYPE_CHECKING:
    from pantrace.engine.select import Selection


@click.command("report")
@sources
@from_format
@output("File to write: .html or .md.", required=True)
@click.option("--failed-only", is_flag=True, help="Only samples that did not pass.")
@click.option("--no-redact", is_flag=True, help="Show texts unchanged, including secrets.")
@click.option("--redact", is_flag=True, hidden=True, expose_value=False, help="No effect: secrets are always replaced.")
@click.option(
    "--max-size",
    type=size,
    metavar="SIZE",
    help="Keep the file below this (20MB): pictures are left out first, then long texts, then the steps of samples "
    "that passed. The first page says what is missing.",
)
@click.option("--no-plots", is_flag=True, help="Leave the plots out.")
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    out: str,
    failed_only: bool,
    no_redact: bool,
    max_size: int | None,
    no_plots: bool,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Write runs and recordings as one file to open and share.

    The HTML file opens in any browser without a server and loads nothing from the network. It contains
    runs, samples, trajectories, plots and the comparison of runs. The Markdown file is short and reads well in a pull
    request. Secrets that can be recognised by their form or name are replaced.

    \b
    pantrace report results/today -o report.html
    pantrace report results/monday results/tuesday -o report.html --failed-only
    pantrace report session.json -o session.html
    pantrace report results/today -o report.md
    """
    from pantrace.library.report import report
    from pantrace.wire.limits import in_words

    from .left_out import tell_left_out

    keep_inputs(sources, others=[out])
    paths = expand(sources)
    with progress("sample", total=chosen.limit) as count:
        written = report(
            *paths,
            out=out,
            failed_only=failed_only,
            redact=not no_redact,
            max_size=max_size,
            plots=not no_plots,
            selection=chosen,
            format=from_,
            on_sample=count,
        )
    tell_left_out(written.notes)
    if as_json:
        print_json(written.to_dict())
        return
    for note in [*written.remarks, *(f"left out to stay below --max-size: {words}" for words in written.dropped)]:
        say(note)
    # A report is made to be sent: this is the last moment to say it.
    if no_redact:
        say("secrets are not replaced: read the file before you send it to anyone")
    # Said, because a reader may wonder about [redacted:...] in the page.
    elif written.replaced:
        say(f"{written.replaced:,} secret{'' if written.replaced == 1 else 's'} replaced (--no-redact shows them)")
    runs = "1 run" if written.runs == 1 else f"{written.runs} runs"
    samples = f"{written.samples:,} sample{'' if written.samples == 1 else 's'}"
    say(f"wrote {out}: {samples} of {runs}, {in_words(written.size)}")
