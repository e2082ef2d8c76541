"""`pantrace diagnose`."""

from __future__ import annotations

from pathlib import Path

import click

from pantrace.diagnosis import Diagnosis, Group, as_markdown, place_words, seen_words, show_words, waste_words
from pantrace.diagnosis import as_json as diagnosis_json
from pantrace.engine.diagnose import EXAMPLES, diagnose_pile
from pantrace.engine.measure import References
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.select import Selection
from pantrace.errors import UsageError
from pantrace.wire.json import encode
from pantrace.wire.output import writing

from .arguments import as_json, expand, from_format, keep_inputs, selecting, sources
from .left_out import left_out, tell_left_out
from .output import harmless, print_json, say, table
from .progress import progress

LISTED = 8
"""Groups whose examples are printed."""


@click.command("diagnose")
@sources
@from_format
@click.option("--reference", metavar="PATH", help="What is expected, joined by sample or case id, else by prompt.")
@click.option("--examples", type=click.IntRange(0, 100), default=EXAMPLES, show_default=True, help="Of each group.")
@click.option("-o", "out", metavar="OUT", help="Write the diagnosis: .md reads well in a pull request, .json has all.")
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    reference: str | None,
    examples: int,
    out: str | None,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Say why samples failed.

    For each failed sample: the first step that went wrong, and its cause. Failing tools, circles, missing and wrong
    calls, broken contracts, limits, errors, prompts without an answer. Samples are grouped by cause, with what was
    spent after that step. docs/diagnose.md says how a cause is found.

    \b
    pantrace diagnose results/today
    pantrace diagnose runs/ --reference golden.evalset.json -o why.md
    """
    ending = Path(out or "").suffix.lower()
    if out is not None and ending not in (".md", ".json"):
        raise UsageError(f"-o {out}: the name must end in .md or .json")
    keep_inputs(sources, beside=[reference], others=[out])
    notes = Notes.keeping()
    references = References.of(read_pile([Path(reference)], notes=Notes())) if reference else None
    with progress("samples") as count:
        found = diagnose_pile(
            expand(sources),
            notes,
            format=from_,
            references=references,
            selection=chosen,
            examples=examples,
            on_sample=count,
        )
    if out is not None:
        text = as_markdown(found) if ending == ".md" else encode(_json(found, notes), indent=2).decode() + "\n"
        with writing(Path(out)) as file:
            file.write(text.encode("utf-8", "replace"))
    if as_json:
        print_json(_json(found, notes))
    else:
        _print(found)
    for told in references.to_tell(reference) if references is not None else ():
        say(told)
    tell_left_out(notes)
    if out is not None:
        say(f"wrote {out}")


def _json(found: Diagnosis, notes: Notes) -> dict[str, object]:
    return diagnosis_json(found) | left_out(notes)


def _print(found: Diagnosis) -> None:
    click.echo(harmless(found.sentence))
    if found.samples:
        click.echo(harmless(found.counts))
    if not found.groups:
        return
    click.echo()
    rows = [
        [
            str(number),
            each.title,
            f"{each.samples:,}",
            f"{each.share:.0%}",
            f"{each.passed:,}",
            waste_words(each.waste),
        ]
        for number, each in enumerate(found.groups, 1)
    ]
    columns = ["#", "cause", "failed", "share", "in passed", "spent after"]
    table(columns, rows, right=("#", "failed", "share", "in passed", "spent after"), spare=("spent after", "in passed"))
    for number, each in enumerate(found.groups[:LISTED], 1):
        _print_group(number, each)
    if len(found.groups) > LISTED:
        say(f"{len(found.groups) - LISTED} more groups: -o FILE.md has their examples")


def _print_group(number: int, group: Group) -> None:
    click.echo(harmless(f"\n{number}. {group.title} ({group.samples:,})"))
    if seen := seen_words(group):
        click.echo(f"   {seen}")
    for variant in group.variants[:3]:
        click.echo(harmless(f"   {variant.samples:,} x {variant.text}"))
    if len(group.variants) > 3:
        click.echo(f"   and {len(group.variants) - 3:,} more")
    for example in group.examples:
        click.echo(harmless(f"   {place_words(example)}: {example.detail}"))
    if group.examples:
        click.echo(harmless(f"   $ {show_words(group.examples[0])}"))
