"""`pantrace power`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pantrace.errors import UsageError

from .arguments import FiniteRange, as_json
from .output import print_json, put, table

if TYPE_CHECKING:
    from pantrace.engine.power import Plan


def _number(text: str | None) -> float | None:
    from fractions import Fraction

    if text is None:
        return None
    try:
        # 1/9 is how the literature states these variances.
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"{text!r} is not a number (0.1 or 1/9)") from None


@click.command("power")
@click.option("--delta", metavar="X", help="The difference to find, such as 0.03.")
@click.option("--cases", type=int, metavar="N", help="Number of cases you have: which difference can they show?")
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="DIR",
    help="Take variances from this run; give two runs to use their differences.",
)
@click.option("--metric", metavar="NAME", help="Metric of the run to plan for.")
@click.option("--cluster", metavar="NAME", help="Cases of the run that belong together.")
@click.option("--scores", is_flag=True, help="Plan for scores, not for pass or fail.")
@click.option("--variance", metavar="V", help="Variance of the effect on a case.  [default: 1/9]")
@click.option("--sampling-variance", metavar="V", help="Variance of one trial of a case.  [default: 1/6; --scores: 0]")
@click.option(
    "--correlation", type=float, default=0.9, show_default=True, help="Correlation of the cases' means, with one --run."
)
@click.option("--samples-per-case", type=click.IntRange(min=1), default=1, show_default=True, metavar="K")
@click.option("--case-cost", type=FiniteRange(0), default=0.0, metavar="X", help="What one more case costs.")
@click.option(
    "--trial-cost", type=FiniteRange(0), default=1.0, show_default=True, metavar="X", help="What one trial costs."
)
@click.option("--alpha", type=FiniteRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option("--power", type=FiniteRange(0, 1, min_open=True, max_open=True), default=0.8, show_default=True)
@as_json
def command(
    delta: str | None,
    cases: int | None,
    runs: tuple[str, ...],
    metric: str | None,
    cluster: str | None,
    scores: bool,
    variance: str | None,
    sampling_variance: str | None,
    correlation: float,
    samples_per_case: int,
    case_cost: float,
    trial_cost: float,
    alpha: float,
    power: float,
    as_json: bool,
) -> None:
    """Say how many cases a comparison of two runs needs, or what difference N cases can show.

    The default is pass or fail with one trial of each case. The assumptions are printed; an existing run gives better
    ones.

    \b
    pantrace power --delta 0.05
    pantrace power --cases 200
    pantrace power --delta 0.05 --run results/today --metric accuracy
    pantrace power --delta 0.03 --samples-per-case 10
    """
    from pantrace.engine.power import power as planned

    plan = planned(
        delta=_number(delta),
        cases=cases,
        runs=runs,
        metric=metric,
        cluster=cluster,
        variance=_number(variance),
        sampling_variance=_number(sampling_variance),
        correlation=correlation,
        scores=scores,
        samples_per_case=samples_per_case,
        alpha=alpha,
        power=power,
        case_cost=case_cost,
        trial_cost=trial_cost,
    )
    if as_json:
        print_json(plan.to_dict())
        return
    _tell(plan, backwards=delta is None, case_cost=case_cost)


def _tell(plan: Plan, *, backwards: bool, case_cost: float) -> None:
    cases = f"{plan.cases:,} cases"
    if plan.trials > 1:
        cases += f" of {plan.trials} trials ({(plan.cases or 0) * plan.trials:,} trials on each side)"
    if plan.delta is None:
        put(f"{cases} can show no difference: not even the largest is found {plan.power:.0%} of the time")
    elif backwards:
        put(f"{cases} show a difference of {plan.delta:.3g} {plan.power:.0%} of the time at alpha {plan.alpha:g}")
    else:
        put(f"{cases}: a difference of {plan.delta:g} is found {plan.power:.0%} of the time at alpha {plan.alpha:g}")
    put(f"Assumed: {'; '.join(plan.assumptions)}. Test: {plan.test}.")
    if len(plan.ways) > 1 and plan.cheapest is not None:
        shown = [each for each in plan.ways if each.trials in (1, 2, 3, 5, 10, 20, 50, 100, plan.cheapest.trials)]
        click.echo()
        table(
            ["trials per case", "cases", "trials in all", "cost"],
            [
                [str(each.trials), f"{each.cases:,}", f"{2 * each.trials * each.cases:,}", f"{each.cost:,.6g}"]
                for each in shown
            ],
            right=("trials per case", "cases", "trials in all", "cost"),
        )
        best = f"{plan.cheapest.cases:,} cases, {plan.cheapest.trials} trial{'s' * (plan.cheapest.trials > 1)} of each"
        hint = "" if case_cost else " (new cases count as free: set their cost with --case-cost)"
        put(f"cheapest: {best}{hint}")
