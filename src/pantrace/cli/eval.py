"""`pantrace eval`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from pantrace.engine.calibration_files import uncalibrated
from pantrace.engine.denominator import denominator_words
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.intake import Done
from pantrace.engine.judge import Bench
from pantrace.engine.plan import JudgeTable, Ready, load_plan, prepare
from pantrace.engine.reduce import total_words
from pantrace.engine.reports import (
    as_junit,
    as_markdown,
    decided_samples,
    estimate_words,
    repeats,
    write_explain_report,
)
from pantrace.engine.select import Selection
from pantrace.engine.summary import EvalSummary, gate_code, summarise
from pantrace.engine.workshop import LOG, SUMMARY, write_workshop
from pantrace.judges import Calibrations, Managed, Project
from pantrace.library.judging import bench_of
from pantrace.wire.output import writing

from .arguments import as_json, calibration_files, expand, from_format, keep_inputs, selecting, sources
from .google_cloud import google_cloud, named_project
from .judge import tell_judging
from .left_out import left_out, tell_left_out
from .output import print_json, say, table
from .progress import progress


@click.command("eval")
@sources
@click.option("--out", "out", required=True, metavar="DIR", help="Run directory to write, or to go on with.")
@click.option("--plan", "plan", metavar="FILE", help="Plan (TOML); `pantrace init` writes one. Without it: everything.")
@from_format
@click.option("--judge", "models", multiple=True, metavar="PROVIDER:MODEL", help="Judge what is to be judged.")
@click.option("--base-url", metavar="URL", help="Server of the judge (any that speaks OpenAI's protocol).")
@google_cloud
@click.option("--cache", metavar="FILE", help="Where the judges' replies are kept; by default in the user's cache.")
@click.option("--replay", is_flag=True, help="Judge from the cache only.")
@click.option("--budget-tokens", type=click.IntRange(min=1), metavar="N", help="Stop judging beyond so many tokens.")
@click.option("--budget-usd", type=click.FloatRange(min=0, min_open=True), metavar="X", help="Stop beyond this cost.")
@click.option("--budget-calls", type=click.IntRange(min=1), metavar="N", help="Stop judging after so many questions.")
@click.option("--no-redact", is_flag=True, help="Send texts to judges as they are, secrets included.")
@calibration_files
@click.option("--gate", is_flag=True, help="Exit 1 if a sample fails, 3 if one could not be decided.")
@click.option("--junit", metavar="FILE", help="Write the decisions as JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write the summary as Markdown.")
@click.option("--report", metavar="FILE", help="Write evals and decisions as a report of the Explain policy (JSON).")
@click.option("--workshop", metavar="DIR", help="Write eval_summary.json and question_answer_log.md of ADK's workshop.")
@selecting
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
    junit: str | None,
    markdown: str | None,
    report: str | None,
    workshop: str | None,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Evaluate recordings: read, measure, check, decide, keep, report.

    Results go to a run directory. The same command after an interruption goes on where it was; on unchanged input it
    measures nothing again. Afterwards the directory holds what these inputs give and nothing else: what an input gave
    before it was edited or removed is set aside. Each case is decided by the profile it names, else by the plan's; what
    could not be evaluated does not pass.

    The table has the mean over cases of each metric, and under `together` what it comes to over all samples: a ratio
    of sums (pooled) or a sum. What has no value is left out of both and counted.

    \b
    pantrace eval runs/ --out results/today
    pantrace eval runs/ --plan nightly.toml --out results/today --gate --junit eval.xml --markdown summary.md

    Exit code: 0; with --gate or a [gate] in the plan 1 (failed) or 3 (could not decide).
    """
    path = Path(plan) if plan else None
    loaded, text, folder = load_plan(path)
    ready = prepare(loaded, folder, text, str(path or "plan"), calibrations=[*map(Path, calibrations)])
    keep_inputs(
        sources,
        beside=[plan, *calibrations, str(ready.reference) if ready.reference else None],
        recordings=[out, report],
        others=[junit, markdown, cache, *(str(Path(workshop) / each) for each in (SUMMARY, LOG) if workshop)],
    )
    given: dict[str, Any] = {
        "models": list(dict.fromkeys(models)) or None,
        "base_url": base_url,
        "budget_tokens": budget_tokens,
        "budget_usd": budget_usd,
        "budget_calls": budget_calls,
        "redact": False if no_redact else None,
    }
    asked = replace(loaded.judge, **{name: value for name, value in given.items() if value is not None})
    managed = any(isinstance(rubric, Managed) for rubric in ready.rubrics)
    # Cases may require managed metrics, too: whoever names a project wants them asked for.
    vertex = named_project(project, location, base_url) if managed or project or location else None
    judging = _judging(ready, asked, vertex, cache, replay)
    paths = expand(sources)
    with progress("samples") as count:
        done = evaluate_into(
            paths,
            Path(out),
            ready,
            text,
            format=from_,
            selection=None if chosen == Selection() else chosen,
            on_sample=count,
            judging=judging,
        )
    summary = summarise(Path(out), ready.checks)
    write_reports(Path(out), summary, junit, markdown)
    if report:
        write_explain_report(Path(out), Path(report))
    if workshop:
        write_workshop(Path(out), Path(workshop))
    if as_json:
        print_json(
            {
                "out": out,
                **_counts(done),
                **left_out(done.notes),
                "judging": judging.summary() if judging else None,
                "summary": summary,
                "decisions": decided_samples(Path(out)),
            }
        )
    else:
        tell_summary(summary)
        _tell_done(done, out)
        if judging is not None:
            tell_judging(judging)
    if gate or loaded.gate is not None:
        rate = loaded.gate.min_pass_rate if loaded.gate is not None else 1.0
        used = {each.profile for each in summary.decisions}
        complete = (loaded.gate is not None and loaded.gate.complete) or any(
            each.complete for each in ready.profiles.values() if each.name in used
        )
        raise click.exceptions.Exit(tell_gate(Path(out), summary, rate, ready.calibrations, complete=complete))


