"""`pantrace calibrate`."""

from __future__ import annotations

import sys
from math import isfinite
from typing import TYPE_CHECKING

import click

from pantrace import __version__
from pantrace.errors import UsageError

from .arguments import FiniteRange, as_json, expand, from_format, keep_inputs, sources
from .output import folded, harmless, print_json, say, table, width_of

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.judges import Calibration
    from pantrace.stats import Estimate


@click.command("calibrate")
@sources
@click.option("--labels", "labels", required=True, metavar="FILE", help="People's labels: CSV, JSON or JSON Lines.")
@click.option("--label", metavar="NAME", help="FILE is a dataset; use this label of its cases (quality_band).")
@click.option("--order", metavar="WORST,…,BEST", help="The order of labels that are words, such as poor,good.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this score; repeat for more.")
@click.option("--threshold", "thresholds", multiple=True, metavar="METRIC=N", help="The lowest score that passes.")
@click.option(
    "--min-labels", type=click.IntRange(1), default=50, show_default=True, help="Minimum number of labelled samples."
)
@click.option(
    "--min-auc", type=FiniteRange(0, 1), help="Minimum AUC; without it, the whole interval must be above 0.5."
)
@click.option("--min-kappa", type=FiniteRange(-1, 1), help="Minimum kappa.")
@click.option("--min-accuracy", type=FiniteRange(0, 1), help="Minimum accuracy.")
@click.option(
    "-o", "--output", "out", metavar="FILE", help="File to write; default for a run directory: calibration.json in it."
)
@click.option("--details", is_flag=True, help="Print tables of labels and scores even for many metrics.")
@click.option("--gate", is_flag=True, help="Exit 1 if a judge falls short.")
@from_format
@as_json
def command(
    sources: tuple[str, ...],
    labels: str,
    label: str | None,
    order: str | None,
    metrics: tuple[str, ...],
    thresholds: tuple[str, ...],
    min_labels: int,
    min_auc: float | None,
    min_kappa: float | None,
    min_accuracy: float | None,
    out: str | None,
    details: bool,
    gate: bool,
    from_: str | None,
    as_json: bool,
) -> None:
    """Compare judges with labels: do they agree with people, and can they tell good from bad?

    PATH is a run directory or any recording with scores. Labels have the columns sample and label, and optionally
    epoch and metric; or a column for each metric. They are grades on the metric's scale, pass and fail, or words with
    an --order.

    The result is stored with the hash of the rubric and the names of the models. `eval` and `gate` use it to see
    whether a judge may decide.

    \b
    pantrace calibrate results/today --labels labels.csv
    pantrace calibrate report.json --labels dataset.jsonl --label quality_band

    Exit code: 0; 1 with --gate if a judge falls short; 3 if no score has a label.
    """
    from pathlib import Path

    from pantrace.engine.calibrate import Minimums, calibration, observe
    from pantrace.engine.labels import read_labels
    from pantrace.engine.read import Notes, read_pile
    from pantrace.judges import add_calibrations
    from pantrace.wire.output import writing

    from .left_out import tell_left_out

    # Before anything is read: `-o labels.csv` must not destroy an afternoon of labelling.
    keep_inputs(sources, beside=[labels], others=[out])
    notes = Notes.keeping()
    paths = expand(sources)
    known = read_labels(Path(labels), label)
    run = read_pile(paths, format=from_, notes=notes)
    observed = observe(run.samples, known, metrics)
    limits = _thresholds(thresholds)
    there = sorted({judged.metric for judged in observed})
    if there and (strange := [metric for metric in limits if metric not in there]):
        raise UsageError(f"--threshold {strange[0]}: no such score has a label; there are {', '.join(there)}")
    minimums = Minimums(labels=min_labels, auc=min_auc, kappa=min_kappa, accuracy=min_accuracy)
    # The order of words cannot be guessed: "fair" may be better or worse than "ok".
    words = tuple(word.strip() for word in order.split(",")) if order else ()
    found = [
        calibration(judged, each, order=words, threshold=limits.get(judged.metric), minimums=minimums)
        for judged, each in observed.items()
        if each.scores
    ]
    target = _target(paths, out)
    if target is not None and found:
        # Written before it is printed: a reader who closes the pipe must not lose the calibration.
        with writing(target) as file:
            file.write(add_calibrations(target, found, __version__))
    if as_json:
        print_json({"kept": str(target) if target and found else None, "calibrations": found})
    else:
        _tell(found, details)
        if target is not None and found:
            say(f"kept in {target}")
    tell_left_out(notes)
    if not found:
        say("no judge's score has a label: do the sample ids in the labels match the run? (--metric: other scores)")
        # Nothing could be compared, so "calibrated: no" would be a claim without evidence.
        raise click.exceptions.Exit(3)
    if gate and not all(each.calibrated for each in found):
        raise click.exceptions.Exit(1)


