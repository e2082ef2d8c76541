"""`pantrace eval`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from .answer import few
from .arguments import (
    FiniteRange,
    as_json,
    calibration_files,
    expand,
    from_format,
    keep_inputs,
    run_directory,
    selecting,
    sources,
    verbose,
)
from .engine_options import engine_options
from .google_cloud import google_cloud
from .output import harmless, print_json, say
from .progress import progress

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.engine.compare_runs import Comparisons
    from pantrace.engine.executor import Engine
    from pantrace.engine.intake import Done
    from pantrace.engine.select import Selection
    from pantrace.engine.summary import EvalSummary
    from pantrace.library.gate import Gate
    from pantrace.library.results import Results


@click.command("eval")
@sources
@click.option(
    "--out", "out", required=True, metavar="DIR", help="Run directory to write or to continue: a path, or s3://…"
)
@click.option("--plan", "plan", metavar="FILE", help="Plan (TOML, or an eval_config.yaml); `pantrace init` writes one.")
@from_format
@click.option(
    "--judge", "models", multiple=True, metavar="PROVIDER:MODEL", help="Ask this model to grade; repeat for a panel."
)
@click.option("--base-url", metavar="URL", help="Server of the judge (any that speaks OpenAI's protocol).")
@google_cloud
@click.option("--cache", metavar="FILE", help="File that stores the judges' replies; by default in the user's cache.")
@click.option("--replay", is_flag=True, help="Judge from the cache only.")
@click.option("--budget-tokens", type=click.IntRange(min=1), metavar="N", help="Stop judging after N tokens.")
@click.option("--budget-usd", type=FiniteRange(min=0, min_open=True), metavar="X", help="Stop judging at this cost.")
@click.option("--budget-calls", type=click.IntRange(min=1), metavar="N", help="Stop judging after N questions.")
@click.option("--no-redact", is_flag=True, help="Send texts to judges unchanged, including secrets.")
@calibration_files
@click.option("--gate", is_flag=True, help="Exit 1 if a sample fails, 3 if one could not be decided.")
@click.option(
    "--min-pass-rate",
    type=FiniteRange(0, 1),
    metavar="X",
    help="With --gate: the share of cases that must pass, repeats averaged. Default: the plan's, or 1.",
)
@click.option("--by", metavar="LABEL", help="Also show the numbers by this label of the cases, or by agent.")
@click.option("--junit", metavar="FILE", help="Write the decisions as JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write the result as Markdown.")
@click.option("--report", metavar="FILE", help="Write evals and decisions as a report of the Explain policy (JSON).")
@click.option("--workshop", metavar="DIR", help="Write eval_summary.json and question_answer_log.md of ADK's workshop.")
@selecting
@engine_options
@verbose
@as_json
def command(
    sources: tuple[str, ...],
    out: str,
    plan: str | None,
    from_: str | None,
    models: tuple[str, ...],
    base_url: str | None,
    project: str | None,
    location: str | None,
    cache: str | None,
    replay: bool,
    budget_tokens: int | None,
    budget_usd: float | None,
    budget_calls: int | None,
    no_redact: bool,
    calibrations: tuple[str, ...],
    gate: bool,
    min_pass_rate: float | None,
    by: str | None,
    junit: str | None,
    markdown: str | None,
    report: str | None,
    workshop: str | None,
    chosen: Selection,
    engine: Engine,
    verbose: bool,
    as_json: bool,
) -> None:
    """Evaluate recordings: read, measure, check, judge, decide, and keep the results.

    The answer comes first: how many samples passed, which failed and why. Then come the numbers: for each metric the
    mean over cases. The results are stored in a run directory. Run the same command again after an interruption and it
    continues; on unchanged input it measures nothing twice. Each case is decided by the profile that it names, or
    by the plan's. A sample that could not be evaluated does not pass.

    \b
    pantrace eval runs/ --out results/today
    pantrace eval s3://team/runs --out s3://team/results/today
    pantrace eval runs/ --plan nightly.toml --out results/today --gate \\
        --junit eval.xml --markdown summary.md

    Exit code: 0; 2 if no record could be read; with --gate or a [gate] in the plan 1 (failed) or 3 (could not decide).
    """
    from pathlib import Path

    from pantrace.engine.foreign_plan import is_config, unused_paths
    from pantrace.engine.workshop import LOG, SUMMARY
    from pantrace.library.evaluate import evaluate_planned, read_plan

    planned = read_plan(plan, calibrations)
    if plan is not None and is_config(Path(plan)) and (told := unused_paths(Path(plan))):
        say(told)
    keep_inputs(
        sources,
        beside=map(str, planned.beside),
        recordings=[None if "://" in out else out, report],
        others=[junit, markdown, cache, *(str(Path(workshop) / each) for each in (SUMMARY, LOG) if workshop)],
    )
    table = planned.judge_table(
        judges=models,
        base_url=base_url,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        budget_calls=budget_calls,
        redact=not no_redact,
    )
    paths = expand(sources)
    with _telling_what_is_kept(out), progress("sample", total=chosen.limit) as count:
        results = evaluate_planned(
            planned,
            paths,
            run_directory(out, new=True),
            table,
            project=project,
            location=location,
            cache=cache,
            replay=replay,
            selection=chosen,
            format=from_,
            on_sample=count,
            engine=engine,
        )
    gating = gate or min_pass_rate is not None or planned.plan.gate is not None
    files = Files(junit=junit, markdown=markdown, report=report, workshop=workshop)
    code = tell_evaluation(results, files, gating, min_pass_rate, by, verbose=verbose, as_json=as_json)
    raise click.exceptions.Exit(code)


@contextmanager
def _telling_what_is_kept(out: str) -> Iterator[None]:
    """Says after Ctrl-C what to do: hours of work look lost otherwise."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; what was committed is in {out}; run the same command to continue")
        raise


