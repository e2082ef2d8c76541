"""`pantrace gate`."""

from __future__ import annotations

from pathlib import Path

import click

from pantrace.engine.calibration_files import calibrations_for
from pantrace.engine.evaluate import decide_again
from pantrace.engine.known_names import refuse_unknown
from pantrace.engine.reports import decided_samples, write_explain_report
from pantrace.engine.summary import summarise
from pantrace.errors import UsageError
from pantrace.policy import load_profile, profile_names
from pantrace.store import is_run_directory

from .arguments import as_json, calibration_files, keep_inputs
from .eval import tell_gate, tell_summary, write_reports
from .output import print_json


@click.command("gate")
@click.argument("directory", metavar="DIR")
@click.option("--profile", required=True, metavar="NAME|FILE", help="Profile to decide by.")
@click.option("--min-pass-rate", type=click.FloatRange(0, 1), default=1.0, show_default=True, metavar="X")
@click.option("--complete", is_flag=True, help="Do not pass while a case was not run, not read or left out.")
@click.option("--junit", metavar="FILE", help="Write the decisions as JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write the summary as Markdown.")
@click.option("--report", metavar="FILE", help="Write evals and decisions as a report of the Explain policy (JSON).")
@calibration_files
@as_json
def command(
    directory: str,
    profile: str,
    min_pass_rate: float,
    complete: bool,
    junit: str | None,
    markdown: str | None,
    report: str | None,
    calibrations: tuple[str, ...],
    as_json: bool,
) -> None:
    """Decide a run directory by a profile, without measuring or judging again.

    What could not be evaluated does not pass. A profile that names a metric that nobody knows is refused. --json and
    --markdown name every sample's decision and its reasons.

    \b
    pantrace gate results/today --profile prep_default
    pantrace gate results/today --profile our-profile.toml --min-pass-rate 0.9 --junit gate.xml

    Exit code: 0 pass, 1 fail, 2 refused, 3 could not decide.
    """
    if not is_run_directory(Path(directory)):
        raise UsageError(f"{directory} is not a run directory; `pantrace eval … --out DIR` makes one")
    keep_inputs([directory], beside=[profile, *calibrations], recordings=[report], others=[junit, markdown])
    chosen = load_profile(profile)
    refuse_unknown(chosen, Path(directory), file=None if profile in profile_names() else Path(profile))
    known = calibrations_for(Path(directory), [*map(Path, calibrations)])
    decide_again(Path(directory), chosen, known)
    summary = summarise(Path(directory))
    write_reports(Path(directory), summary, junit, markdown, chosen.name)
    if report:
        write_explain_report(Path(directory), Path(report), chosen.name)
    if as_json:
        print_json(
            {
                "profile": chosen.name,
                "profiles": profile_names(),
                "summary": summary,
                "decisions": decided_samples(Path(directory), chosen.name),
            }
        )
    else:
        tell_summary(summary)
    demanded = complete or chosen.complete
    raise click.exceptions.Exit(
        tell_gate(Path(directory), summary, min_pass_rate, known, chosen.name, complete=demanded)
    )
