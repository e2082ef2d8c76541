"""`pantrace gate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .arguments import FiniteRange, as_json, calibration_files, keep_inputs, metric_names, run_directory, verbose
from .complete import complete_profiles
from .output import print_json, say

if TYPE_CHECKING:
    from pantrace.library.gate import Gate
    from pantrace.policy import Profile


@click.command("gate")
@click.argument("directory", metavar="DIR")
@click.option(
    "--profile",
    metavar="NAME|FILE",
    shell_complete=complete_profiles,
    help="Profile to decide by; `pantrace profiles` lists them.",
)
@click.option("--baseline", metavar="DIR", help="Also require that the run is no worse than this one; see --margin.")
@click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="X|X%|NAME=X",
    help="How much worse than the baseline a metric may be: a number, or a share of the baseline's mean.",
)
@metric_names("With --baseline: compare only this metric; repeat for more.")
@click.option("--cluster", metavar="NAME", help="With --baseline: cases that belong together, as in `compare`.")
@click.option(
    "--min-pass-rate",
    type=FiniteRange(0, 1),
    metavar="X",
    help="The share of cases that must pass, repeats averaged (default: as the plan says, otherwise 1).",
)
@click.option("--complete", is_flag=True, help="Do not pass while a case was not run, not read or left out.")
@click.option("--junit", metavar="FILE", help="Write the decisions as JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write the result as Markdown.")
@click.option("--report", metavar="FILE", help="Write evals and decisions as a report of the Explain policy (JSON).")
@calibration_files
@verbose
@as_json
def command(
    directory: str,
    profile: str | None,
    baseline: str | None,
    margins: tuple[str, ...],
    metrics: tuple[str, ...],
    cluster: str | None,
    min_pass_rate: float | None,
    complete: bool,
    junit: str | None,
    markdown: str | None,
    report: str | None,
    calibrations: tuple[str, ...],
    verbose: bool,
    as_json: bool,
) -> None:
    """Decide a run directory by a profile, without measuring or judging again.

    Without a profile, the decisions of `eval` count. The [gate] of the run's plan holds unless an option says
    otherwise. A sample that could not be evaluated does not pass, nor does a run whose `eval` has not ended. A profile
    with an unknown metric is refused. --json and --markdown have every sample's decision and its reasons.

    With --baseline, every metric with a good direction must be proven no worse than in the baseline by more than its
    margin (without a margin: proven better). Neither run is changed.

    \b
    pantrace gate results/today --profile prep_default
    pantrace gate results/today --baseline results/released --margin 0.02 \\
        --metric accuracy
    pantrace gate results/today --profile our-profile.toml --min-pass-rate 0.9 \\
        --junit gate.xml

    Exit code: 0 pass, 1 fail, 2 refused, 3 could not decide.
    """

    from pantrace.errors import UsageError
    from pantrace.library.gate import against_baseline, both, decide_as_stored, decide_by_profile
    from pantrace.policy import profile_names
    from pantrace.store import is_run_directory

    from .compare import tell_comparisons
    from .eval import write_reports

    run = run_directory(directory)
    if not is_run_directory(run):
        raise UsageError(f"{directory} is not a run directory; `pantrace eval … --out DIR` makes one")
    if baseline is None and (margins or metrics or cluster):
        raise UsageError("--margin, --metric and --cluster need --baseline DIR")
    # These options are about decisions, which a comparison alone does not make: they would be silently ignored.
    if (
        profile is None
        and baseline is not None
        and (junit or markdown or report or calibrations or complete or min_pass_rate is not None)
    ):
        raise UsageError(
            "with --baseline, --junit, --markdown, --report, --calibration, --complete and --min-pass-rate need "
            "--profile"
        )
    keep_inputs([directory], beside=[profile, baseline, *calibrations], recordings=[report], others=[junit, markdown])
    # First, before anything is decided: a baseline that cannot be compared is an error, not a decision.
    against = None
    if baseline is not None:
        against = against_baseline(run, baseline, margins=margins, metrics=metrics, cluster=cluster)
    decided = None
    if profile is not None:
        decided = decide_by_profile(
            run, profile, min_pass_rate=min_pass_rate, complete=complete, calibrations=calibrations
        )
    elif baseline is None:
        decided = decide_as_stored(run, min_pass_rate=min_pass_rate, complete=complete, calibrations=calibrations)
        if decided is None:
            raise UsageError(
                "nothing is decided yet: name a profile (--profile NAME), a baseline "
                "(--baseline DIR), or both; "
                f"built-in profiles are {', '.join(profile_names())} (`pantrace profiles`)"
            )
    found = decided if against is None else against if decided is None else both(decided, against)
    assert found is not None
    if decided is not None:
        assert decided.summary is not None
        # The files have the whole verdict, that against the baseline included.
        write_reports(run, decided.summary, junit, markdown, gate=found)
        _tell_decided(decided, directory, report, verbose=verbose, as_json=as_json)
    if against is not None:
        if against.baseline is not None and not as_json:
            tell_comparisons(against.baseline)
        say(against.sentence)
    # The verdict still goes to stderr, where a build log shows it.
    if as_json:
        print_json(found.to_dict())
    raise click.exceptions.Exit(found.exit_code)


def _tell_decided(
    decided: Gate,
    directory: str,
    report: str | None,
    *,
    verbose: bool,
    as_json: bool,
) -> None:
    """Write the requested report, and print the answer."""
    from pathlib import Path

    from pantrace.engine.reports import write_explain_report
    from pantrace.library.gate import planned_gate
    from pantrace.policy.share import must_words

    from .decided import tell_doubts, tell_failures, tell_numbers, tell_verdict

    out, summary, chosen = run_directory(directory), decided.summary, decided.profile
    assert summary is not None
    if report:
        write_explain_report(out, Path(report), summary.profiles)
    if chosen is None:
        *others, last = summary.profiles
        named = " and ".join(filter(None, (", ".join(others), last)))
        say(f"By {named}, which the plan or the cases of this run name; --profile NAME uses another.")
    planned = planned_gate(out)
    # The rate is in the verdict; this says where it comes from.
    if planned.min_pass_rate == decided.min_pass_rate != 1:
        told = must_words(planned.min_pass_rate)
        say(f"{told[0].upper()}{told[1:]}, as the plan says; --min-pass-rate X changes it.")
    if as_json:
        say(decided.sentence)
    else:
        tell_verdict(summary, decided.exit_code, decided.min_pass_rate, directory)
        tell_failures(summary, out, verbose)
        tell_numbers(summary, verbose, only=_deciding(chosen) if chosen is not None else None)
    for each in decided.unseen:
        say(f"not decided: {each}")
    tell_doubts(out, summary, decided.calibrations, chosen.name if chosen is not None else None, decided.complete)


def _deciding(profile: Profile) -> set[str]:
    """The metrics that a profile uses."""
    tables = (profile.thresholds, profile.limits, profile.weights)
    return {*(name for each in tables for name in each), *profile.hard_fail.metrics}