def _judging(ready: Ready, table: JudgeTable, vertex: Project | None, cache: str | None, replay: bool) -> Bench | None:
    """The judges that the plan or the command line names; None when there is nothing that they would do."""
    if not table.models and not ready.rubrics and vertex is None and not replay:
        return None
    managed = any(isinstance(rubric, Managed) for rubric in ready.rubrics)
    return bench_of(table, cache=cache, replay=replay, vertex=vertex, manages=managed)


def _counts(done: Done) -> dict[str, object]:
    names = ("measured", "reused", "renewed", "superseded", "removed")
    damaged = [*done.anew, *(str(path) for path in done.damaged)]
    return {**{name: getattr(done, name) for name in names}, "damaged": damaged, "undone": done.undone}


def _tell_done(done: Done, out: str) -> None:
    tell_left_out(done.notes)
    if done.prompted:
        say(f"{done.prompted} samples were joined with the reference by their first prompt, not by an id")
    if done.unmatched:
        say(f"{done.unmatched} samples have no counterpart in the reference")
    for line in _changes(done):
        say(line)
    say(f"{_samples(done.measured)} measured, {done.reused} reused; results in {out}")


def _samples(count: int) -> str:
    return f"{count} sample" if count == 1 else f"{count} samples"


def _changes(done: Done) -> Iterator[str]:
    """What is not as the last run left it."""
    for name in done.anew:
        yield f"{name} was damaged or missing and was written anew"
    if done.damaged:
        names = ", ".join(path.name for path in done.damaged[:3])
        more = f" and {len(done.damaged) - 3} more" if len(done.damaged) > 3 else ""
        yield f"renewed: {names}{more} (damaged or missing)"
    elif done.renewed:
        yield f"{_samples(done.renewed)} judged again: not every question had been answered"
    gone = []
    if done.superseded:
        gone.append(f"{done.superseded} superseded (input edited, or no longer selected)")
    if done.removed:
        gone.append(f"{done.removed} removed (input gone, or not named)")
    if gone:
        yield f"samples no longer in the results: {', '.join(gone)}; kept aside until the next change"
    if done.undone:
        yield f"decided by the plan again; `gate` had decided by {', '.join(done.undone)}"


