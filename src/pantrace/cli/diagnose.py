"""`pantrace diagnose`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pantrace.errors import UsageError
from pantrace.wire.plural import few

from .arguments import FiniteRange, as_json, expand, from_format, keep_inputs, output, selecting, sources
from .output import console, harmless, harmless_lines, print_json, say, table
from .progress import progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pantrace.diagnosis import Diagnosis, Group, Opinion
    from pantrace.diagnosis.question import Question
    from pantrace.engine.select import Selection

LISTED = 8
"""Maximum number of groups that are printed with examples."""
ERRORS = 3
"""Maximum number of errors that are printed for one group."""


@click.command("diagnose")
@sources
@from_format
@click.option(
    "--reference", metavar="PATH", help="Expected results, matched by sample or case id, otherwise by prompt."
)
@click.option("--examples", type=click.IntRange(0, 100), default=3, show_default=True, help="Examples for each group.")
@output("Write the diagnosis: .md reads well in a pull request, .json has all.")
@click.option(
    "--trace-analysis",
    metavar="FILE",
    help="Write an analysis of GUI runs as openadapt-evals' TraceAnalyzer does (JSON).",
)
@click.option(
    "--judge",
    "model",
    metavar="PROVIDER:MODEL",
    help="Ask a language model for the root cause of each group, and what to change.",
)
@click.option("--base-url", metavar="URL", help="Another server that speaks the provider's protocol.")
@click.option("--source", "folder", metavar="DIR", help="With --judge: show it the agent's code, too.")
@click.option(
    "--max-chars",
    type=click.IntRange(min=2000),
    default=60_000,
    show_default=True,
    help="Maximum number of characters in a question.",
)
@click.option("--cache", metavar="FILE", help="File that stores replies; by default in the user's cache folder.")
@click.option("--replay", is_flag=True, help="Answer from the cache only.")
@click.option("--budget-calls", type=click.IntRange(min=1), metavar="N", help="Stop after N calls.")
@click.option("--timeout", type=FiniteRange(min=0.1), default=120.0, show_default=True, help="Seconds for a reply.")
@click.option("--retries", type=click.IntRange(0, 20), default=4, show_default=True, help="Number of retries.")
@click.option("--no-redact", is_flag=True, help="Send texts unchanged, including secrets.")
@click.option("--dry-run", is_flag=True, help="Show what a judge would be asked; ask nothing.")
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    reference: str | None,
    examples: int,
    out: str | None,
    trace_analysis: str | None,
    model: str | None,
    base_url: str | None,
    folder: str | None,
    max_chars: int,
    cache: str | None,
    replay: bool,
    budget_calls: int | None,
    timeout: float,
    retries: int,
    no_redact: bool,
    dry_run: bool,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Say why samples failed.

    Finds the first step that went wrong in each failed sample, and its cause: failing tools, loops, missing and wrong
    calls, broken contracts, limits, errors, prompts without an answer. Samples are grouped by cause, with the
    cost of the steps after it. docs/diagnose.md explains how a cause is found.

    \b
    pantrace diagnose results/today
    pantrace diagnose runs/ --reference golden.evalset.json -o why.md
    pantrace diagnose results/today --judge openai:gpt-4.1-mini --source my_agent/
    """
    from pathlib import Path

    from pantrace.diagnosis import as_markdown
    from pantrace.library.diagnose import diagnose
    from pantrace.normalise.secrets import Redactor
    from pantrace.wire.json import encode
    from pantrace.wire.output import writing

    from .judge import tell_judging
    from .left_out import tell_left_out

    ending = Path(out or "").suffix.lower()
    # Before the work: a judge may have cost money by the time the file is written.
    if out is not None and ending not in (".md", ".json"):
        raise UsageError(f"-o {out}: the name must end in .md or .json")
    keep_inputs(sources, beside=[reference], others=[out, cache, trace_analysis])
    paths = expand(sources)
    with progress("sample", total=chosen.limit) as count:
        found = diagnose(
            *paths,
            reference=reference,
            examples=examples,
            judge=model,
            base_url=base_url,
            source=folder,
            max_chars=max_chars,
            cache=cache,
            replay=replay,
            budget_calls=budget_calls,
            timeout=timeout,
            retries=retries,
            redact=not no_redact,
            dry_run=dry_run,
            selection=chosen,
            format=from_,
            on_sample=count,
        )
    # Without groups there is nothing to ask, and the usual sentence says so.
    if dry_run and found.groups:
        _print_questions(found.questions)
        return
    if out is not None:
        # A Markdown page is sent to others, so secrets are replaced; JSON is for programs, and stays complete.
        shown = found if no_redact else Redactor().record(found)[0]
        text = as_markdown(shown) if ending == ".md" else encode(found.to_dict(), indent=2).decode() + "\n"
        with writing(Path(out)) as file:
            file.write(text.encode("utf-8", "replace"))
    if trace_analysis is not None:
        _write_trace_analysis(trace_analysis, paths, from_, chosen)
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    tell_left_out(found.notes)
    for told in found.remarks:
        say(told)
    for written in filter(None, (out, trace_analysis)):
        say(f"wrote {written}")
    if found.judging is not None:
        tell_judging(found.judging)
        if found.opinions and all(each.problem is not None for each in found.opinions):
            say(f"the judge gave no usable answer: {found.opinions[0].problem}")
            # The judge was asked for and gave nothing: not a success, although the diagnosis above is complete.
            raise click.exceptions.Exit(3)


