"""`pantrace power`."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import click

from pantrace.errors import UsageError
from pantrace.stats import samples_needed

from .arguments import as_json
from .output import print_json


def _number(text: str) -> float:
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"{text!r} is not a number (0.1 or 1/9)") from None


@click.command("power")
@click.option("--delta", required=True, metavar="X", help="The difference that must be seen, such as 0.03.")
@click.option(
    "--variance", default="1/9", show_default=True, metavar="V", help="Variance of the cases' own differences."
)
@click.option(
    "--sampling-variance", default="0", show_default=True, metavar="V", help="Variance of one trial of a case."
)
@click.option("--samples-per-case", type=click.IntRange(min=1), default=1, show_default=True, metavar="K")
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option("--power", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.8, show_default=True)
@as_json
def command(
    delta: str,
    variance: str,
    sampling_variance: str,
    samples_per_case: int,
    alpha: float,
    power: float,
    as_json: bool,
) -> None:
    """Say how many cases a paired comparison needs to see a difference.

    \b
    pantrace power --delta 0.03
    pantrace power --delta 0.03 --sampling-variance 1/6 --samples-per-case 10
    """
    wanted, between, within = _number(delta), _number(variance), _number(sampling_variance)
    if wanted == 0:
        raise UsageError("--delta 0 can never be seen")
    if min(between, within) < 0:
        raise UsageError("a variance cannot be negative")
    needed = samples_needed(wanted, between, within, samples_per_case, alpha, power)
    cases = ceil(needed - 1e-9)
    if as_json:
        print_json({"cases": cases, "exact": needed, "trials_per_side": cases * samples_per_case})
        return
    trials = f" ({cases * samples_per_case} trials on each side)" if samples_per_case > 1 else ""
    click.echo(f"{cases} cases{trials}: a difference of {wanted:g} is found {power:.0%} of the time at alpha {alpha:g}")
