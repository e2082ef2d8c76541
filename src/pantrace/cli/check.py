"""`pantrace check`."""

from __future__ import annotations

from pathlib import Path

import click

from pantrace.engine.check import CheckReport, as_junit, run_rules, unknown_tools
from pantrace.engine.check import as_json as report_json
from pantrace.engine.measure import load_plugins
from pantrace.engine.read import Notes, read_pile, split_children, watch
from pantrace.engine.select import Selection
from pantrace.rules import load_rules
from pantrace.wire.json import encode
from pantrace.wire.output import writing

from .arguments import as_json, expand, from_format, keep_inputs, selecting, sources, sub_agents
from .left_out import tell_left_out
from .output import print_json, say, table
from .progress import progress


@click.command("check")
@sources
@from_format
@click.option("--rules", "rules", multiple=True, metavar="FILE|PACK", help="A rule file or a pack; repeat for more.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Also the checks of this Python file.")
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="Pass rate for --ci.")
@click.option("--ci", is_flag=True, help="Exit 1 below the threshold, 3 when nothing applied or a check failed to run.")
@click.option(
    "--count-not-applicable-as",
    "as_",
    type=click.Choice(["nothing", "pass"]),
    default="nothing",
    help="`pass` counts as the original Layer 1 did.",
)
@click.option("--junit", metavar="FILE", help="Write JUnit XML.")
@click.option("-o", "out", metavar="FILE", help="Write the report as JSON.")
@click.option("--verbose", "-v", is_flag=True, help="Also list what passed and what did not apply.")
@sub_agents
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    rules: tuple[str, ...],
    plugins: tuple[str, ...],
    threshold: float,
    ci: bool,
    as_: str,
    junit: str | None,
    out: str | None,
    verbose: bool,
    sub_agents: bool,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Check recordings against rule files: what must be said, called, or called first.

    A rule that does not apply to a recording is not a pass. docs/rules.md explains how rules are written.

    \b
    pantrace check runs/ --rules stateless-handoff
    pantrace check runs/ --rules my-rules.toml --ci --threshold 0.9 --junit check.xml
    """
    if not rules and not plugins:
        raise click.UsageError("name a rule file or a pack with --rules, or checks with --plugin")
    keep_inputs(sources, beside=[*rules, *plugins], others=[out, junit])
    loaded = [load_rules(name) for name in rules]
    checks = [(each, each.settings()) for each in load_plugins([Path(path) for path in plugins]).values()]
    notes = Notes.keeping()
    paths = expand(sources)
    run = read_pile(paths, format=from_, notes=notes)
    report = CheckReport(inputs=[str(path) for path in paths], not_applicable_passes=as_ == "pass")
    with progress("samples") as count:
        samples = chosen.apply(split_children(run.samples) if sub_agents else run.samples)
        run_rules(watch(samples, count), loaded, checks, report)
    for path, data in ((out, encode(report_json(report), indent=2) + b"\n"), (junit, as_junit(report))):
        if path:
            with writing(Path(path)) as file:
                file.write(data)
    if as_json:
        print_json(report_json(report))
    else:
        _tell(report, verbose)
    tell_left_out(notes)
    for word in unknown_tools(report, loaded):
        say(f"warning: no recording has a tool {word!r}; is it spelt as the agent calls it?")
    raise click.exceptions.Exit(_exit_code(report, threshold) if ci else 0)


def _exit_code(report: CheckReport, threshold: float) -> int:
    rate = report.pass_rate(report.scores)
    if rate is None or report.count(report.scores)["errored"]:
        return 3
    return 0 if rate >= threshold else 1


def _tell(report: CheckReport, verbose: bool) -> None:
    summary = report_json(report)
    rows = []
    for name, counts in summary["checks_by_id"].items():
        rate = counts["pass_rate"]
        numbers = [str(counts[key]) for key in ("passed", "failed", "not_applicable", "errored")]
        rows.append([name, counts["name"], *numbers, "-" if rate is None else f"{rate:.0%}"])
    columns = ["rule", "name", "passed", "failed", "n/a", "errors", "rate"]
    table(columns, rows, right=("passed", "failed", "n/a", "errors", "rate"))
    found = [
        [
            sample.id,
            score.name,
            report.verdict(score).replace("_", " "),
            score.explanation or "",
            ", ".join(score.evidence),
        ]
        for sample, scores in report.sessions
        for score in scores
        if verbose or report.verdict(score) in ("failed", "errored")
    ]
    if found:
        click.echo()
        table(["sample", "rule", "", "reason", "step"], found)
    rate = summary["summary"]["pass_rate"]
    words = "nothing applied" if rate is None else f"{rate:.1%} of what applied passed"
    say(f"{len(report.sessions)} samples, {len(report.scores)} checks: {words}")