def _write_trace_analysis(target: str, paths: list[Path], format_name: str | None, chosen: Selection) -> None:
    from pathlib import Path

    from pantrace.engine.diagnose import results_of
    from pantrace.engine.read import Notes
    from pantrace.engine.trace_analysis import trace_analysis
    from pantrace.wire.json import encode
    from pantrace.wire.output import writing

    whole = trace_analysis(result.sample for _, result in results_of(paths, format_name, Notes(), chosen))
    with writing(Path(target)) as file:
        file.write(encode(whole, indent=1) + b"\n")


def _print_questions(questions: Sequence[Question]) -> None:
    from pantrace.diagnosis.question import SYSTEM

    click.echo(harmless_lines(f"--- system\n{SYSTEM}\n"))
    for number, each in enumerate(questions, 1):
        click.echo(harmless_lines(f"=== group {number}\n{each.prompt}\n"))
    say(f"{few(len(questions), 'call')}. Nothing was sent.")


def _print(found: Diagnosis) -> None:
    from pantrace.diagnosis import place_words

    click.echo(harmless(found.sentence))
    if found.samples:
        _wrapped(found.counts)
    if found.groups:
        _print_table(found)
    for number, each in enumerate(found.groups[:LISTED], 1):
        _print_group(number, each, found.opinions[number - 1] if number <= len(found.opinions) else None)
    if found.seen_in_unjudged:
        click.echo("\nSeen in samples that were not judged:")
        for each in found.seen_in_unjudged[:LISTED]:
            first = f" ({place_words(each.examples[0])})" if each.examples else ""
            _wrapped(f"{each.samples:,} x {each.title}{first}", "   ")
    if len(found.groups) > LISTED:
        say(f"{len(found.groups) - LISTED} more groups: -o FILE.md shows them with their examples")


def _print_table(found: Diagnosis) -> None:
    from pantrace.diagnosis import waste_words

    click.echo()
    shares = [f"{100 * each.share:.0f} %" for each in found.groups]
    rows = [
        [str(number), each.title, f"{each.samples:,}", share, f"{each.passed:,}", waste_words(each.waste)]
        for number, (each, share) in enumerate(zip(found.groups, shares, strict=True), 1)
    ]
    columns = ["#", "cause", "failed", "share", "in passed", "spent after"]
    table(columns, rows, right=("#", "failed", "share", "in passed", "spent after"), spare=("share", "in passed"))


def _print_group(number: int, group: Group, opinion: Opinion | None) -> None:
    from pantrace.diagnosis import place_words, seen_words, show_words

    click.echo("\n" + harmless(f"{number}. {group.title} ({group.samples:,})"))
    if seen := seen_words(group):
        _wrapped(seen, "   ")
    for variant in group.variants[:ERRORS] if len(group.variants) > 1 else ():
        _wrapped(f"{variant.samples:,} x {variant.text}", "   ")
    if len(group.variants) > ERRORS:
        click.echo(f"   and {len(group.variants) - ERRORS:,} more")
    if opinion is not None:
        _print_opinion(opinion)
    for example in group.examples:
        _wrapped(f"{place_words(example)}: {example.detail}", "   ")
    if group.examples:
        # Never wrapped, so that the command can be copied.
        click.echo(harmless(f"   $ {show_words(group.examples[0])}"))


def _print_opinion(opinion: Opinion) -> None:
    if opinion.problem is not None:
        _wrapped(f"no usable answer of the judge: {opinion.problem}", "   ")
        return
    _wrapped(f"root cause: {opinion.root_cause}", "   ")
    _wrapped(f"change ({opinion.where}): {opinion.change}", "   ")
    steps = ", ".join(f"{each['sample']} step {each['step']}" for each in opinion.evidence)
    _wrapped(
        f"evidence: {steps}" if steps else "the judge cited no step that it was shown: treat this as a guess", "   "
    )


def _wrapped(text: str, indent: str = "") -> None:
    """Print an indented text, wrapped between words at the width of the terminal."""
    from textwrap import wrap

    for line in wrap(harmless(text), console().width, initial_indent=indent, subsequent_indent=indent + "  "):
        click.echo(line)
