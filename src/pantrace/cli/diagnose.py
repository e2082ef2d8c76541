"""`pantrace diagnose`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pantrace.errors import UsageError
from pantrace.library.access import cache_file, reach

from .arguments import as_json, expand, from_format, keep_inputs, output, selecting, sources
from .output import console, harmless, print_json, say, table
from .progress import progress

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.diagnosis import Diagnosis, Group, Opinion
    from pantrace.diagnosis.question import Question
    from pantrace.engine.judge import Access, Bench
    from pantrace.engine.read import Notes
    from pantrace.engine.select import Selection

LISTED = 8
"""Groups whose examples are printed."""
ERRORS = 3
"""Errors of one group that are printed."""


@click.command("diagnose")
@sources
@from_format
@click.option("--reference", metavar="PATH", help="What is expected, joined by sample or case id, else by prompt.")
@click.option("--examples", type=click.IntRange(0, 100), default=3, show_default=True, help="Of each group.")
@output("Write the diagnosis: .md reads well in a pull request, .json has all.")
@click.option(
    "--trace-analysis", metavar="FILE", help="Write what openadapt-evals' TraceAnalyzer tells of GUI runs (JSON)."
)
@click.option(
    "--judge",
    "model",
    metavar="PROVIDER:MODEL",
    help="Ask a language model for the root cause of each group, and what to change.",
)
@click.option("--base-url", metavar="URL", help="Another server that speaks the provider's protocol.")
@click.option("--source", "folder", metavar="DIR", help="With --judge: show it the agent's code, too.")
@click.option("--max-chars", type=click.IntRange(min=2000), default=60_000, show_default=True, help="In one question.")
@click.option("--cache", metavar="FILE", help="Where replies are kept; by default in the user's cache folder.")
@click.option("--replay", is_flag=True, help="Answer from the cache only.")
@click.option("--budget-calls", type=click.IntRange(min=1), metavar="N", help="Stop asking beyond so many calls.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=120.0, show_default=True, help="Seconds for a reply."
)
@click.option("--retries", type=click.IntRange(0, 20), default=4, show_default=True, help="How often to ask again.")
@click.option("--no-redact", is_flag=True, help="Send texts as they are, secrets included.")
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

    For each failed sample: the first step that went wrong, and its cause. Failing tools, circles, missing and wrong
    calls, broken contracts, limits, errors, prompts without an answer. Samples are grouped by cause, with what was
    spent after that step. docs/diagnose.md says how a cause is found.

    \b
    pantrace diagnose results/today
    pantrace diagnose runs/ --reference golden.evalset.json -o why.md
    pantrace diagnose results/today --judge openai:gpt-4.1-mini --source my_agent/
    """
    from pathlib import Path

    from pantrace.diagnosis import as_markdown
    from pantrace.diagnosis.agent_code import read_code
    from pantrace.engine.diagnose import diagnose_pile
    from pantrace.engine.diagnose_judge import questions_for, with_opinions
    from pantrace.engine.judge import Access
    from pantrace.engine.measure import References
    from pantrace.engine.read import Notes, read_pile
    from pantrace.wire.json import encode
    from pantrace.wire.output import writing

    from .judge import tell_judging
    from .left_out import tell_left_out

    ending = Path(out or "").suffix.lower()
    if out is not None and ending not in (".md", ".json"):
        raise UsageError(f"-o {out}: the name must end in .md or .json")
    if model is None and (folder or replay) and not dry_run:
        raise UsageError(f"{'--source' if folder else '--replay'} needs --judge (--dry-run shows what would be asked)")
    if examples == 0 and (model or dry_run):
        raise UsageError("--examples 0 leaves a judge nothing to look at")
    keep_inputs(sources, beside=[reference], others=[out, cache, trace_analysis])
    judging = None
    if model is not None or dry_run:
        access = Access(timeout=timeout, attempts=retries + 1, calls=budget_calls)
        judging = _bench(model, base_url, access, cache, replay, dry_run, no_redact, max_chars)
    code = read_code(Path(folder), judging.clean) if folder and judging is not None else None
    notes = Notes.keeping()
    references = References.of(read_pile([Path(reference)], notes=Notes())) if reference else None
    paths = expand(sources)
    unfinished: list[Path] = []
    with progress("sample", total=chosen.limit) as count:
        found = diagnose_pile(
            paths,
            notes,
            format=from_,
            references=references,
            selection=chosen,
            examples=examples,
            on_sample=count,
            on_unfinished=unfinished.append,
        )
    to_tell = list(references.to_tell(reference)) if references is not None else []
    if judging is not None and found.groups:
        questions = questions_for(
            found, paths, judging, format=from_, references=references, selection=chosen, code=code
        )
        if dry_run:
            _print_questions(questions)
            return
        found = with_opinions(found, questions, judging)
    if out is not None:
        text = as_markdown(found) if ending == ".md" else encode(_json(found, notes), indent=2).decode() + "\n"
        with writing(Path(out)) as file:
            file.write(text.encode("utf-8", "replace"))
    if trace_analysis is not None:
        _write_trace_analysis(trace_analysis, paths, from_, chosen)
    if as_json:
        print_json(_json(found, notes))
    else:
        _print(found)
    for told in to_tell:
        say(told)
    tell_left_out(notes)
    for path in unfinished:
        say(f"{path}: the run has not come to its end; what it holds so far was diagnosed")
    for written in filter(None, (out, trace_analysis)):
        say(f"wrote {written}")
    if judging is not None:
        tell_judging(judging)
        if found.opinions and all(each.problem is not None for each in found.opinions):
            say(f"the judge gave no usable answer: {found.opinions[0].problem}")
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