def write_reports(
    out: Path, summary: EvalSummary, junit: str | None, markdown: str | None, profile: str | None = None
) -> None:
    """The files that were asked for, before any exit."""
    if junit:
        with writing(Path(junit)) as file:
            file.write(as_junit(out, profile))
    if markdown:
        with writing(Path(markdown)) as file:
            page = as_markdown(summary, f"Evaluation of {out.name}", decided_samples(out, profile))
            file.write(page.encode())


def tell_summary(summary: EvalSummary) -> None:
    """Metrics and decisions as tables."""
    columns = ["metric", "maker", "value", "together", "scored", "n/a", "unscored", "why not"]
    rows = [
        [
            each.metric,
            each.maker or "",
            estimate_words(each.estimate, each.unit, scored=each.scored),
            total_words(each.together, each.unit, briefly=True),
            str(each.scored),
            str(each.not_applicable),
            str(each.unscored),
            (each.why_not or "") if not each.scored else "",
        ]
        for each in summary.metrics
        if each.headline
    ]
    _table(columns, rows, right=("scored", "n/a", "unscored"), spare=("maker", "together"))
    shown = [each for each in summary.groups if each.estimate is not None and each.headline]
    if len(shown) > 40:
        say(f"{len(shown)} rows by group: those of deterministic metrics are in --markdown and --json")
        shown = [each for each in shown if each.maker != "check"]
    if shown:
        click.echo()
        _table(
            ["group", "metric", "value", "together"],
            [
                [
                    each.group or "",
                    each.metric,
                    estimate_words(each.estimate, each.unit),
                    total_words(each.together, each.unit),
                ]
                for each in shown
            ],
        )
    for each in summary.decisions:
        click.echo(
            f"\n{each.profile}: {each.passed} passed, {each.failed} failed, {each.undecided} could not be decided"
            f" (pass rate {estimate_words(each.rate, 'share')})"
        )
        for reason, count in each.reasons:
            click.echo(f"  {count} x {reason}")
    for name, told in repeats(summary):
        click.echo(f"repeats, {name}: {told}")
    click.echo(f"\n{denominator_words(summary.denominator)}")


def _table(
    columns: list[str], rows: list[list[str]], *, right: tuple[str, ...] = (), spare: tuple[str, ...] = ()
) -> None:
    """A table; the column `together` stands in it only where a metric has such a number."""
    place = columns.index("together")
    if not any(row[place] for row in rows):
        columns, *rows = [[*row[:place], *row[place + 1 :]] for row in (columns, *rows)]
    table(columns, rows, right=right, spare=spare)


def tell_gate(
    out: Path,
    summary: EvalSummary,
    rate: float,
    calibrations: Calibrations,
    profile: str | None = None,
    *,
    complete: bool = False,
) -> int:
    """Say how the gate went, and on which judges it rests that nobody has calibrated; gives the exit code."""
    code = gate_code(summary, rate, profile, complete=complete)
    if doubtful := uncalibrated(out, calibrations, profile):
        named = ", ".join(dict.fromkeys(each.metric for each in doubtful))
        say(f"warning: decided by judges that were not calibrated: {named} (`pantrace calibrate`)")
    if complete and not summary.denominator.complete:
        say(f"not complete, and the gate demands it: {denominator_words(summary.denominator)}")
    words = {0: "passed", 1: "failed", 3: "could not decide, which is not a pass"}
    say(f"gate (at least {rate:.0%} must pass): {words[code]}")
    return code
