"""`pantrace check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from .answer import LISTED, few, named_reasons, share, verdict
from .arguments import (
    FiniteRange,
    as_json,
    expand,
    from_format,
    keep_inputs,
    option,
    output,
    selecting,
    sources,
    sub_agents,
)
from .engine_options import engine_options
from .output import print_json, say, table
from .progress import progress

if TYPE_CHECKING:
    from pantrace.engine.check import CheckReport
    from pantrace.engine.executor import Engine
    from pantrace.engine.select import Selection
    from pantrace.model import Score

CI_RATE = 0.8
"""What the old `--ci` demanded without a threshold."""


@click.command("check")
@sources
@from_format
@click.option("--rules", "rules", multiple=True, metavar="FILE|PACK", help="A rule file or a pack; repeat for more.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Also use the checks in this Python file.")
@option(
    "--min-pass-rate",
    "min_pass_rate",
    old=("--threshold",),
    type=FiniteRange(0, 1),
    metavar="X",
    help="The share of checks that must pass; all of them if not given.",
)
@click.option("--ci", is_flag=True, hidden=True, help=f"As --min-pass-rate {CI_RATE}, unless that is given.")
@click.option(
    "--count-not-applicable-as",
    "as_",
    type=click.Choice(["nothing", "pass"]),
    default="nothing",
    help="`pass` counts like the original Layer 1.",
)
@click.option("--junit", metavar="FILE", help="Write JUnit XML.")
@output("Write the report as JSON.")
@click.option("--verbose", "-v", is_flag=True, help="Also list what passed and what did not apply.")
@sub_agents
@selecting
@engine_options
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    rules: tuple[str, ...],
    plugins: tuple[str, ...],
    min_pass_rate: float | None,
    ci: bool,
    as_: Literal["nothing", "pass"],
    junit: str | None,
    out: str | None,
    verbose: bool,
    sub_agents: bool,
    chosen: Selection,
    engine: Engine,
    as_json: bool,
) -> None:
    """Check recordings against rule files: what must be said, called, or called first.

    A rule that does not apply to a recording is not a pass. docs/rules.md explains how rules are written.

    \b
    pantrace check runs/ --rules stateless-handoff
    pantrace check runs/ --rules my-rules.toml --min-pass-rate 0.9 \\
        --junit check.xml

    Exit code: 0 rules kept, 1 rules broken (more than --min-pass-rate allows), 3 no rule applied, a check could not
    be run or a record could not be read.
    """
    from pathlib import Path

    from pantrace.engine.check import as_junit
    from pantrace.library.check import check
    from pantrace.wire.json import encode
    from pantrace.wire.output import writing

    from .left_out import tell_left_out

    if not rules and not plugins:
        from pantrace.rules import packs

        known = ", ".join(packs())
        raise click.UsageError(f"name a rule file or a pack ({known}) with --rules, or checks with --plugin")
    keep_inputs(sources, beside=[*rules, *plugins], others=[out, junit])
    # Collected while the progress line is shown, and printed after it.
    paths, started = expand(sources), list[str]()
    with progress("sample", total=chosen.limit) as count:
        report = check(
            *paths,
            rules=rules,
            plugins=plugins,
            min_pass_rate=CI_RATE if ci and min_pass_rate is None else min_pass_rate,
            count_not_applicable_as=as_,
            sub_agents=sub_agents,
            selection=chosen,
            format=from_,
            on_sample=count,
            engine=engine,
            on_start=started.append,
        )
    # Files before the table: CI collects them even if printing fails.
    for path, data in ((out, encode(report.to_dict(), indent=2) + b"\n"), (junit, as_junit(report))):
        if path:
            with writing(Path(path)) as file:
                file.write(data)
    code = {True: 0, False: 1, None: 3}[report.passed]
    if as_json:
        print_json(report.to_dict())
    else:
        _tell(report, code, report.min_pass_rate, verbose)
    tell_left_out(report.notes)
    for words in started:
        say(f"done by {words}")
    for each in report.warnings():
        say(f"warning: {each}")
    raise click.exceptions.Exit(code)


def _tell(report: CheckReport, code: int, demanded: float, verbose: bool) -> None:
    counts = report.count(report.scores)
    _tell_verdict(report, counts, code, demanded)
    for kinds, words in ((("failed",), "broke a rule"), (("errored",), "could not be checked")):
        found = [
            (sample.id, [_reason(score) for score in scores if report.verdict(score) in kinds])
            for sample, scores in report.sessions
        ]
        found = [(name, reasons) for name, reasons in found if reasons]
        if found:
            shown = found if verbose else found[:LISTED]
            named_reasons(f"{few(len(found), 'sample')} {words}:", shown, len(found), "-v lists all of them")
    rows = []
    for name, each in report.to_dict()["checks_by_id"].items():
        rate = each["pass_rate"]
        numbers = [str(each[key]) for key in ("passed", "failed", "not_applicable", "errored")]
        rows.append([name, each["name"], *numbers, "-" if rate is None else f"{rate * 100:.3g} %"])
    # Rules by name after the failures: the answer first, the numbers last.
    if rows:
        click.echo()
        columns = ["rule", "name", "passed", "failed", "n/a", "errors", "rate"]
        table(columns, rows, right=("passed", "failed", "n/a", "errors", "rate"), spare=("name", "errors", "n/a"))
    if verbose:
        _tell_others(report)


def _tell_verdict(report: CheckReport, counts: dict[str, int], code: int, demanded: float) -> None:
    passed, failed, errored = counts["passed"], counts["failed"], counts["errored"]
    applied = passed + failed
    head = {0: "Passed", 1: "Failed", 3: "Could not decide, which is not a pass"}[code]
    of = few(len(report.sessions), "sample")
    if not applied and not errored:
        verdict(f"{head}: no rule applies to any of the {of}." if report.sessions else f"{head}: no samples.", None)
        return
    told = [f"{passed:,} of {few(applied, 'check')} passed ({share(passed, applied)}) in {of}"] if applied else []
    told += [f"{failed:,} failed"] if failed else []
    told += [f"{few(errored, 'check')} could not be run"] if errored else []
    told += [f"{counts['not_applicable']:,} did not apply"] if counts["not_applicable"] else []
    told += [f"{few(len(report.broken), 'record')} could not be read"] if report.broken else []
    # 100 % is the default, and need not be said.
    from pantrace.policy.share import must_words

    must = "" if demanded == 1 or not applied else f"; {must_words(demanded)}"
    verdict(f"{head}: {', '.join(told)}{must}.", {0: True, 1: False, 3: None}[code])


def _reason(score: Score) -> str:
    steps = ", ".join(score.evidence)
    return f"{score.name}: {score.explanation or 'no reason given'}{f' ({steps})' if steps else ''}"


def _tell_others(report: CheckReport) -> None:
    """Print what passed, and what did not apply."""
    rows = [
        [sample.id, score.name, report.verdict(score).replace("_", " "), score.explanation or ""]
        for sample, scores in report.sessions
        for score in scores
        if report.verdict(score) not in ("failed", "errored")
    ]
    if rows:
        click.echo()
        table(["sample", "rule", "", "reason"], rows)