@dataclass(frozen=True)
class Files:
    """What is written beside the run directory."""

    junit: str | None = None
    markdown: str | None = None
    report: str | None = None
    workshop: str | None = None


def tell_evaluation(
    results: Results,
    files: Files,
    gating: bool,
    min_pass_rate: float | None,
    by: str | None,
    *,
    verbose: bool = False,
    as_json: bool = False,
) -> int:
    """Write the files that were asked for and print the answer; gives the exit code."""
    from pantrace.engine.rule_warnings import warnings_of_run
    from pantrace.errors import ReadError

    from .compare import tell_comparisons
    from .decided import tell_doubts, tell_failures, tell_numbers, tell_verdict
    from .judge import tell_judging

    out = results.path
    summary = results.summary
    decided = results.as_planned(summary, min_pass_rate=min_pass_rate) if gating else None
    sides = write_files(out, summary, files, decided)
    if as_json:
        verdict = {"gate": decided.verdict()} if decided is not None else {}
        print_json({**results.to_dict(summary), **verdict})
        if decided is not None:
            say(decided.sentence)
    else:
        code = decided.exit_code if decided is not None else None
        tell_verdict(summary, code, decided.min_pass_rate if decided is not None else 1.0, str(out))
        tell_failures(summary, out, verbose)
        tell_numbers(summary, verbose, by)
        if sides is not None:
            click.echo(f"\n{harmless(' against '.join(reversed(sides.runs)))}:\n")
            tell_comparisons(sides, flips=10)
        if results.done is not None:
            _tell_done(results.done, out)
        if results.judging is not None:
            tell_judging(results.judging)
    for warning in warnings_of_run(out, results.ready.rules if results.ready is not None else ()):
        say(f"warning: {warning}")
    if decided is None:
        # As every other command ends that could read nothing.
        return ReadError.exit_code if summary.denominator.refused and not summary.samples else 0
    for each in decided.unseen:
        say(f"not decided: {each}")
    tell_doubts(out, summary, decided.calibrations, None, decided.complete)
    return decided.exit_code


def write_files(out: Path, summary: EvalSummary, files: Files, gate: Gate | None) -> Comparisons | None:
    """The files that were asked for; gives the two sides of cases that have two, compared."""
    from pathlib import Path

    from pantrace.engine.comparative import compare_evaluated
    from pantrace.engine.reports import write_explain_report
    from pantrace.engine.workshop import write_workshop

    from .compare import as_markdown as compared_markdown

    sides = compare_evaluated(out)
    more = compared_markdown(sides) if sides is not None else ""
    write_reports(out, summary, files.junit, files.markdown, gate=gate, more=more)
    if files.report:
        write_explain_report(out, Path(files.report))
    if files.workshop:
        write_workshop(out, Path(files.workshop))
    return sides


def _tell_done(done: Done, out: Path) -> None:
    from pantrace.engine.twice import copies_among, twice_in

    from .left_out import tell_left_out

    tell_left_out(done.notes)
    # Of a session in two files that are copies, one of the two is enough to say.
    for told in copies_among(done.inputs.values()) or twice_in(out):
        say(f"warning: {told}")
    if done.prompted:
        say(f"{few(done.prompted, 'sample')} matched with the reference by the first prompt, not by an id")
    if done.unmatched:
        say(f"{few(done.unmatched, 'sample')} not found in the reference")
    for line in _changes(done):
        say(line)
    say(
        f"{few(done.measured, 'sample')} measured{''.join(f' by {each}' for each in done.by)}, {done.reused:,} reused; "
        f"results are in {out} (`pantrace view {out}`)"
    )


def _changes(done: Done) -> Iterator[str]:
    """What is not as the last run left it."""
    for name in done.anew:
        yield f"{name} was damaged or missing and was rewritten"
    if done.damaged:
        names = ", ".join(path.name for path in done.damaged[:3])
        more = f" and {len(done.damaged) - 3} more" if len(done.damaged) > 3 else ""
        yield f"renewed: {names}{more} (damaged or missing)"
    elif done.renewed:
        yield f"{few(done.renewed, 'sample')} judged again: not every question had been answered"
    gone = []
    if done.superseded:
        gone.append(f"{done.superseded} superseded (input edited, or no longer selected)")
    if done.removed:
        gone.append(f"{done.removed} removed (input gone, or not named)")
    if gone:
        yield f"samples no longer in the results: {', '.join(gone)}; kept aside until the next change"
    if done.undone:
        yield (
            "the samples are decided by the plan's profile; `pantrace gate` had decided them by "
            f"{', '.join(done.undone)}: run it again if you want that decision"
        )


def write_reports(
    out: Path,
    summary: EvalSummary,
    junit: str | None,
    markdown: str | None,
    *,
    gate: Gate | None = None,
    more: str = "",
) -> None:
    """The files that were asked for, before any exit."""
    from pathlib import Path

    from pantrace.engine.reports import as_junit, as_markdown, decided_samples
    from pantrace.wire.output import writing

    told, passed = (gate.sentence, gate.passed) if gate is not None else ("", None)
    if junit:
        with writing(Path(junit)) as file:
            file.write(as_junit(out, summary, told, passed))
    if markdown:
        with writing(Path(markdown)) as file:
            page = as_markdown(summary, f"Evaluation of {out.name}", decided_samples(out, summary.profiles), told)
            file.write("\n".join(filter(None, (page, more))).encode())