def _thresholds(given: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for text in given:
        metric, equals, number = text.rpartition("=")
        try:
            found[metric] = float(number)
        except ValueError:
            equals = ""
        if not equals or not metric or not isfinite(found[metric]):
            raise UsageError(f"--threshold {text!r} is not METRIC=NUMBER")
    return found


def _target(paths: list[Path], out: str | None) -> Path | None:
    """Where calibrations are stored: in the named file, or in the only run directory; otherwise nowhere."""
    from pathlib import Path

    from pantrace.judges import CALIBRATION_FILE
    from pantrace.store import is_run_directory

    if out is not None:
        return Path(out)
    return paths[0] / CALIBRATION_FILE if len(paths) == 1 and is_run_directory(paths[0]) else None


def _tell(found: list[Calibration], details: bool) -> None:
    columns = ["metric", "judge", "n", "accuracy", "kappa", "AUC", "Spearman", "flips", "calibrated"]
    rows = [
        [
            each.judged.metric,
            each.judged.judge or "",
            str(each.n),
            *map(_words, (each.accuracy, each.kappa, each.auc, each.spearman, each.flip_rate)),
            "yes" if each.calibrated else "no",
        ]
        for each in found
    ]
    table(columns, rows, right=("n",), spare=("flips", "Spearman"))
    for each in found:
        click.echo(f"\n{harmless(each.judged.metric)}")
        _tell_one(each, details or len(found) <= FEW)


def _words(estimate: Estimate | None) -> str:
    from pantrace.engine.estimate_words import estimate_words

    return estimate_words(estimate).rpartition(" n=")[0] or "-"


FEW = 3
"""Up to this many metrics are described in full without --details."""


def _tell_one(found: Calibration, in_full: bool) -> None:
    from pantrace.engine.estimate_words import estimate_words

    if found.bands and in_full:
        table(
            ["label", "n", "mean score"], [[each.label, str(each.n), estimate_words(each.mean)] for each in found.bands]
        )
    if found.confusion and in_full:
        columns = list(next(iter(found.confusion.values())))
        rows = [[label, *(str(count) for count in row.values())] for label, row in found.confusion.items()]
        table(["label \\ score", *columns], rows, right=tuple(columns))
    if found.corrected_rate is not None and in_full:
        click.echo(
            f"  pass rate by the judge {estimate_words(found.counted_rate)}, "
            f"corrected for its errors {estimate_words(found.corrected_rate)}\n"
            f"  right about good samples {estimate_words(found.sensitivity)}, "
            f"about bad ones {estimate_words(found.specificity)}"
        )
    for pair in found.pairs if in_full else found.pairs[-1:]:
        # The whole interval must be above chance; a good mean of few labels proves nothing.
        words = "tells" if pair.auc.low is not None and pair.auc.low > 0.5 else "does not tell"
        click.echo(harmless(f"  {words} {pair.better} from {pair.worse}: AUC {estimate_words(pair.auc)}"))
    for line in (*(found.notes if in_full else ()), *(f"not calibrated: {why}" for why in found.why_not)):
        click.echo(folded(harmless(f"  {line}"), width_of(sys.stdout), "  "))
    if found.unscored:
        click.echo(f"  {found.unscored} labelled samples have no score")
