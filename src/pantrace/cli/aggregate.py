"""`pantrace aggregate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .arguments import as_json, expand, from_format, sources
from .output import print_json, put, say, table

if TYPE_CHECKING:
    from pantrace.engine.aggregate import Group
    from pantrace.library.aggregate import Aggregates
    from pantrace.model import Unit

LISTED = 6
"""Number of names that are listed after a note."""


@click.command("aggregate")
@sources
@from_format
@click.option(
    "--by",
    multiple=True,
    metavar="FIELD",
    help="Group by backend, dsl_mode, model, agent, task, format, label.NAME or config.NAME; repeat for combinations.",
)
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric; repeat for more.")
@click.option(
    "--null-as-zero", is_flag=True, help="Count null as 0 in the unweighted means, as OpenAdapt's script does."
)
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    by: tuple[str, ...],
    metrics: tuple[str, ...],
    null_as_zero: bool,
    as_json: bool,
) -> None:
    """Average several evaluations: eval JSON files, or recordings whose samples have scores.

    A file that stores only results is one evaluation. So is a file or folder with scored samples: its numbers are the
    means of the scores. Null is left out and counted. In the plain mean each evaluation counts the same, with a t
    interval over evaluations; the weighted mean weights them by steps, clicks, episodes or cases.

    \b
    pantrace aggregate experiments/*.json
    pantrace aggregate experiments/ --by backend --by dsl_mode --json
    """
    from pantrace.library.aggregate import aggregate

    from .left_out import tell_left_out

    found = aggregate(
        *expand(sources), by=by, metrics=metrics, null_as_zero=null_as_zero, headlines=not as_json, format=from_
    )
    if as_json:
        print_json(found.to_dict())
    else:
        # Metrics that are null everywhere get one line below the table, not a row of dashes each.
        averaged = [name for name, each in found.whole.metrics.items() if each.evaluations]
        _print(found.groups or [found.whole], found.by, averaged)
        _explain(found)
        tell_left_out(found.notes)
    # On stderr, so that --json stays one document.
    for warning in found.warnings:
        say(f"warning: {warning}")


def _print(groups: list[Group], by: list[str], metrics: list[str]) -> None:
    columns = [*by, "metric", "have it", "null", "mean [95 %]", "weighted mean [95 %]", "weight", "min", "max"]
    rows = [
        [
            *group.by.values(),
            name,
            str(each.evaluations),
            str(each.null),
            _words(_unit(name), each.mean, each.low, each.high),
            _words(_unit(name), each.weighted_mean, each.weighted_low, each.weighted_high),
            "" if each.weight is None else f"{each.weight:.0f}",
            _words(_unit(name), each.lowest),
            _words(_unit(name), each.highest),
        ]
        for group in groups
        for name, each in group.metrics.items()
        if name in metrics
    ]
    spare = ("weight", "min", "max", "weighted mean [95 %]")
    # Firm: an interval over three lines of a narrow cell cannot be read.
    table(columns, rows, right=("have it", "null", "weight", "min", "max"), spare=spare, firm=True)


def _unit(name: str) -> Unit | None:
    """The unit of one of our measures; a stored number has none, and is printed as its file has it."""
    from pantrace.metrics import measure_named

    found = measure_named(name) if "." in name else None
    return found.unit if found is not None else None


def _words(unit: Unit | None, value: float | None, low: float | None = None, high: float | None = None) -> str:
    from pantrace.model import in_words

    if value is None:
        return "-"

    def told(number: float) -> str:
        return f"{number:.3f}" if unit is None else in_words(number, unit)

    span = f" [{told(low)}, {told(high)}]" if low is not None and high is not None else ""
    return f"{told(value)}{span}"


def _explain(found: Aggregates) -> None:
    from pantrace.engine.metric_values import without_groups
    from pantrace.engine.reliability import reliability_words

    whole, null_as_zero = found.whole, found.null_as_zero
    # With --by, each evaluation is in the list once per group.
    apart = without_groups(found.evaluations) if found.by else found.evaluations
    units = {name: unit for each in apart for name, unit in each.units.items()}
    totals = ", ".join(f"{value:.0f} {units[name]}" for name, value in whole.totals.items())
    noun = "evaluation" if len(apart) == 1 else "evaluations"
    put(f"{len(apart)} {noun}{': ' + totals if totals else ''}")
    methods = {each.method for each in whole.metrics.values()} | {
        each.weighted_method for each in whole.metrics.values()
    }
    if named := sorted(method for method in methods if method):
        put(f"intervals: {', '.join(named)}")
    if any(each.null for each in whole.metrics.values()):
        how = "counted as 0 in the plain mean" if null_as_zero else "left out of the means"
        put(f"null (not applicable or not in the file) is {how}")
    if nowhere := [name for name, each in whole.metrics.items() if not each.evaluations and each.null]:
        put(f"null everywhere: {_listed(nowhere)}")
    noted: dict[str, list[str]] = {}
    for name, each in whole.metrics.items():
        if each.left_out and each.evaluations:
            noted.setdefault("scores without a number, left out", []).append(f"{name} {each.left_out}")
        for note in each.notes if each.evaluations else ():
            noted.setdefault(note, []).append(name)
    for name, each in whole.metrics.items():
        if each.reliability is not None:
            put(f"repeats, {name}: {reliability_words(each.reliability)}")
    for note, names in noted.items():
        put(f"{note}: {_listed(names)}")


def _listed(names: list[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:LISTED])} and {more} more (--json has all)"
