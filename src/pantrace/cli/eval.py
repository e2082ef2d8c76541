"""`pantrace eval`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from .answer import few
from .arguments import as_json, calibration_files, expand, from_format, keep_inputs, selecting, sources, verbose
from .google_cloud import google_cloud
from .output import print_json, say
from .progress import progress

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.engine.intake import Done
    from pantrace.engine.judge import Bench
    from pantrace.engine.plan import JudgeTable, Ready
    from pantrace.engine.select import Selection
    from pantrace.engine.summary import EvalSummary
    from pantrace.judges import Project


@click.command("eval")
@sources
@click.option("--out", "out", required=True, metavar="DIR", help="Run directory to write, or to go on with.")
@click.option("--plan", "plan", metavar="FILE", help="Plan (TOML, or an eval_config.yaml); `pantrace init` writes one.")
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
@click.option(
    "--min-pass-rate",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="With --gate: the share of samples that must pass. The plan's, else 1.",
)
@click.option("--by", metavar="LABEL", help="Also show the numbers by this label of the cases, or by agent.")
@click.option("--junit", metavar="FILE", help="Write the decisions as JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write the result as Markdown.")
@click.option("--report", metavar="FILE", help="Write evals and decisions as a report of the Explain policy (JSON).")
@click.option("--workshop", metavar="DIR", help="Write eval_summary.json and question_answer_log.md of ADK's workshop.")
@selecting
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
    verbose: bool,
    as_json: bool,
) -> None:
    """Evaluate recordings: read, measure, check, judge, decide, and keep the results.

    The answer comes first: how many samples passed, which failed and why. Then come the numbers: for each metric the
    mean over cases. The results are kept in a run directory. Run the same command again after an interruption and it
    continues; on unchanged input it measures nothing twice. Each case is decided by the profile it names, else by the
    plan's. A sample that could not be evaluated does not pass.

    \b
    pantrace eval runs/ --out results/today
    pantrace eval runs/ --plan nightly.toml --out results/today --gate \\
        --junit eval.xml --markdown summary.md

    Exit code: 0; with --gate or a [gate] in the plan 1 (failed) or 3 (could not decide).
    """
    from pathlib import Path

    from msgspec.structs import replace

    from pantrace.engine.comparative import compare_evaluated
    from pantrace.engine.evaluate import evaluate_into
    from pantrace.engine.foreign_plan import is_config, unused_paths
    from pantrace.engine.plan import load_plan, prepare
    from pantrace.engine.reports import decided_samples, write_explain_report
    from pantrace.engine.select import Selection
    from pantrace.engine.summary import gate_code, summarise
    from pantrace.engine.workshop import LOG, SUMMARY, write_workshop
    from pantrace.judges import Managed

    from .compare import all_fields, tell_comparisons
    from .compare import as_markdown as compared_markdown
    from .decided import decision_words, tell_doubts, tell_failures, tell_numbers, tell_verdict
    from .google_cloud import named_project
    from .judge import tell_judging
    from .left_out import left_out

    path = Path(plan) if plan else None
    loaded, text, folder = load_plan(path)
    if path is not None and is_config(path) and (told := unused_paths(path)):
        say(told)
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
    with progress("sample", total=chosen.limit) as count:
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
    sides = compare_evaluated(Path(out))
    write_reports(Path(out), summary, junit, markdown, more=compared_markdown(sides) if sides is not None else "")
    if report:
        write_explain_report(Path(out), Path(report))
    if workshop:
        write_workshop(Path(out), Path(workshop))
    code, rate = None, 1.0
    if gating := gate or min_pass_rate is not None or loaded.gate is not None:
        rate = min_pass_rate if min_pass_rate is not None else loaded.gate.min_pass_rate if loaded.gate else 1.0
        used = {each.profile for each in summary.decisions}
        complete = (loaded.gate is not None and loaded.gate.complete) or any(
            each.complete for each in ready.profiles.values() if each.name in used
        )
        code = gate_code(summary, rate, complete=complete)
    if as_json:
        print_json(
            {
                "out": out,
                **_counts(done),
                **left_out(done.notes),
                "judging": judging.summary() if judging else None,
                "summary": summary,
                "decisions": decided_samples(Path(out)),
                **({"comparison": all_fields(sides)} if sides is not None else {}),
            }
        )
        if code is not None:
            say(f"{'passed' if code == 0 else 'not passed'}: {decision_words(summary.decisions)}")
    else:
        tell_verdict(summary, code, rate, out)
        tell_failures(summary, Path(out), verbose)
        tell_numbers(summary, verbose, by)
        if sides is not None:
            click.echo(f"\n{' against '.join(reversed(sides.runs))}:\n")
            tell_comparisons(sides, flips=10)
        _tell_done(done, out)
        if judging is not None:
            tell_judging(judging)
    if gating:
        tell_doubts(Path(out), summary, ready.calibrations, None, complete)
        raise click.exceptions.Exit(code or 0)


def _judging(ready: Ready, table: JudgeTable, vertex: Project | None, cache: str | None, replay: bool) -> Bench | None:
    """The judges that the plan or the command line names; None when there is nothing that they would do."""
    from msgspec.structs import replace

    from pantrace.engine.judge import Access, bench
    from pantrace.judges import Managed, Settings
    from pantrace.library.access import cache_file, reach

    judges = reach(table.models, table.base_url, asking=not replay)
    if replay and not judges.models and not any(isinstance(rubric, Managed) for rubric in ready.rubrics):
        from pantrace.errors import UsageError

        raise UsageError("--replay needs a judge: replies are kept by its name")
    if not judges.models and not ready.rubrics and vertex is None:
        return None
    access = Access(
        keys=judges.keys,
        secrets=judges.secrets,
        base_url=judges.base_url,
        timeout=table.timeout,
        attempts=table.retries + 1,
        vertex=replace(vertex, base_url=None) if vertex and judges.models else vertex,
        concurrency=table.concurrency,
        tokens=table.budget_tokens,
        dollars=table.budget_usd,
        calls=table.budget_calls,
    )
    settings = Settings(
        models=judges.models,
        samples=table.samples,
        combine=table.combine,
        temperature=table.temperature,
        max_tokens=table.max_tokens,
        seed=table.seed,
        weighted=table.weighted,
        characters=table.max_chars,
    )
    judging = bench(settings, access, cache=cache_file(cache), replay=replay, redact=table.redact)
    judging.open()
    return judging


def _counts(done: Done) -> dict[str, object]:
    names = ("measured", "reused", "renewed", "superseded", "removed")
    damaged = [*done.anew, *(str(path) for path in done.damaged)]
    return {**{name: getattr(done, name) for name in names}, "damaged": damaged, "undone": done.undone}


def _tell_done(done: Done, out: str) -> None:
    from pathlib import Path

    from pantrace.engine.twice import twice_in

    from .left_out import tell_left_out

    tell_left_out(done.notes)
    for told in twice_in(Path(out)):
        say(f"warning: {told}")
    if done.prompted:
        say(f"{few(done.prompted, 'sample')} matched with the reference by the first prompt, not by an id")
    if done.unmatched:
        say(f"{few(done.unmatched, 'sample')} not found in the reference")
    for line in _changes(done):
        say(line)
    say(
        f"{few(done.measured, 'sample')} measured, {done.reused:,} reused; results are in {out} (`pantrace view {out}`)"
    )


def _changes(done: Done) -> Iterator[str]:
    """What is not as the last run left it."""
    for name in done.anew:
        yield f"{name} was damaged or missing and was written anew"
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
        yield f"decided by the plan again; `gate` had decided by {', '.join(done.undone)}"


def write_reports(
    out: Path,
    summary: EvalSummary,
    junit: str | None,
    markdown: str | None,
    profile: str | None = None,
    *,
    more: str = "",
) -> None:
    """The files that were asked for, before any exit."""
    from pathlib import Path

    from pantrace.engine.reports import as_junit, as_markdown, decided_samples
    from pantrace.wire.output import writing

    if junit:
        with writing(Path(junit)) as file:
            file.write(as_junit(out, profile))
    if markdown:
        with writing(Path(markdown)) as file:
            page = as_markdown(summary, f"Evaluation of {out.name}", decided_samples(out, profile))
            file.write("\n".join(filter(None, (page, more))).encode())