def _bench(
    model: str | None,
    base_url: str | None,
    access: Access,
    cache: str | None,
    replay: bool,
    dry_run: bool,
    no_redact: bool,
    characters: int,
) -> Bench:
    from msgspec.structs import replace

    from pantrace.engine.judge import Bench, bench
    from pantrace.judges import Settings
    from pantrace.normalise.secrets import Redactor

    judges = reach((model,) if model else (), base_url, asking=not dry_run and not replay)
    settings = Settings(models=judges.models, characters=characters)
    if dry_run:
        return Bench(None, settings, None if no_redact else Redactor(known=judges.secrets))
    access = replace(access, keys=judges.keys, secrets=judges.secrets, base_url=judges.base_url)
    return bench(settings, access, cache=cache_file(cache), replay=replay, redact=not no_redact)


def _print_questions(questions: list[Question]) -> None:
    from pantrace.diagnosis.question import SYSTEM

    click.echo(harmless(f"--- system\n{SYSTEM}\n"))
    for number, each in enumerate(questions, 1):
        click.echo(harmless(f"=== group {number}\n{each.prompt}\n"))
    say(f"{len(questions)} calls. Nothing was sent.")


def _json(found: Diagnosis, notes: Notes) -> dict[str, object]:
    from pantrace.diagnosis import as_json as diagnosis_json

    from .left_out import left_out

    return diagnosis_json(found) | left_out(notes)


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
    rows = [
        [str(number), each.title, f"{each.samples:,}", f"{each.share:.0%}", f"{each.passed:,}", waste_words(each.waste)]
        for number, each in enumerate(found.groups, 1)
    ]
    columns = ["#", "cause", "failed", "share", "in passed", "spent after"]
    table(columns, rows, right=("#", "failed", "share", "in passed", "spent after"), spare=("share", "in passed"))


def _print_group(number: int, group: Group, opinion: Opinion | None) -> None:
    from pantrace.diagnosis import place_words, seen_words, show_words

    click.echo(harmless(f"\n{number}. {group.title} ({group.samples:,})"))
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
        # One line, so that it can be copied.
        click.echo(harmless(f"   $ {show_words(group.examples[0])}"))


def _print_opinion(opinion: Opinion) -> None:
    if opinion.problem is not None:
        _wrapped(f"no usable answer of the judge: {opinion.problem}", "   ")
        return
    _wrapped(f"root cause: {opinion.root_cause}", "   ")
    _wrapped(f"change ({opinion.where}): {opinion.change}", "   ")
    steps = ", ".join(f"{each['sample']} step {each['step']}" for each in opinion.evidence)
    _wrapped(
        f"evidence: {steps}" if steps else "the judge named no step that it was shown: take this as a guess", "   "
    )


def _wrapped(text: str, indent: str = "") -> None:
    """A text folded between words at the width of the terminal, behind an indent."""
    from textwrap import wrap

    for line in wrap(harmless(text), console().width, initial_indent=indent, subsequent_indent=indent + "  "):
        click.echo(line)
