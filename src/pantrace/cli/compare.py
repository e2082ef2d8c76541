"""`pantrace compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pantrace.engine.compare import Side, compare_sides, side_of
from pantrace.engine.compare_result import Comparison
from pantrace.engine.compare_stored import compare_stored
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.reports import estimate_words
from pantrace.errors import UsageError
from pantrace.wire.output import writing

from .arguments import as_json, expand, keep_inputs, max_unpacked
from .output import harmless, print_json, say, table


@click.command("compare")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric; repeat for more.")
@click.option(
    "--pair-by", type=click.Choice(["case", "sample"]), default="case", show_default=True, help="What makes a pair."
)
@click.option("--cluster", metavar="NAME", help="Cases that belong together: task, scenario, agent or a label's name.")
@click.option("--margin", type=float, metavar="X", help="Differences within this count as equivalent.")
@click.option("--gate", is_flag=True, help="Exit 0 better or equivalent, 1 worse, 3 inconclusive.")
@click.option("--markdown", metavar="FILE", help="Write the result as Markdown.")
@click.option("--flips", type=click.IntRange(min=0), default=10, show_default=True, help="Changed cases to list.")
@as_json
@max_unpacked
def command(
    first: str,
    second: str,
    metrics: tuple[str, ...],
    pair_by: str,
    cluster: str | None,
    margin: float | None,
    gate: bool,
    markdown: str | None,
    flips: int,
    as_json: bool,
) -> None:
    """Say whether run B is better than run A, or whether it is noise.

    A and B are run directories or any recordings with scores. Cases are paired; each metric gets both means, their
    difference with its interval and p-value (adjusted over the metrics shown), the method's name, and one verdict:
    better, worse, equivalent (only with --margin), or inconclusive.

    \b
    pantrace compare results/monday results/tuesday
    pantrace compare a.eval b.eval --metric accuracy --gate
    """
    if margin is not None and margin <= 0:
        raise UsageError("--margin must be above 0")
    keep_inputs((first, second), others=[markdown])
    sides = [_side(path, cluster, pair_by) for path in (first, second)]
    if cluster is not None and any(side.cases for side in sides) and not any(side.clusters for side in sides):
        raise UsageError(f"--cluster {cluster!r}: no case says so; known are task, scenario, agent and names of labels")
    if not any(side.cases for side in sides):
        if cluster is not None:
            raise UsageError("--cluster: these files hold no cases, only numbers over all of them")
        found = compare_stored(Path(first), Path(second), metrics=metrics, margin=margin)
    else:
        found = _paired(sides, metrics, margin)
    if not found:
        raise UsageError(f"{first} and {second} share no metric that has a number on both sides")
    if markdown:
        with writing(Path(markdown)) as file:
            file.write(as_markdown(found, first, second).encode())
    if as_json:
        print_json({"first": first, "second": second, "comparisons": [_complete(each) for each in found]})
    else:
        _tell(found, sides, flips)
    raise click.exceptions.Exit(exit_code(found) if gate else 0)


def _paired(sides: list[Side], metrics: tuple[str, ...], margin: float | None) -> list[Comparison]:
    for side in sides:
        if not side.cases:
            raise UsageError(f"{side.name}: there are no samples to compare with those of the other side")
        for name in metrics:
            if name not in side.values:
                known = ", ".join(sorted(side.values)) or "none"
                raise UsageError(f"{side.name} has no numbers for {name!r}; it has: {known}")
    found = compare_sides(*sides, metrics=metrics, margin=margin)
    if not found:
        listed = [", ".join(sorted(side.values)) or "no scores" for side in sides]
        raise UsageError(f"the two sides share no metric: A has {listed[0]}; B has {listed[1]}")
    return found


def exit_code(found: list[Comparison]) -> int:
    """1 if anything is worse, 0 if all that can be good or bad is better or equivalent, else 3."""
    verdicts = {each.verdict for each in found}
    if "worse" in verdicts:
        return 1
    judged = [each for each in found if each.better is not None]
    return 0 if judged and all(each.verdict in ("better", "equivalent") for each in judged) else 3


def _side(path: str, cluster: str | None, pair_by: str) -> Side:
    run = read_pile(expand((path,)), notes=Notes())
    side = side_of(run, run.samples, cluster=cluster, pair_by=pair_by)
    side.name = path
    return side


def _complete(each: Comparison) -> dict[str, Any]:
    return {name: getattr(each, name) for name in Comparison.__struct_fields__}


def _tell(found: list[Comparison], sides: list[Side], flips: int) -> None:
    columns = ["metric", "A", "B", "difference", "p (Holm)", "won/lost/tied", "could have seen", "verdict"]
    rows = [
        [
            each.metric,
            estimate_words(each.first),
            estimate_words(each.second),
            estimate_words(each.difference, signed=True),
            "" if each.p_adjusted is None else f"{each.p_adjusted:.3g}",
            "" if each.wins is None else f"{each.wins}/{each.losses}/{each.ties}",
            "" if each.detectable is None else f"±{each.detectable:.3g}",
            each.verdict,
        ]
        for each in found
    ]
    table(columns, rows, spare=("could have seen", "won/lost/tied"))
    one, two = (side.cases for side in sides)
    only = len(one - two), len(two - one)
    for each in found:
        notes = [*([each.difference.method] if each.difference else []), *each.notes]
        if each.left_out:
            notes.append(f"{each.left_out} scores are no numbers and left out")
        if each.common and (each.only_first, each.only_second) != only:
            notes.append(f"{each.only_first} cases have it only in A and {each.only_second} only in B: left out")
        click.echo(harmless(f"{each.metric}: {'; '.join(notes)}"))
    if any(only):
        click.echo(f"cases only in A: {only[0]}, only in B: {only[1]}{', left out of pairs' if one & two else ''}")
    for each in found:
        if each.flips and flips:
            click.echo(harmless(f"\nchanged on {each.metric}, worst first:"))
            table(
                ["case", "A", "B"],
                [[flip.case, f"{flip.before:.3g}", f"{flip.after:.3g}"] for flip in each.flips[:flips]],
            )
            if len(each.flips) > flips:
                say(f"and {len(each.flips) - flips} more; --flips N lists them")


def as_markdown(found: list[Comparison], first: str, second: str) -> str:
    """The comparison as a Markdown table."""
    lines = [
        f"## {second} against {first}",
        "",
        "| metric | A | B | difference | p (Holm) | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for each in found:
        p = "" if each.p_adjusted is None else f"{each.p_adjusted:.3g}"
        cells = [
            each.metric,
            estimate_words(each.first),
            estimate_words(each.second),
            estimate_words(each.difference, signed=True),
            p,
            f"**{each.verdict}**",
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    methods = sorted({each.difference.method for each in found if each.difference is not None})
    return "\n".join([*lines, "", f"Methods: {', '.join(methods) or 'none'}. 95 % intervals.", ""])
