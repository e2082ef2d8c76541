"""`pantrace report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pantrace.errors import NothingWritten, UsageError

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
@click.option("--redact", is_flag=True, help="Replace secrets, as `pantrace redact` does.")
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
    redact: bool,
    max_size: int | None,
    no_plots: bool,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Write runs and recordings as one file to look at and to send.

    The HTML file opens in any browser without a server and loads nothing from anywhere: runs, samples, trajectories,
    plots and the comparison of runs are inside. The Markdown file is short and reads well in a pull request.

    \b
    pantrace report results/today -o report.html
    pantrace report results/monday results/tuesday -o report.html --failed-only
    pantrace report session.json -o session.html --redact
    pantrace report results/today -o report.md
    """
    from pathlib import Path

    from pantrace.engine.read import Notes, read_pile
    from pantrace.library.shown import Wanted, gather
    from pantrace.normalise.secrets import Redactor
    from pantrace.viewer import write_report
    from pantrace.wire.output import writing

    from .left_out import tell_left_out

    target = Path(out)
    ending = target.suffix.lower()
    if ending not in (".html", ".htm", ".md"):
        raise UsageError(f"{out}: the name must end in .html or .md")
    keep_inputs(sources, others=[out])
    paths = expand(sources)
    chosen.look_up(lambda: read_pile(paths, format=from_, notes=Notes.keeping()).samples)
    notes = Notes.keeping()
    with progress("sample", total=chosen.limit) as count:
        shown = gather(
            Wanted(
                paths=paths,
                format=from_,
                selection=chosen,
                sample=chosen.sessions,
                failed_only=failed_only,
                redactor=Redactor() if redact else None,
                drawing=not no_plots and ending != ".md",
                on_sample=count,
            ),
            notes,
        )
        if ending == ".md":
            from pantrace.viewer.markdown import as_markdown

            text, samples = as_markdown(shown)
            dropped: list[str] = []
            with writing(target) as file:
                file.write(text.encode("utf-8", "replace"))
        else:
            with writing(target) as file:
                index = write_report(shown, file, max_size=max_size)
                samples, dropped = sum(run["samples"] for run in index["runs"]), index["dropped"]
                if not samples and (failed_only or chosen.narrows):
                    what = (
                        "none of the samples failed" if failed_only and not chosen.sessions else "no sample was chosen"
                    )
                    raise NothingWritten(f"{what}, so no report was written")
    tell_left_out(notes)
    remarks = [*shown.notes, *(note for run in shown.runs for note in run.notes)]
    if as_json:
        facts = {"output": out, "runs": len(shown.runs), "samples": samples, "bytes": target.stat().st_size}
        print_json(facts | {"dropped": dropped, "notes": remarks})
        return
    for note in [*remarks, *(f"left out to stay below --max-size: {words}" for words in dropped)]:
        say(note)
    runs = "1 run" if len(shown.runs) == 1 else f"{len(shown.runs)} runs"
    say(f"wrote {out}: {samples:,} sample{'' if samples == 1 else 's'} of {runs}, {target.stat().st_size / 1e6:.1f} MB")
