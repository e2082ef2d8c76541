"""`pantrace plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .arguments import FiniteRange, as_json, expand, from_format, keep_inputs, metric_names, output, sources
from .output import print_json, say

if TYPE_CHECKING:
    from pantrace.engine.plot import Kind

FIGURES = ("comparison", "distribution", "paired", "passk")
KINDS = ("png", "svg", "pdf", "html", "vl.json")


@click.command("plot")
@sources
@from_format
@click.option(
    "--labels",
    multiple=True,
    metavar="A,B",
    help="A name for each evaluation, in order, instead of the files' names; repeat, or separate with commas.",
)
@metric_names("Only this metric; repeat for more.")
@click.option(
    "--kind",
    type=click.Choice(FIGURES),
    default="comparison",
    show_default=True,
    help="comparison: bars of all metrics; distribution: of samples' scores; paired: case by case between two "
    "evaluations; passk: all of k trials succeed.",
)
@click.option(
    "--cluster",
    metavar="NAME",
    help="For paired: cases that belong together: task, scenario, agent or a label's name, as in `compare`.",
)
@click.option("--title", metavar="TEXT", help="Title, instead of the default one.")
@click.option("--width", type=FiniteRange(50, 20_000), metavar="POINTS", help="Width of the whole picture.")
@click.option("--height", type=FiniteRange(50, 20_000), metavar="POINTS", help="Height of the whole picture.")
@click.option(
    "--dpi",
    type=click.IntRange(36, 1200),
    default=144,
    show_default=True,
    metavar="N",
    help="Resolution of a PNG in pixels per inch (72 points).",
)
@output("Picture to write: .png, .svg, .pdf, .html or .vl.json.", required=True)
@click.option(
    "--format", "format_", type=click.Choice(KINDS), help="Format to write; by default taken from the name of -o."
)
@click.option("--no-redact", is_flag=True, help="Show names unchanged, including secrets.")
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    labels: tuple[str, ...],
    metrics: tuple[str, ...],
    kind: Kind,
    cluster: str | None,
    title: str | None,
    width: float | None,
    height: float | None,
    dpi: int,
    out: str,
    format_: str | None,
    no_redact: bool,
    as_json: bool,
) -> None:
    """Draw evaluations: eval JSON files, or recordings whose samples have scores.

    A missing value is a gap marked n/a, never a bar of zero. Nothing is loaded from the network; the HTML page contains
    everything it needs.

    \b
    pantrace plot eval_base.json eval_ft.json --labels "Base,Fine-tuned" \\
        -o comparison.png
    pantrace plot results.json --kind passk -o reliability.svg
    pantrace plot monday.eval tuesday.eval --kind paired --metric accuracy \\
        -o change.html
    pantrace plot results/a results/b --kind paired --metric reward \\
        --cluster task -o change.png
    """
    from pathlib import Path

    from pantrace.engine.plot import kind_of
    from pantrace.library.plot import plot

    from .left_out import tell_left_out

    keep_inputs(sources, others=[out])
    # Before anything is read: a suffix that cannot be drawn must not fail after minutes.
    written = format_ or kind_of(Path(out))
    drawn = plot(
        *expand(sources),
        kind=kind,
        metrics=metrics,
        labels=labels,
        cluster=cluster,
        title=title,
        format=from_,
        redact=not no_redact,
    )
    drawn.save(out, kind=written, width=width, height=height, dpi=dpi)
    for warning in drawn.warnings:
        say(f"warning: {warning}")
    tell_left_out(drawn.notes)
    if as_json:
        print_json(drawn.to_dict())
    else:
        count = len(drawn.evaluations)
        say(f"drew {count} {'evaluation' if count == 1 else 'evaluations'} to {out}")
